"""The simulated cluster as a ground for scenarios: each step of theirs takes its virtual time."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from random import Random
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import msgspec
from controlplane.errors import Refused
from ground import NOT_FOUND, POLL_SECONDS, WAIT_SECONDS, Change, Condition, Object, path

from kq.core.kinds import ResourceKind
from kq.kube.errors import from_status
from kq.sim.api.call import Request
from kq.sim.api.storage import Change as Happened
from kq.sim.install import installation
from kq.sim.time import LoopClock, VirtualLoop
from kq.sim.world import Simulation, Terms

START = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
REQUEST_SECONDS = 0.004
"""What one request of a person takes."""
MERGE = "application/merge-patch+json"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedGround:
    """A simulation and the loop that it runs on, which goes on only while somebody waits."""

    simulation: Simulation
    loop: VirtualLoop
    kq_clock: LoopClock
    """What kq goes by; it may be set wrong."""

    def submit(self, manifests: Sequence[Object]) -> str:
        return "".join(self._created(each) for each in manifests)

    def create(self, kind: ResourceKind, body: Object) -> Object:
        whole = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        return self._ask("POST", path(kind, body["metadata"].get("namespace", "")), whole)

    def tried(self, kind: ResourceKind, body: Object) -> Object:
        listed = path(kind, body["metadata"].get("namespace", ""))
        return self._ask("POST", f"{listed}?dryRun=All", body)

    def read(self, kind: ResourceKind, namespace: str, name: str) -> Object | None:
        code, body, _ = self._answer("GET", path(kind, namespace, name))
        return None if code == NOT_FOUND else checked(code, body, path(kind, namespace, name))

    def items(self, kind: ResourceKind, namespace: str, query: str = "") -> list[Object]:
        listed = self._ask("GET", f"{path(kind, namespace)}{query}")["items"]
        return [dict(each) for each in listed]

    def patch(
        self,
        kind: ResourceKind,
        namespace: str,
        name: str,
        patch: Mapping[str, Any],
        subresource: str = "",
    ) -> Object:
        tail = f"/{subresource}" if subresource else ""
        return self._ask("PATCH", path(kind, namespace, name) + tail, patch)

    def delete(
        self, kind: ResourceKind, namespace: str, name: str, policy: str = "Background"
    ) -> None:
        self._ask("DELETE", path(kind, namespace, name), {"propagationPolicy": policy})

    def wait(self, kind: ResourceKind, namespace: str, name: str, condition: Condition) -> Object:
        def found() -> Object | None:
            seen = self.read(kind, namespace, name)
            return seen if seen is not None and condition(seen) else None

        seen: Object = self.until(found, f"{kind.kind} {namespace}/{name} is as it should be")
        return seen

    def until(self, holds: Callable[[], Any], what: str, seconds: float = WAIT_SECONDS) -> Any:
        deadline = self.loop.time() + seconds
        while not (answer := holds()):
            if self.loop.time() > deadline:
                raise AssertionError(f"not within {seconds:.0f} s: {what}")
            self.run(asyncio.sleep(POLL_SECONDS))
        return answer

    def version(self, kind: ResourceKind, namespace: str) -> str:
        return str(self.simulation.server.storage.version)

    def changes(self, namespace: str, since: Mapping[ResourceKind, str]) -> list[Change]:
        told = [each for kind in since for each in self._told(namespace, kind, int(since[kind]))]
        return sorted(told, key=lambda each: each.version)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What comes of it; the cluster goes on meanwhile."""
        return self.loop.run_until_complete(work)

    def _told(self, namespace: str, kind: ResourceKind, since: int) -> Iterator[Change]:
        server = self.simulation.server
        served = server.registry.of(kind.api_version, kind.kind)
        assert served is not None
        for event in server.storage.events_since(served.key, since):
            if event.stored.namespace == namespace:
                yield Change(kind, event.change is Happened.DELETED, event.stored.read())

    def _created(self, manifest: Object) -> str:
        kind = self.simulation.server.registry.of(manifest["apiVersion"], manifest["kind"])
        assert kind is not None
        root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
        meta = manifest["metadata"]
        inside = f"/namespaces/{meta['namespace']}" if kind.namespaced else ""
        code, body, warnings = self._answer("POST", f"{root}{inside}/{kind.plural}", manifest)
        checked(code, body, meta["name"])
        called = f"{kind.singular}.{kind.group}" if kind.group else kind.singular
        told = "".join(f"Warning: {each}\n" for each in warnings)
        return f"{told}{called}/{meta['name']} created\n"

    def _ask(self, method: str, target: str, body: object = None) -> Object:
        code, answer, _ = self._answer(method, target, body)
        return checked(code, answer, f"{method} {target}")

    def _answer(
        self, method: str, target: str, body: object = None
    ) -> tuple[int, bytes, Sequence[str]]:
        request = Request(
            method=method,
            path=urlsplit(target).path,
            query=dict(parse_qsl(urlsplit(target).query)),
            body=None if body is None else msgspec.json.encode(body),
            content_type=MERGE if method == "PATCH" else "application/json",
        )
        answer = self.run(self.simulation.server.serve(request))
        self.run(asyncio.sleep(REQUEST_SECONDS))
        return answer.code, answer.body, answer.warnings


def checked(code: int, body: bytes, asked: str) -> Object:
    """The body of an answer that is no refusal."""
    if code >= 300:
        error = from_status(code, body, {})
        raise Refused(code, error.reason, f"{asked}: {error.message}")
    answer: Object = msgspec.json.decode(body)
    return answer


@cache
def manifests() -> Sequence[Object]:
    """kq's installation, read once."""
    return installation()


@contextmanager
def simulated_ground(seed: int = 1, terms: Terms | None = None) -> Iterator[SimulatedGround]:
    """A cluster with kq at work, which was made for this and goes with it."""
    loop = VirtualLoop()
    clock, kq_clock = LoopClock(START, loop), LoopClock(START, loop)
    simulation = Simulation(
        clock=clock,
        random=Random(seed),
        terms=terms or Terms(objects=manifests()),
        kq_clock=kq_clock,
    )
    try:
        loop.run_until_complete(simulation.__aenter__())
        try:
            yield SimulatedGround(simulation=simulation, loop=loop, kq_clock=kq_clock)
        finally:
            loop.run_until_complete(simulation.__aexit__(None, None, None))
    finally:
        loop.close()
    assert simulation.cluster.failures == []
