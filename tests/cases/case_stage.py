"""The stage of the cases: a whole manager on an API server in memory, in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from datetime import datetime
from math import floor
from typing import Any

from api import Json, since_start
from builders import INSTALL_NAMESPACE, NOW, job
from case_api import CaseApi
from case_onlooker import Onlooker
from case_played import Played, is_held, uid_of
from prometheus_client import CollectorRegistry

from kq.app.manager import Manager
from kq.app.options import Address, ClusterOptions, ManagerOptions
from kq.app.process import Counted
from kq.clock import Clocks
from kq.core import codec, keys
from kq.core.kinds import ELASTIC_QUOTA, EVENT, JOB, NAMESPACE, QUEUE, QUEUE_UNIT
from kq.metrics import Metrics
from kq.settings import Settings

NOWHERE = Address("", 0)
SETTLED = 15.0
"""Seconds in which whatever is to be written is written."""


def virtual_now() -> datetime:
    """The time of day by the loop's clock."""
    return since_start(NOW)


def ticks() -> float:
    """The loop's time in steps that floats add up without error: it does not move by itself."""
    return floor(asyncio.get_running_loop().time() * 1024) / 1024


class Stage:
    """A cluster with a quota and one manager; `runs` is its life."""

    def __init__(self, cpu: Any = 4, *, policy: str = "Priority", **settings: Any) -> None:
        self.policy = policy
        self.settings = Settings(installNamespace=INSTALL_NAMESPACE, **settings)
        self.api = CaseApi(clock=virtual_now)
        self.played = Played(api=self.api)
        self.onlooker = Onlooker(self.api)
        self.manager: Manager
        self._stop = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        for name in (INSTALL_NAMESPACE, "quotas", "team-a", "team-b"):
            self.api.put(NAMESPACE, {"metadata": {"name": name}})
        self.quota("team-a", cpu=cpu)

    # -- what users do

    def quota(self, name: str, **limits: Any) -> None:
        meta = {"namespace": "quotas", "name": name}
        self.api.put(ELASTIC_QUOTA, {"metadata": meta, "spec": {"max": limits}})

    def submit(self, name: str, *, cpu: Any = 1, quota: str = "team-a", **fields: Any) -> str:
        """A Job as the webhook leaves it, unless told otherwise; gives its key."""
        meta, status = fields.pop("metadata", {}), fields.pop("status", {})
        runs = fields.pop("runs", None)
        body = job(name, cpu=cpu, **{"suspend": True} | fields)
        body["status"] = status
        pods = body["spec"]["template"].setdefault("metadata", {})
        pods.setdefault("labels", {}).setdefault(keys.QUOTA_LABEL, quota)
        if runs is not None:
            pods["annotations"] = {"run-for": str(runs)}
        made = body["metadata"] | meta
        made["labels"] = {keys.QUOTA_LABEL: quota} | meta.get("labels", {})
        made["annotations"] = {keys.HAS_ENQUEUED: "true"} | meta.get("annotations", {})
        made["creationTimestamp"] = codec.format_time(virtual_now())
        self.api.put(JOB, {**body, "metadata": made})
        return f"{made['namespace']}/{name}"

    def suspend(self, key: str, suspended: bool) -> None:
        self.api.edit(JOB, key, {"spec": {"suspend": suspended}})

    def finish(self, key: str, type_: str = "Complete") -> None:
        self.played.finish(key, type_)

    def delete(self, key: str) -> None:
        self.api.remove(JOB, key)

    # -- what is seen

    def job(self, key: str) -> Json:
        return self.api.find(JOB, key)

    def unit(self, key: str) -> Json:
        return self.api.find(QUEUE_UNIT, key)

    def phase(self, key: str) -> str:
        return str(self.unit(key).get("status", {}).get("phase", ""))

    def message(self, key: str) -> str:
        return str(self.unit(key).get("status", {}).get("message", ""))

    def phases(self) -> dict[str, str]:
        return {key: self.phase(key) for key in sorted(self.api.all(QUEUE_UNIT))}

    def is_held(self, key: str) -> bool:
        return is_held(self.job(key))

    def pods(self, key: str) -> list[str]:
        return self.played.pods_of(uid_of(self.job(key)))

    def usage(self, quota: str = "team-a") -> Mapping[str, str]:
        """What the Queue of a quota tells to be in use."""
        found = self.api.find(QUEUE, f"{INSTALL_NAMESPACE}/{quota}")
        usage: Mapping[str, str] = found["status"]["usage"]
        return usage

    def unit_counts(self, quota: str = "team-a") -> dict[str, int]:
        """How many units wait and how many hold quota, as the Queue tells."""
        status = self.api.find(QUEUE, f"{INSTALL_NAMESPACE}/{quota}")["status"]
        return {each: status.get(f"{each}Units", 0) for each in ("pending", "admitted")}

    def events(self, reason: str, name: str = "") -> list[Json]:
        return [
            each
            for each in self.api.all(EVENT).values()
            if each["reason"] == reason and name in ("", each["involvedObject"]["name"])
        ]

    # -- its life

    @asynccontextmanager
    async def runs(self) -> AsyncIterator["Stage"]:
        """A manager works for as long as the block runs; all is settled when it begins."""
        self.start()
        self.played.look_at_all()
        await self.settled()
        yield self
        await self.stop()

    async def settled(self, seconds: float = SETTLED) -> None:
        """So many seconds later."""
        await asyncio.sleep(seconds)
        if self._running is not None and self._running.done():
            self._running.result()

    def start(self) -> None:
        metrics = Metrics(CollectorRegistry(), version="test")
        self.manager = Manager(
            client=self.api,  # type: ignore[arg-type]
            settings=self.settings,
            options=ManagerOptions(
                cluster=ClusterOptions(),
                metrics=NOWHERE,
                health=NOWHERE,
                default_policy=self.policy,
            ),
            metrics=metrics,
            counted=Counted(metrics.client),
            clocks=Clocks(virtual_now, ticks),
            first_lists=nullcontext,
        )
        self._stop = asyncio.Event()
        self._running = asyncio.create_task(self.manager.run(self._stop))

    def is_ready(self) -> bool:
        return all(bool(check()) for check in self.manager.checks().values())

    def is_synced(self) -> bool:
        """Whether the first lists are whole; a watch that had failed is ready a minute later."""
        return bool(self.manager.checks()["synced"]())

    async def stop(self) -> None:
        """SIGTERM."""
        assert self._running is not None
        self._stop.set()
        await self._running

    async def kill(self) -> None:
        """Everything that the manager knew is gone, what it was about to do is not done."""
        assert self._running is not None
        running, self._running = self._running, None
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
