"""Anything in any order: what users, tools and crashes do to jobs must always come to rest.

After a random scene the cluster is looked at as a whole: jobs run if and only if their units hold
quota, nobody who fits waits, nothing is written any more, and a cold start finds nothing to do.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest
from api import Weather
from case_stage import Stage
from simulated import Storm

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, POD, QUEUE_UNIT

pytestmark = [pytest.mark.looptime(noop_cycles=2), pytest.mark.usefixtures("same_jitter", "logs")]

NAMES = ("a", "b", "c", "d", "e")
ACTIONS = 25


class Scene:
    """Random actions of all who have to do with jobs."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self.stage = stage
        self.chance = random.Random(seed)
        self.made = 0
        self.done: list[str] = []
        self.actions: list[Callable[[str], object]] = [
            self.submit,
            self.submit,
            self.submit_plain,
            self.suspend,
            self.resume,
            self.delete,
            self.replace,
            self.finish,
            self.deactivate,
            self.activate,
            self.deactivate_by_job,
            self.activate_by_job,
            self.scale,
            self.edit_priority,
            self.drop_unit,
            self.relist,
            self.raise_limit,
        ]

    async def play(self) -> None:
        for _ in range(ACTIONS):
            action, key = self.chance.choice(self.actions), f"team-a/{self.chance.choice(NAMES)}"
            self.done.append(f"{action.__name__} {key}")
            action(key)
            if self.chance.random() < 0.1:
                self.done.append("restart")
                await self.stage.kill()
                await self.stage.settled(self.chance.choice((0.0, 2.0)))
                self.stage.start()
            await self.stage.settled(self.chance.choice((0.0, 0.01, 0.1, 0.6, 3.0, 20.0)))

    def _job(self, key: str) -> Any:
        found = self.stage.api.all(JOB).get(key)
        return None if found is None or is_over(found) else found

    def submit(self, key: str, **fields: Any) -> None:
        if key not in self.stage.api.all(JOB):
            self.made += 1
            name, cpu = key.partition("/")[2], self.chance.randint(1, 3)
            meta = {"uid": f"{name}-{self.made}"}
            counts = {"parallelism": self.chance.randint(1, 2)}
            self.stage.submit(name, cpu=cpu, metadata=meta, **counts | fields)

    def submit_plain(self, key: str) -> None:
        self.submit(key, suspend=False)

    def suspend(self, key: str) -> None:
        if self._job(key):
            self.stage.suspend(key, True)

    def resume(self, key: str) -> None:
        if self._job(key):
            self.stage.suspend(key, False)

    def delete(self, key: str) -> None:
        if key in self.stage.api.all(JOB):
            self.stage.delete(key)

    def replace(self, key: str) -> None:
        self.delete(key)
        self.submit(key)

    def finish(self, key: str) -> None:
        if self._job(key):
            self.stage.finish(key, self.chance.choice(("Complete", "Failed")))

    def deactivate(self, key: str) -> None:
        self._edit_unit(key, {"active": False})

    def activate(self, key: str) -> None:
        self._edit_unit(key, {"active": True})

    def edit_priority(self, key: str) -> None:
        self._edit_unit(key, {"priority": self.chance.randint(-1, 5)})

    def _edit_unit(self, key: str, spec: dict[str, Any]) -> None:
        if key in self.stage.api.all(QUEUE_UNIT):
            self.stage.api.edit(QUEUE_UNIT, key, {"spec": spec})

    def deactivate_by_job(self, key: str) -> None:
        self._annotate(key, "false")

    def activate_by_job(self, key: str) -> None:
        self._annotate(key, "true")

    def _annotate(self, key: str, value: str) -> None:
        if self._job(key):
            meta = {"annotations": {keys.ACTIVE: value}}
            self.stage.api.edit(JOB, key, {"metadata": meta})

    def scale(self, key: str) -> None:
        if self._job(key):
            spec = {"parallelism": self.chance.randint(0, 3)}
            self.stage.api.edit(JOB, key, {"spec": spec})

    def drop_unit(self, key: str) -> None:
        if key in self.stage.api.all(QUEUE_UNIT):
            self.stage.api.remove(QUEUE_UNIT, key)

    def relist(self, _: str) -> None:
        self.stage.api.expire(self.chance.choice((JOB, POD, QUEUE_UNIT, ELASTIC_QUOTA)))

    def raise_limit(self, _: str) -> None:
        limit = {"max": {"cpu": self.chance.randint(3, 6)}}
        self.stage.api.edit(ELASTIC_QUOTA, "quotas/team-a", {"spec": limit})


def is_over(found: Any) -> bool:
    conditions = found.get("status", {}).get("conditions", ())
    return any(each["type"] in ("Complete", "Failed") for each in conditions)


def told(stage: Stage) -> dict[str, str]:
    """Each job in short: does it run, what says its unit, and what is wrong with the two."""
    limit = float(stage.api.find(ELASTIC_QUOTA, "quotas/team-a")["spec"]["max"]["cpu"])
    free = limit - stage.onlooker.used
    return {key: _told(stage, key, found, free) for key, found in stage.api.all(JOB).items()}


def _told(stage: Stage, key: str, found: Any, free: float) -> str:
    unit = stage.api.all(QUEUE_UNIT).get(key)
    if is_over(found):
        ended = unit is None or stage.phase(key) in ("Succeed", "Failed")
        return "" if ended else f"ended, but {stage.phase(key)}"
    if unit is None:
        return "without a unit"
    if unit["spec"]["consumerRef"]["uid"] != found["metadata"]["uid"]:
        return "with the unit of another"
    phase, active = stage.phase(key), unit["spec"].get("active") is not False
    if stage.is_held(key) == (phase in ("Dequeued", "Running")):
        return f"held is {stage.is_held(key)}, but {phase}"
    if not active and phase != "Enqueued":
        return f"inactive, but {phase}"
    asks = float(unit["spec"]["resource"]["cpu"])
    if active and phase == "Enqueued" and asks <= free:
        return f"asks {asks} of {free} free, but waits: {stage.message(key)}"
    return ""


async def in_good_order(stage: Stage, scene: Scene) -> None:
    """Looks at the cluster as a whole, then for a while, then through the eyes of a cold start."""
    await stage.settled(180)
    assert {key: text for key, text in told(stage).items() if text} == {}, scene.done
    assert float(stage.usage()["cpu"]) == stage.onlooker.used, scene.done
    assert stage.api.all(QUEUE_UNIT).keys() <= stage.api.all(JOB).keys()
    stage.api.asked.clear()
    await stage.settled(300)
    assert [each.short for each in stage.api.writes] == []
    await stage.kill()
    stage.start()
    await stage.settled(60)
    assert [each.short for each in stage.api.writes] == []


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_happened_the_cluster_comes_to_rest_in_good_order(seed: int) -> None:
    stage = Stage(cpu=4)
    scene = Scene(stage, seed)
    async with stage.runs():
        await scene.play()
        await in_good_order(stage, scene)


@pytest.mark.parametrize("seed", range(1000, 1020))
async def test_in_bad_weather_too(seed: int) -> None:
    """Requests are refused or not answered, others write in between, watches lag and break."""
    stage = Stage(cpu=4)
    scene = Scene(stage, seed)
    async with stage.runs():
        storm = Storm(stage.api, scene.chance)
        storm.edits = 0.0
        stage.api.weather = storm
        await scene.play()
        stage.api.weather = Weather()
        assert storm.met.total() > 0
        await stage.settled(300)
        await in_good_order(stage, scene)
