"""What a pass over a Queue takes back for those who do not fit, and sets aside for them (13.6).

Two views of usage count: as it is now, and as it will be once all have given back what they are
asked for, and those who wait for it have got it. Who starts has to fit in both.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kq.core.messages import Reason, m12, s7
from kq.core.plugins import Level, OrderKey, Problem
from kq.core.resources import Resources
from kq.decide.fit import Shortage, Used, shortage
from kq.decide.grounds import Grounds, Promise
from kq.decide.outlook import Outlook
from kq.decide.reclaim import Reclaim, mode_of, reclaimed
from kq.decide.situation import Taken
from kq.decide.victims import (
    Claimant,
    Holder,
    Lack,
    fewest,
    givers,
    is_harder,
    lacking,
    preempted,
    rank,
)

MOST_HOPELESS = 16


class Told(NamedTuple):
    """The reason of an eviction, and what those are told who watch."""

    reason: str
    told: str


class Taking:
    """Victims and promises of one pass."""

    def __init__(self, grounds: Grounds) -> None:
        self._grounds = grounds
        self._leaving = {each.key: each for each in sorted(grounds.leaving, key=rank)}
        """Those whose place nobody waits for yet."""
        self._awaited: dict[str, Holder] = {}
        """Those somebody waits for."""
        self._outlook = Outlook(grounds)
        self._holders: Sequence[Holder] | None = None
        self._stocks: dict[tuple[str, str, str], tuple[list[int], list[int]]] = {}
        self._hopeless: list[Claimant] = []
        self.taken: dict[str, Taken] = {}
        """The victims, by unit."""
        self.in_vain = False
        """Somebody found no victims, and may find some when protections end."""

    @property
    def promises(self) -> Sequence[Promise]:
        """What this pass sets aside."""
        return self._outlook.promises

    def shortage(
        self, place: OrderKey, chain: Sequence[Level], request: Resources, used: Used
    ) -> Shortage | None:
        """What one that fits now would lack later: it would start with what is set aside."""
        found = (shortage(chain, request, each) for each in self.views(used, -place[0]))
        return next((each for each in found if each is not None), None)

    def views(self, used: Used, priority: int) -> Sequence[Used]:
        """Usage as it will be, into which one of that priority who starts has to fit as well."""
        if not (self.promises or self._grounds.promises):
            return ()
        return self._outlook.later(used, priority), self._outlook.kept(used, priority)

    def take(
        self, place: OrderKey, chain: Sequence[Level], request: Resources, used: Used
    ) -> Problem | None:
        """Has others make room for one that does not fit, and says whom it waits for (M12)."""
        mode = mode_of(chain)
        if not self._grounds.preempts and mode is Reclaim.NEVER:
            return None
        claimant = self._claimant(place, chain, request)
        if claimant.takes_none:
            return None
        reason, victims = "", list[Holder]()
        lacks = lacking(claimant, self._outlook.later(used, claimant.priority))
        if lacks:
            reason, victims = self._victims(claimant, lacks, used, mode)
            if not victims:
                self.in_vain = True
                return None
            told = f"{reason} by {place[2]} for {lacks[0].told}"
            self._record(place[2], claimant, victims, Told(reason, told))
        return self._promised(place[2], claimant, used)

    def displace(
        self,
        place: OrderKey,
        chain: Sequence[Level],
        request: Resources,
        used: Used,
        unready: Sequence[OrderKey],
    ) -> Problem | None:
        """Has those make way that hold up the Queue of one that fits (spec 13.12).

        None if one of them stays, or another one waits for victims already.
        """
        grounds, claimant = self._grounds, self._claimant(place, chain, request)
        giving = {each.key: each for each in grounds.leaving}
        staying = {each[2] for each in unready if each[2] not in giving}
        if claimant.takes_none or self.promises or any(map(grounds.has_running, staying)):
            return None
        victims = [each for each in self._all() if each.key in staying] if staying else []
        if len(victims) < len(staying):
            self.in_vain = True
            return None
        told = f"Preempted by {place[2]} for quota {chain[0].name}: it goes first in queue"
        self._record(place[2], claimant, victims, Told("Preempted", f"{told} {grounds.queue}"))
        self._set_aside(place[2], claimant, bars_all=False)
        return Problem(Reason.PREEMPTION, m12(chain[0].name, sorted(each[2] for each in unready)))

    def _claimant(self, place: OrderKey, chain: Sequence[Level], request: Resources) -> Claimant:
        return Claimant(
            queue=self._grounds.queue,
            chain=chain,
            priority=-place[0],
            request=request,
            takes_none=self._grounds.takes_none(place[2]),
        )

    def _victims(
        self, claimant: Claimant, lacks: Sequence[Lack], used: Used, mode: Reclaim
    ) -> tuple[str, list[Holder]]:
        """First across quotas, then in the Queue (spec 13.11)."""
        later, chain_of = self._outlook.later(used, claimant.priority), self._grounds.chain_of
        if any(is_harder(claimant, each) for each in self._hopeless):
            return "", []
        below = None if mode is Reclaim.ANY else claimant.priority
        if mode is not Reclaim.NEVER and self._may_suffice(lacks, below, ""):
            found = reclaimed(claimant, self._left(), later, chain_of, mode)
            if found:
                return "Reclaimed", found
        own = self._grounds.queue
        if self._grounds.preempts and self._may_suffice(lacks, claimant.priority, own):
            found = preempted(claimant, self._left(), later, chain_of)
            if found:
                return "Preempted", found
        if len(self._hopeless) < MOST_HOPELESS:
            self._hopeless.append(claimant)
        return "", []

    def _left(self) -> Iterator[Holder]:
        return (each for each in self._all() if each.key not in self.taken)

    def _all(self) -> Sequence[Holder]:
        if self._holders is None:
            self._holders = sorted(self._grounds.holders(), key=rank)
        return self._holders

    def _may_suffice(self, lacks: Sequence[Lack], below: int | None, queue: str) -> bool:
        """Whether all that may lose their grants have so much; most often nobody has."""
        for lack in lacks:
            priorities, sums = self._stock(lack.level, lack.resource, queue)
            count = len(priorities) if below is None else bisect_left(priorities, below)
            if sums[count] < lack.amount:
                return False
        return True

    def _stock(self, level: str, resource: str, queue: str) -> tuple[list[int], list[int]]:
        """Priorities of holders in order, and what the first so many of them have together."""
        known = self._stocks.get((level, resource, queue))
        if known is not None:
            return known
        chain_of = self._grounds.chain_of
        below = {
            quota: any(one.name == level for one in chain_of(quota))
            for quota in {each.quota for each in self._all()}
        }
        having = sorted(
            (each.priority, each.charge.get(resource))
            for each in self._all()
            if below[each.quota] and queue in ("", each.queue)
        )
        sums = [0]
        for _, amount in having:
            sums.append(sums[-1] + amount)
        stock = ([priority for priority, _ in having], sums)
        self._stocks[level, resource, queue] = stock
        return stock

    def _record(self, unit: str, claimant: Claimant, victims: Sequence[Holder], why: Told) -> None:
        text = s7(unit, claimant.chain[0].name)
        for each in victims:
            self.taken[each.key] = Taken(reason=why.reason, text=text, told=why.told)
            self._leaving[each.key] = each
            self._outlook.free(each)

    def _promised(self, unit: str, claimant: Claimant, used: Used) -> Problem | None:
        """Sets aside what it asks; it waits for those who give back what it lacks."""
        priority, awaited = claimant.priority, self._awaited
        lacks = lacking(claimant, self._outlook.unawaited(used, priority))
        needed = self._needed(self._leaving.values(), lacks)
        for each in needed:
            awaited[each.key] = self._leaving.pop(each.key)
            self._outlook.expect(each)
        bars_all = any(each.priority >= priority for each in needed)
        if not needed:
            # Those whom others wait for give back more than these ask.
            lacks = lacking(claimant, self._outlook.beside(used, priority))
            needed = self._needed(awaited.values(), lacks)
        if not needed:
            return None
        self._set_aside(unit, claimant, bars_all=bars_all)
        return Problem(Reason.PREEMPTION, m12(lacks[0].level, sorted(each.key for each in needed)))

    def _needed(self, holders: Iterable[Holder], lacks: Sequence[Lack]) -> Sequence[Holder]:
        """Of those who leave the fewest that suffice; all that help if they do not."""
        possible = list(givers(holders, lacks, self._grounds.chain_of))
        return fewest(possible, lacks) or [holder for holder, _ in possible]

    def _set_aside(self, unit: str, claimant: Claimant, *, bars_all: bool) -> None:
        promise = Promise(
            unit=unit,
            priority=claimant.priority,
            chain=claimant.chain,
            request=claimant.request,
            bars_all=bars_all,
        )
        self._outlook.set_aside(promise)
