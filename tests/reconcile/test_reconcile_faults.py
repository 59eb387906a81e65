"""A whole manager on a cluster that fails it: in the end all is as if nothing had happened.

Requests are refused, answers are lost, others write in between, watches lag, break and repeat
themselves, and the manager itself is thrown away and built anew (spec 10.8, 22.1, 24.1-24.4, 24.8).
"""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from math import floor
from types import SimpleNamespace
from typing import Any

import pytest
from api import Api, Json, since_start
from builders import INSTALL_NAMESPACE, NOW, job
from prometheus_client import CollectorRegistry
from simulated import Jobs, Onlooker, Storm, is_complete
from structlog.testing import capture_logs

from kq.app.manager import Manager
from kq.app.options import Address, ClusterOptions, ManagerOptions
from kq.app.process import Counted
from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, NAMESPACE, QUEUE, QUEUE_UNIT
from kq.metrics import Metrics
from kq.settings import Settings

pytestmark = [pytest.mark.looptime, pytest.mark.usefixtures("virtual_time", "logs")]

PLACES = 5
BURST = 50
NOWHERE = Address("", 0)
SEEDS = range(20)


@pytest.fixture
def virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The manager's clocks are the loop's; the garbage collector is the tests' own."""
    clock = SimpleNamespace(monotonic=ticks)
    for module in ("kq.app.controllers", "kq.app.manager"):
        monkeypatch.setattr(f"{module}.utc_now", lambda: since_start(NOW))
    monkeypatch.setattr("kq.app.controllers.time", clock)
    monkeypatch.setattr("kq.reconcile.job.time", clock)
    monkeypatch.setattr("kq.app.manager.quiet_collector", nullcontext)


@pytest.fixture
def logs() -> Iterator[list[Any]]:
    with capture_logs() as captured:
        yield captured


def ticks() -> float:
    """The loop's time in steps that floats add up without error: it does not move by itself."""
    return floor(asyncio.get_running_loop().time() * 1024) / 1024


class Cluster:
    """A quota of a few places, a burst of jobs of one place each, and one manager."""

    def __init__(self, seed: int, *, policy: str = "Priority") -> None:
        chance = random.Random(seed)
        self.policy = policy
        self.api = Api(clock=lambda: since_start(NOW))
        self.onlooker = Onlooker(self.api, PLACES)
        self.jobs = Jobs(self.api, chance, seconds=(0.5, 4.0))
        self.storm = Storm(self.api, chance)
        self.manager: Manager | None = None
        self._stop = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._prepare()

    def _prepare(self) -> None:
        for name in (INSTALL_NAMESPACE, "quotas", "team-a"):
            self.api.put(NAMESPACE, {"metadata": {"name": name}})
        limit = {"metadata": {"namespace": "quotas", "name": "team-a"}}
        self.api.put(ELASTIC_QUOTA, {**limit, "spec": {"max": {"cpu": PLACES}}})

    def submit(self, number: int) -> None:
        """A Job as the webhook leaves it."""
        body = job(f"train-{number:02}", suspend=True)
        meta = body["metadata"]
        meta["labels"] = {keys.QUOTA_LABEL: "team-a"}
        meta["annotations"] = {keys.HAS_ENQUEUED: "true"}
        meta["creationTimestamp"] = (NOW.replace(second=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.api.put(JOB, body)

    def start(self) -> None:
        metrics = Metrics(CollectorRegistry(), version="test")
        self.manager = Manager(
            client=self.api,  # type: ignore[arg-type]
            settings=Settings(installNamespace=INSTALL_NAMESPACE),
            options=ManagerOptions(
                cluster=ClusterOptions(),
                metrics=NOWHERE,
                health=NOWHERE,
                default_policy=self.policy,
            ),
            metrics=metrics,
            counted=Counted(metrics.client),
        )
        self._stop = asyncio.Event()
        self._running = asyncio.create_task(self.manager.run(self._stop))

    async def crash(self) -> None:
        """Everything that the manager knew is gone, what it was about to do is not done."""
        assert self._running is not None
        self._running.cancel()
        with suppress(asyncio.CancelledError):
            await self._running

    async def stop(self) -> None:
        assert self._running is not None
        self._stop.set()
        await self._running

    async def until_done(self, seconds: float = 600.0) -> None:
        async with asyncio.timeout(seconds):
            while not self._is_done():  # noqa: ASYNC110 - virtual time, about many objects
                await asyncio.sleep(1.0)

    def _is_done(self) -> bool:
        assert self._running is not None
        if self._running.done():
            self._running.result()
        units = self.api.all(QUEUE_UNIT).values()
        phases = Counter(each.get("status", {}).get("phase") for each in units)
        counts = self.queue_status().get("admittedUnits")
        return phases["Succeed"] == len(self.api.all(JOB)) and counts == 0

    def queue_status(self) -> Json:
        queue = self.api.all(QUEUE).get(f"{INSTALL_NAMESPACE}/team-a", {})
        status: Json = queue.get("status", {})
        return status

    def end(self) -> Json:
        """All that must be the same however things went."""
        units = {key: _end_of(unit) for key, unit in self.api.all(QUEUE_UNIT).items()}
        status = self.queue_status()
        counts = [status.get(f"{each}Units", 0) for each in ("pending", "reserving", "admitted")]
        return {
            "units": units,
            "jobs": {key: is_complete(each) for key, each in self.api.all(JOB).items()},
            "counts": counts,
            "line": status.get("queueItemDetails", {}).get("active", []),
            "usage": status.get("usage"),
            "conditions": [(c["type"], c["status"], c["reason"]) for c in status["conditions"]],
        }


def _end_of(unit: Json) -> Json:
    status = unit["status"]
    finished = next(each for each in status["conditions"] if each["type"] == "Finished")
    said = {name: status.get(name) for name in ("phase", "message", "admissions", "attempts")}
    return {**said, "finished": (finished["status"], finished["reason"]), "spec": unit["spec"]}


def expected() -> Json:
    keys_ = [f"team-a/train-{number:02}" for number in range(BURST)]
    return {
        "jobs": dict.fromkeys(keys_, True),
        "counts": [0, 0, 0],
        "line": [],
        "usage": {"cpu": "0"},
        "conditions": [("Active", "True", "Ready"), ("Blocked", "False", "NotBlocked")],
    }


def said_of(unit: Json) -> Json:
    return {name: each for name, each in unit.items() if name != "spec"}


ENDED = {
    "phase": "Succeed",
    "message": "Succeeded",
    "admissions": [],
    "attempts": 1,
    "finished": ("True", "Succeeded"),
}


def check(cluster: Cluster) -> None:
    onlooker, end = cluster.onlooker, cluster.end()
    assert onlooker.wrongs == []
    assert onlooker.most == PLACES
    units = end.pop("units")
    assert {key: said_of(unit) for key, unit in units.items()} == dict.fromkeys(end["jobs"], ENDED)
    assert end == expected()
    assert set(onlooker.released.values()) == {1}
    assert len(onlooker.granted) == len(set(onlooker.granted)) == BURST


def overtaken(granted: list[str]) -> int:
    """The most that were granted before an earlier one."""
    return max(
        sum(later > key for later in granted[:place]) for place, key in enumerate(granted)
    )


async def test_a_burst_goes_through_a_small_quota_in_order() -> None:
    cluster = Cluster(0)
    for number in range(BURST):
        cluster.submit(number)
    cluster.start()
    await cluster.until_done()
    await cluster.stop()
    check(cluster)


@pytest.mark.parametrize("seed", SEEDS)
async def test_faults_change_nothing_but_time(seed: int) -> None:
    cluster = Cluster(seed)
    cluster.api.weather = cluster.storm
    for number in range(BURST):
        cluster.submit(number)
    cluster.start()
    await cluster.until_done()
    await cluster.stop()
    check(cluster)
