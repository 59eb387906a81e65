"""A whole manager on a cluster that fails it: in the end all is as if nothing had happened.

Requests are refused, answers are lost, others write in between, watches lag, break and repeat
themselves, and the manager itself is thrown away and built anew (spec 10.8, 22.1, 24.1-24.4, 24.8).
"""

import asyncio
import random
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from math import floor
from typing import Any

import pytest
from api import Api, Happened, Json, Weather, on, since_start
from builders import INSTALL_NAMESPACE, NOW, job
from prometheus_client import CollectorRegistry
from simulated import Jobs, Onlooker, Storm, is_complete
from structlog.testing import capture_logs

from kq.app.manager import Manager
from kq.app.options import Address, ClusterOptions, ManagerOptions
from kq.app.process import Counted
from kq.clock import Clocks
from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, NAMESPACE, QUEUE, QUEUE_UNIT, ResourceKind
from kq.kube.errors import Indeterminate
from kq.metrics import Metrics
from kq.settings import Settings

pytestmark = [pytest.mark.looptime(noop_cycles=2), pytest.mark.usefixtures("logs")]

PLACES = 5
BURST = 50
BURST_IN_STORM = 30
NOWHERE = Address("", 0)
QUIET = 35.0
"""Longer than any interval in which the manager writes."""


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
        random.seed(seed)  # the jitter of informers; with PYTHONHASHSEED a run can be repeated
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

    def submit(self, number: int, cpu: int = 1) -> None:
        """A Job as the webhook leaves it."""
        body = job(f"train-{number:02}", cpu=cpu, suspend=True)
        meta = body["metadata"]
        meta["labels"] = {keys.QUOTA_LABEL: "team-a"}
        meta["annotations"] = {keys.HAS_ENQUEUED: "true"}
        meta["creationTimestamp"] = (NOW.replace(second=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.api.put(JOB, body)

    def stop_queue(self) -> None:
        meta = {"namespace": INSTALL_NAMESPACE, "name": "team-a"}
        self.api.put(QUEUE, {"metadata": meta, "spec": {"stopPolicy": "Hold"}})

    def open_queue(self) -> None:
        self.api.edit(QUEUE, f"{INSTALL_NAMESPACE}/team-a", {"spec": {"stopPolicy": None}})

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
            clocks=Clocks(lambda: since_start(NOW), ticks),
            first_lists=nullcontext,
        )
        self._stop = asyncio.Event()
        self._running = asyncio.create_task(self.manager.run(self._stop))

    def is_ready(self) -> bool:
        assert self.manager is not None
        return all(bool(check()) for check in self.manager.checks().values())

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

    async def until_quiet(self, seconds: float = 1000.0) -> None:
        """Every job has come to its end, and nothing has been written for a while."""
        seen = 0
        async with asyncio.timeout(seconds):
            while not (self._is_done() and seen == self.api.version):
                seen = self.api.version
                await asyncio.sleep(QUIET)

    def _is_done(self) -> bool:
        assert self._running is not None
        if self._running.done():
            self._running.result()
        units = [each.get("status", {}) for each in self.api.all(QUEUE_UNIT).values()]
        return [each.get("phase") for each in units] == ["Succeed"] * len(self.api.all(JOB))

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


def expected(jobs: int) -> Json:
    return {
        "jobs": {f"team-a/train-{number:02}": True for number in range(jobs)},
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


def check(cluster: Cluster, jobs: int) -> None:
    onlooker, end = cluster.onlooker, cluster.end()
    assert onlooker.wrongs == []
    assert onlooker.most == PLACES
    units = end.pop("units")
    assert {key: said_of(unit) for key, unit in units.items()} == dict.fromkeys(end["jobs"], ENDED)
    assert end == expected(jobs)
    assert set(onlooker.released.values()) == {1}
    assert len(onlooker.granted) == len(set(onlooker.granted)) == jobs


def overtaken(granted: list[str]) -> int:
    """How many earlier ones had no grant written yet when one was, at most."""
    return max(sum(late < key for late in granted[place:]) for place, key in enumerate(granted))


async def test_a_burst_goes_through_a_small_quota_in_order() -> None:
    cluster = Cluster(0)
    for number in range(BURST):
        cluster.submit(number)
    cluster.stop_queue()
    cluster.start()
    assert not cluster.is_ready()
    await asyncio.sleep(10)
    assert cluster.is_ready()
    assert len(cluster.api.all(QUEUE_UNIT)) == BURST
    assert cluster.onlooker.granted == []
    cluster.open_queue()
    await cluster.until_quiet()
    await cluster.stop()
    check(cluster, BURST)
    assert overtaken(cluster.onlooker.granted) == 0


@pytest.mark.parametrize("seed", range(10))
async def test_faults_change_nothing_but_time(seed: int) -> None:
    cluster = Cluster(seed)
    cluster.api.weather = cluster.storm
    for number in range(BURST_IN_STORM):
        cluster.submit(number, cpu=1 + number % 3)
    cluster.start()
    await cluster.until_quiet()
    await cluster.stop()
    check(cluster, BURST_IN_STORM)
    assert {"answer lost", "touched", "shown twice", "priority"} <= set(cluster.storm.met)


@pytest.mark.parametrize("seed", range(20, 23))
async def test_faults_let_nobody_overtake_more_than_have_places_beside_him(seed: int) -> None:
    """Grants are decided in order; only their writes may overtake each other."""
    cluster = Cluster(seed, policy="Block")
    for number in range(BURST_IN_STORM):
        cluster.submit(number)
    cluster.storm.edits = 0.0
    cluster.stop_queue()
    cluster.start()
    await asyncio.sleep(10)
    cluster.api.weather = cluster.storm
    cluster.open_queue()
    await cluster.until_quiet()
    await cluster.stop()
    check(cluster, BURST_IN_STORM)
    assert overtaken(cluster.onlooker.granted) < PLACES


@pytest.mark.parametrize("seed", range(10, 20))
async def test_crashes_change_nothing_but_time(seed: int) -> None:
    """A crash is: all objects of the manager are thrown away, new ones see the same cluster."""
    cluster = Cluster(seed)
    cluster.api.weather = cluster.storm
    chance = random.Random(seed)
    for number in range(BURST_IN_STORM):
        cluster.submit(number, cpu=1 + number % 3)
    for _ in range(6):
        cluster.start()
        await asyncio.sleep(chance.uniform(0.0, 6.0))
        await cluster.crash()
    cluster.start()
    await cluster.until_quiet()
    await cluster.stop()
    check(cluster, BURST_IN_STORM)


class Late(Weather):
    """Watches are a second late."""

    async def on_watch(self, kind: ResourceKind, happened: Happened) -> int:
        await asyncio.sleep(1)
        return 1


async def test_a_unit_that_was_made_though_no_answer_came_is_no_error(logs: list[Any]) -> None:
    """Until its watch shows it, each further try is told that it exists already."""
    cluster = Cluster(0)
    cluster.api.weather = Late()
    cluster.submit(0)
    cluster.api.fail(Indeterminate("no answer came"), on("create queueunits"), applied=True)
    cluster.start()
    await cluster.until_quiet()
    await cluster.stop()
    errors = {each["error"] for each in logs if each["log_level"] == "error"}
    assert errors == {"no answer came"}
