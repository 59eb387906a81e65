"""Plays a history on a simulated cluster, and tells what was wrong with it."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from history_after import State, differences, state_of
from history_ends import Ends, Team
from history_manifests import terms_of
from history_onlooker import Onlooker
from history_oracle import RETRIED_SECONDS, STARTED_SECONDS, Oracle, WatchedFaults
from history_people import People
from history_quotas import QUOTAS
from history_steps import Forget, History, Jump, KillManager, LoseWebhook, Plan, Step

from kq.core.kinds import NAMESPACE
from kq.kube.client import Client
from kq.kube.errors import NotFound
from kq.sim.api.storage import Storage
from kq.sim.faults import OF_WRITES, Trouble, any_write, anything
from kq.sim.time import LoopClock, Standstill, VirtualLoop
from kq.sim.world import Simulation

START = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
SPACE = "team"
LONGEST = 900.0
"""Seconds after which what still waits, waits for ever."""
NEW_MANAGER_SECONDS = 1.0
SETTLE_SECONDS = 30.0
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
    judged: int = 0
    """How often one who waited was asked why."""
    left: State = field(default_factory=dict)
    """What is there when all is settled, if that was asked for."""


def judge(history: History) -> Outcome:
    """What came of it; where managers died, its end is that of the same history without mishaps."""
    if not history.has_deaths:
        return play(history)
    outcome = play(history, settles=True)
    if outcome.wrongs:
        return outcome
    undisturbed = play(history.undisturbed, settles=True)
    wrongs = [*undisturbed.wrongs, *differences(history, outcome.left, undisturbed.left)]
    return replace(outcome, wrongs=wrongs)


def play(history: History, *, settles: bool = False) -> Outcome:
    """All of it, on a cluster of its own; `settles`: until nothing happens any more."""
    # Informers and others take their jitter from the module.
    random.seed(history.seed)
    loop = VirtualLoop(most_turns=MOST_TURNS)
    clock, kq_clock = LoopClock(START, loop), LoopClock(START, loop)
    faults = WatchedFaults(loop.time)
    try:
        simulation = Simulation(
            clock=clock,
            kq_clock=kq_clock,
            random=random.Random(history.seed),
            terms=terms_of(history),
            faults=faults,
        )
        player = Player(simulation, kq_clock, faults)
        return loop.run_until_complete(player.play(history, settles=settles))
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

    def __init__(self, simulation: Simulation, kq_clock: LoopClock, faults: WatchedFaults) -> None:
        self._simulation = simulation
        self._faults = faults
        self._kq_clock = kq_clock
        self._client: Client = simulation.client()
        self._deaths = 0
        self._failures: list[str] = []
        self._team = Team(limits=dict(QUOTAS))
        self._people = People(self._client, simulation.server, self._team, SPACE)

    async def play(self, history: History, *, settles: bool) -> Outcome:
        time = asyncio.get_running_loop().time
        async with self._simulation as simulation, asyncio.TaskGroup() as group:
            onlooker = Onlooker(simulation.server.storage, time, simulation.terms.operators)
            oracle = Oracle(onlooker, self._faults)
            await self._set_stage()
            guard = group.create_task(self._guard(oracle))
            begin = time()
            for step in history.steps:
                await asyncio.sleep(max(0.0, begin + step.at - time()))
                group.create_task(self._do(step))
            await asyncio.sleep(1.0)
            simulation.faults.end()
            ends = Ends(self._client, self._team, SPACE)
            waiting = await ends.wait(time() + LONGEST)
            storage = simulation.server.storage
            left = await self._settled(storage) if settles and not waiting else {}
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
            judged=oracle.judged,
            left=left,
            seconds=time(),
        )

    async def _settled(self, storage: Storage) -> State:
        """What is left when pods are gone, Queues have said so, and all has been tried again."""
        time = asyncio.get_running_loop().time
        await asyncio.sleep(max(SETTLE_SECONDS, self._faults.felt_until - time() + SETTLE_SECONDS))
        return state_of(storage, SPACE)

    async def _set_stage(self) -> None:
        await self._client.create(NAMESPACE, {"metadata": {"name": SPACE}})
        await self._people.make_quotas()
        await asyncio.sleep(2.0)

    async def _guard(self, oracle: Oracle) -> None:
        """Starts a new manager whenever there is none; with one, asks who waits without need."""
        time = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(NEW_MANAGER_SECONDS)
            oracle.look(time())
            manager = self._simulation.manager
            if manager is None or manager.is_over:
                self._deaths += 1
                try:
                    await self._simulation.kill_manager()
                except Exception as err:
                    self._failures.append(f"the manager failed: {err!r}")
                    self._simulation.manager = None
                self._faults.forget()
                await self._simulation.start_manager()
                self._faults.disturb(STARTED_SECONDS)

    async def _do(self, step: Step) -> None:
        match step:
            case LoseWebhook(seconds=seconds):
                await self._lose_webhook(seconds)
            case Plan() | KillManager() | Jump() | Forget():
                self._go_wrong(step)
            case _:
                with suppress(NotFound):
                    await self._people.act(step)

    async def _lose_webhook(self, seconds: float) -> None:
        async with self._people.submits:
            self._people.webhook_up.clear()
            await self._simulation.kill_webhook()
            await asyncio.sleep(seconds)
            await self._simulation.start_webhook()
            self._people.webhook_up.set()

    def _go_wrong(self, step: Step) -> None:
        self._faults.disturb(0.0 if isinstance(step, Plan) else RETRIED_SECONDS)
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
