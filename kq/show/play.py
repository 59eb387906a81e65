"""Cluster, kq and cast at work, in virtual time."""

import asyncio
import random
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

from kq.errors import KqError
from kq.show.cast import Cast, Role
from kq.show.ending import Ending
from kq.show.happenings import Killed, Moment, Restarted, in_order
from kq.show.kinds import KINDS
from kq.show.manifests import job, operators_for, settings_for, stage_set
from kq.show.onlooker import Onlooker
from kq.show.record import record_of
from kq.sim.time import LoopClock
from kq.sim.world import Simulation, Terms

SETTING_SECONDS = 10.0
START = datetime(2026, 3, 2, 8, 59, 60 - int(SETTING_SECONDS), tzinfo=UTC)
"""kq and quotas are there within these seconds, and then the show begins: at nine o'clock."""
INSTANT_SECONDS = 0.5
LOOK_SECONDS = 1.0
SETTLING_SECONDS = 10.0
"""So long after the last pod has ended units and Queues are to say so."""
PATIENCE_SECONDS = 900.0
"""Beside the time that all jobs would take one after the other."""
REMEMBERED = 200_000
"""Changes of one kind: all that there are, so that they can be gone through at the end."""


class Play:
    """One show: `open` it, take one moment after the other, `close` it for what came of it."""

    def __init__(self, cast: Cast, *, seed: int, terms: Terms | None = None) -> None:
        """Belongs to the running loop."""
        # kq takes its jitter from the module.
        random.seed(seed)
        loop = asyncio.get_running_loop()
        self._cast = cast
        self._clock = LoopClock(START, loop)
        self._simulation = Simulation(
            # Seeds UIDs and generated names, which are no secrets here.
            clock=self._clock,
            random=random.Random(seed),  # noqa: S311
            terms=terms or terms_for(cast),
        )
        self._moments: asyncio.Queue[Moment | None] = asyncio.Queue()
        self._onlooker = Onlooker(
            self._simulation.server.storage,
            cast,
            clock=self._clock,
            tell=self._moments.put_nowait,
        )
        self._stack = AsyncExitStack()
        self._script: asyncio.Future[None] = loop.create_future()

    async def open(self) -> None:
        """Sets the stage; from then on the clock runs while somebody waits for a moment."""
        loop = asyncio.get_running_loop()
        begin = loop.time() + SETTING_SECONDS
        await self._stack.enter_async_context(self._simulation)
        client = self._simulation.client()
        for kind, each in stage_set(self._cast):
            await client.create(kind, each, each["metadata"].get("namespace"))
        await asyncio.sleep(begin - loop.time())
        self._script = loop.create_task(self._perform(), name="script")

    async def moments(self) -> list[Moment]:
        """What happens next, and all that happens at the same time; nothing when all is over."""
        first = await self._moments.get()
        if first is None:
            return []
        together = [first]
        await asyncio.sleep(INSTANT_SECONDS)
        while not self._moments.empty():
            moment = self._moments.get_nowait()
            if moment is None:
                self._moments.put_nowait(None)
                break
            together.append(moment)
        return in_order(together)

    async def close(self) -> Ending:
        """Ends it all; what came of it."""
        wrongs = [repr(each) for each in self._simulation.cluster.failures]
        try:
            await self._script
        except* KqError as group:
            wrongs.extend(map(str, group.exceptions))
        manager = self._simulation.manager
        if manager is None or manager.is_over:
            wrongs.append("kq's manager is not there any more")
        await self._stack.aclose()
        return Ending(
            cast=self._cast,
            runs=tuple(self._onlooker.runs.values()),
            record=record_of(self._simulation.server.storage, self._cast),
            seen_wrong=tuple(wrongs),
        )

    async def _perform(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                begin = asyncio.get_running_loop().time()
                group.create_task(self._outage(), name="outage")
                ends = [
                    group.create_task(self._end(each), name=f"end of {each.name}")
                    for each in self._cast.roles
                    if not KINDS[each.kind].ends
                ]
                for role in self._cast.roles:
                    await asyncio.sleep(begin + role.at - asyncio.get_running_loop().time())
                    await self._submit(role)
                await self._wait_for_ends()
                for each in ends:
                    each.cancel()
        finally:
            self._moments.put_nowait(None)

    async def _submit(self, role: Role) -> None:
        await self._simulation.client().create(KINDS[role.kind].resource, job(role), role.team)

    async def _end(self, role: Role) -> None:
        """Deletes one that does not end by itself, once it has run as long as its team wanted."""
        run = self._onlooker.runs[role.kind, role.team, role.name]
        left = wanted = timedelta(seconds=role.seconds)
        while left > timedelta():
            await asyncio.sleep(left.total_seconds())
            left = wanted - run.ran(self._clock())
        await self._simulation.client().delete(KINDS[role.kind].resource, role.name, role.team)

    async def _outage(self) -> None:
        outage = self._cast.outage
        await asyncio.sleep(outage.begin)
        await self._simulation.kill_manager()
        self._onlooker.tell(Killed())
        await asyncio.sleep(outage.end - outage.begin)
        self._onlooker.tell(Restarted())
        await self._simulation.start_manager()

    async def _wait_for_ends(self) -> None:
        """Until all have finished, or will not finish any more."""
        patience = PATIENCE_SECONDS + sum(each.seconds for each in self._cast.roles)
        deadline = asyncio.get_running_loop().time() + patience
        runs = self._onlooker.runs.values()
        while not all(each.finished for each in runs):
            if asyncio.get_running_loop().time() > deadline:
                return
            await asyncio.sleep(LOOK_SECONDS)
        await asyncio.sleep(SETTLING_SECONDS)


def terms_for(cast: Cast) -> Terms:
    """A cluster and a kq that know the kinds of jobs of the cast."""
    return Terms(settings=settings_for(cast), operators=operators_for(cast), history=REMEMBERED)
