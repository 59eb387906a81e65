"""Plays a history on a simulated cluster, and tells what was wrong with it."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import objects
from history_onlooker import Onlooker, has_ended
from history_steps import (
    PARENTS,
    QUOTAS,
    Deactivate,
    Delete,
    DeleteUnit,
    Forget,
    History,
    Jump,
    KillManager,
    Limit,
    LoseWebhook,
    Move,
    Plan,
    Reorder,
    Step,
    Submit,
)
from simulated_ground import manifests

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, JOB, NAMESPACE, QUEUE_UNIT
from kq.kube.client import Client
from kq.kube.errors import NotFound
from kq.sim.faults import OF_WRITES, Trouble, any_write, anything
from kq.sim.time import LoopClock, Standstill, VirtualLoop
from kq.sim.world import Simulation, Terms

START = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
SPACE = "team"
LONGEST = 900.0
"""Seconds after which what still waits, waits for ever."""
LOOK_SECONDS = 5.0
NEW_MANAGER_SECONDS = 1.0
MOST_TURNS = 30_000
"""Turns of the loop within a second with which all of a history's jobs could be run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a history."""

    wrongs: Sequence[str]
    seconds: float
    """Of virtual time."""
    met: Counter[Trouble] = field(default_factory=Counter)
    changes: int = 0
    deaths: int = 0


def play(history: History) -> Outcome:
    """All of it, on a cluster of its own."""
    # Informers and others take their jitter from the module.
    random.seed(history.seed)
    loop = VirtualLoop(most_turns=MOST_TURNS)
    clock, kq_clock = LoopClock(START, loop), LoopClock(START, loop)
    try:
        simulation = Simulation(
            clock=clock,
            kq_clock=kq_clock,
            random=random.Random(history.seed),
            terms=Terms(objects=manifests()),
        )
        player = Player(simulation, kq_clock)
        return loop.run_until_complete(player.play(history))
    except Standstill as err:
        give_up(loop)
        return Outcome(wrongs=[str(err)], seconds=loop.time())
    finally:
        loop.close()


def give_up(loop: VirtualLoop) -> None:
    """Ends all that is still under way on a loop."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.wait(tasks))


class Player:
    """One play of one history."""

    def __init__(self, simulation: Simulation, kq_clock: LoopClock) -> None:
        self._simulation = simulation
        self._kq_clock = kq_clock
        self._client: Client = simulation.client()
        self._deaths = 0
        self._failures: list[str] = []
        self._kept: dict[str, Submit] = {}
        self._limits = dict(QUOTAS)

    async def play(self, history: History) -> Outcome:
        time = asyncio.get_running_loop().time
        async with self._simulation as simulation, asyncio.TaskGroup() as group:
            onlooker = Onlooker(simulation.server.storage, time)
            await self._set_stage()
            guard = group.create_task(self._guard())
            begin = time()
            for step in history.steps:
                await asyncio.sleep(max(0.0, begin + step.at - time()))
                group.create_task(self._do(step))
            await asyncio.sleep(1.0)
            simulation.faults.end()
            waiting = await self._wait_for_ends(time() + LONGEST)
            guard.cancel()
        return Outcome(
            wrongs=[
                *onlooker.wrongs,
                *waiting,
                *self._failures,
                *map(repr, simulation.cluster.failures),
            ],
            met=simulation.faults.met,
            changes=onlooker.changes,
            deaths=self._deaths,
            seconds=time(),
        )

    async def _set_stage(self) -> None:
        await self._client.create(NAMESPACE, {"metadata": {"name": SPACE}})
        for name, cpu in QUOTAS.items():
            labels = {keys.PARENT_LABEL: PARENTS.get(name, "")}
            if name in PARENTS.values():
                labels[keys.IS_PARENT_LABEL] = "true"
            body = objects.elastic_quota(name, SPACE, {"cpu": cpu}, labels=labels)
            await self._client.create(ELASTIC_QUOTA, body, SPACE)
        await asyncio.sleep(2.0)

    async def _guard(self) -> None:
        """Starts a new manager whenever there is none."""
        while True:
            await asyncio.sleep(NEW_MANAGER_SECONDS)
            manager = self._simulation.manager
            if manager is None or manager.is_over:
                self._deaths += 1
                try:
                    await self._simulation.kill_manager()
                except Exception as err:
                    self._failures.append(f"the manager failed: {err!r}")
                    self._simulation.manager = None
                await self._simulation.start_manager()

    async def _do(self, step: Step) -> None:
        with suppress(NotFound):
            await self._act(step)

    async def _act(self, step: Step) -> None:
        match step:
            case Submit() | Delete() | Reorder() | Move() | Deactivate() | DeleteUnit():
                await self._as_owner(step)
            case Limit(quota=quota, cpu=cpu):
                self._limits[quota] = cpu
                patch = {"spec": {"max": {"cpu": str(cpu)}}}
                await self._client.merge_patch(ELASTIC_QUOTA, quota, SPACE, patch)
            case LoseWebhook(seconds=seconds):
                await self._simulation.kill_webhook()
                await asyncio.sleep(seconds)
                await self._simulation.start_webhook()
            case _:
                self._go_wrong(step)

    def _go_wrong(self, step: Step) -> None:
        match step:
            case Plan():
                self._simulation.faults.plan(
                    step.trouble,
                    any_write if step.trouble in OF_WRITES else anything,
                    spared=step.spared,
                    times=step.times,
                    seconds=step.seconds,
                )
            case KillManager():
                if self._simulation.manager is not None:
                    self._simulation.manager.kill()
            case Jump(seconds=seconds):
                self._kq_clock.jump(seconds)
            case Forget():
                self._simulation.server.storage.compact()

    async def _as_owner(self, step: Step) -> None:
        """What the person does whose job it is."""
        match step:
            case Submit():
                self._kept[step.name] = step
                await self._client.create(JOB, self._manifest(step), SPACE)
            case Delete(name=name):
                self._kept.pop(name, None)
                await self._client.delete(JOB, name, SPACE)
            case Reorder(name=name, priority=priority):
                await self._mark(name, {"annotations": {keys.PRIORITY: str(priority)}})
            case Move(name=name, quota=quota):
                await self._mark(name, {"labels": {keys.QUOTA_LABEL: quota}})
            case Deactivate(name=name, seconds=seconds):
                await self._mark(name, {"annotations": {keys.ACTIVE: "false"}})
                await asyncio.sleep(seconds)
                await self._mark(name, {"annotations": {keys.ACTIVE: "true"}})
            case DeleteUnit(name=name):
                await self._client.delete(QUEUE_UNIT, name, SPACE)

    async def _mark(self, name: str, meta: dict[str, Any]) -> None:
        await self._client.merge_patch(JOB, name, SPACE, {"metadata": meta})

    def _manifest(self, step: Submit) -> dict[str, Any]:
        # Without a webhook nobody but its owner can hold a job, or label its pods.
        alone = self._simulation.webhook is None
        manifest = objects.job(
            step.name,
            SPACE,
            {"cpu": step.cpu},
            labels={keys.QUOTA_LABEL: step.quota},
            annotations={keys.PRIORITY: str(step.priority)},
            played={"run-for": f"{step.seconds}s", "linger-for": f"{step.linger}s"},
            spec={
                "parallelism": step.pods,
                "completions": step.pods,
                **({"suspend": True} if step.suspended or alone else {}),
            },
        )
        if alone:
            manifest["spec"]["template"]["metadata"]["labels"] = {keys.QUOTA_LABEL: step.quota}
        return manifest

    async def _wait_for_ends(self, deadline: float) -> list[str]:
        """What still has not ended when it is late; nothing, as soon as all has."""
        loop = asyncio.get_running_loop()
        waiting = ["nobody has looked yet"]
        while waiting and loop.time() < deadline:
            await asyncio.sleep(LOOK_SECONDS)
            waiting = [text for name in self._kept if (text := await self._waits(name))]
        return waiting

    async def _waits(self, name: str) -> str:
        """Why a job has not ended; empty if it has."""
        try:
            job = await self._client.get(JOB, name, SPACE)
        except NotFound:
            return f"job {name} is lost"
        if has_ended(job):
            pods = job["status"].get("succeeded", 0)
            wanted = self._kept[name].pods
            return "" if pods == wanted else f"job {name} ran {pods} pods, not {wanted}"
        try:
            unit = await self._client.get(QUEUE_UNIT, name, SPACE)
        except NotFound:
            return f"job {name} has not ended and has no unit"
        status = unit.get("status", {})
        if str(status.get("message")).startswith("cannot start: "):
            return "" if self._is_too_large(job) else f"job {name} would fit, but is told not to"
        return f"job {name} has not ended: {status.get('phase')}: {status.get('message')}"

    def _is_too_large(self, job: dict[str, Any]) -> bool:
        """Whether a job asks for more than its quota, or the parent of that, has at all."""
        name = job["metadata"]["name"]
        quota = job["metadata"]["labels"][keys.QUOTA_LABEL]
        levels = [quota, PARENTS.get(quota, quota)]
        asked = self._kept[name].pods * self._kept[name].cpu
        return asked > min(self._limits[level] for level in levels)
