"""A running webhook as its process runs it, on an API server in memory, called over HTTPS.

It lives in a thread with a loop of its own, so that one serves all tests of a module.
"""

import asyncio
import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from api import Api
from prometheus_client import CollectorRegistry
from reviews import applied

from kq.app.options import Address, ClusterOptions, WebhookOptions
from kq.app.process import Counted
from kq.app.webhook import Webhook
from kq.clock import utc_now
from kq.core.kinds import ELASTIC_QUOTA, NAMESPACE
from kq.metrics import Metrics
from kq.settings import Settings
from kq.tls import verify
from kq.tls.issue import Profile, issue_ca, issue_serving

LOOPBACK = Address("127.0.0.1", 0)
SECONDS = 10.0
"""After which whatever is waited for has failed."""
STAMP = "koord-queue/job-enqueue-timestamp"


class Hook:
    """The webhook, and what it knows of the cluster."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.api = Api()
        for name in ("team-a", "team-b", "kube-system", "koord-queue"):
            self.namespace(name)
        self.quota("team-a", "team-a")
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._webhook = self._make(folder, settings)
        self._client = verify.client_context((folder / "ca.crt").read_text())

    def namespace(self, name: str, **labels: str) -> None:
        named = {key.replace("__", "/"): value for key, value in labels.items()}
        self.api.put(NAMESPACE, {"metadata": {"name": name, "labels": named}})

    def quota(self, name: str, namespace: str) -> None:
        meta = {"name": name, "namespace": namespace}
        self.api.put(ELASTIC_QUOTA, {"metadata": meta, "spec": {"max": {"cpu": 4}}})

    def does(self, act: Callable[[], object]) -> None:
        """Somebody changes the cluster."""
        done: asyncio.Future[object] | Any = asyncio.run_coroutine_threadsafe(
            _called(act), self._loop
        )
        done.result(SECONDS)

    def post(self, review: Any) -> dict[str, Any]:
        """The answer to a review."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._webhook._port, context=self._client, timeout=SECONDS
        )
        try:
            body = json.dumps(review)
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/mutate?timeout=3s", body, headers)
            answer = connection.getresponse()
            assert answer.status == 200
            said: dict[str, Any] = json.loads(answer.read())
        finally:
            connection.close()
        assert (said["apiVersion"], said["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
        assert said["response"]["uid"] == review["request"]["uid"]
        return said

    def stored(self, review: Any) -> dict[str, Any]:
        """The object as the API server stores it after the answer, with its time made equal."""
        job: dict[str, Any] = applied(review["request"]["object"], self.post(review))
        annotations = job["metadata"].get("annotations") or {}
        if STAMP in annotations:
            assert annotations[STAMP].endswith("Z")
            annotations[STAMP] = "2026-03-01T12:00:00Z"
        return job

    def until(self, holds: Callable[[], bool]) -> None:
        """Returns once that holds: a watch shows a change a moment later."""
        until = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < until
            self.does(lambda: None)

    def _make(self, folder: Path, settings: Settings) -> Webhook:
        ca = issue_ca(utc_now(), Profile())
        pair = issue_serving(ca, ["localhost", "127.0.0.1"], utc_now(), Profile())
        files = {"ca.crt": ca.certificate, "tls.crt": pair.certificate, "tls.key": pair.key}
        for name, content in files.items():
            (folder / name).write_bytes(content)
        metrics = Metrics(CollectorRegistry(), version="test")
        return Webhook(
            client=self.api,  # type: ignore[arg-type]
            settings=settings,
            options=WebhookOptions(
                cluster=ClusterOptions(),
                metrics=LOOPBACK,
                health=LOOPBACK,
                reviews=LOOPBACK,
                tls_dir=folder,
                service="localhost",
            ),
            metrics=metrics,
            counted=Counted(metrics.client),
        )

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._webhook.run(self._stop))

    async def _is_ready(self) -> bool:
        checks = self._webhook.checks()
        return bool(checks["synced"]()) and self._webhook._port > 0 and await checks["tls"]()  # type: ignore[misc]

    @contextmanager
    def running(self) -> Iterator["Hook"]:
        thread = Thread(target=self._run, name="webhook")
        thread.start()
        try:
            ready = asyncio.run_coroutine_threadsafe(self._ready(), self._loop)
            ready.result(SECONDS)
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stop.set)
            thread.join(SECONDS)

    async def _ready(self) -> None:
        while not await self._is_ready():  # noqa: ASYNC110 - readiness is asked, as kubelet does
            await asyncio.sleep(0.01)


async def _called(act: Callable[[], object]) -> object:
    await asyncio.sleep(0.002)
    return act()


@contextmanager
def hooked(folder: Path, settings: Settings) -> Iterator[Hook]:
    """A webhook with these settings, for as long as the block runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kq.app.webhook.quiet_collector", nullcontext)
        with Hook(folder, settings).running() as hook:
            yield hook
