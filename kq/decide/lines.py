"""The Queues as lines: by which policy, who is expected in them, what the last pass found."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from kq.core.model import Queue, QueueUnit
from kq.core.options import RetryOptions
from kq.core.plugins import Level, OrderKey, PolicyMaker, QueuePolicy
from kq.decide.cycle import Line, Outcome, run_cycle
from kq.decide.places import Place
from kq.decide.queuesettings import (
    max_depth,
    pace_of,
    skips_impossible,
    threshold_of,
    waits_for_pods,
)
from kq.decide.taking import Taking
from kq.decide.usage import Usage
from kq.decide.waiting import WaitingList

FALLBACK = "Priority"
"""What an unknown policy counts as (spec 10.6)."""


class Lines:
    """Passes over Queues, each beginning where the one before asked for."""

    def __init__(
        self, policies: Mapping[str, PolicyMaker], default_policy: str, retry: RetryOptions
    ) -> None:
        self._policies = policies
        self._default_policy = default_policy
        self._retry = retry
        self._expected: dict[str, Place] = {}
        self._goes_on: dict[str, OrderKey] = {}
        self.outcomes: dict[str, Outcome] = {}

    def fork(self) -> "Lines":
        """The same, of which further passes are apart."""
        other = Lines(self._policies, self._default_policy, self._retry)
        other._expected, other._goes_on = dict(self._expected), dict(self._goes_on)
        return other

    def policy(self, queue: Queue) -> QueuePolicy:
        """The policy that orders the Queue."""
        make = self._policies.get(queue.policy or self._default_policy)
        return (make or self._policies[FALLBACK])(threshold_of(queue))

    def expect(self, uid: str, place: Place) -> None:
        """The unit of that job is about to be made: nobody behind it takes what is its (10.4)."""
        self._expected[uid] = place

    def expected(self, uid: str) -> str | None:
        """It was made, or will not be; the Queue in which it was expected."""
        place = self._expected.pop(uid, None)
        return place.queue if place is not None else None

    def forget(self, queue: str) -> None:
        """Nobody waits there, or there is no such Queue any more."""
        self.outcomes.pop(queue, None)
        self._goes_on.pop(queue, None)

    def begin_anew(self, queues: Iterable[str]) -> None:
        """Something has happened: the next pass tries all from the head (spec 10.12)."""
        for queue in queues:
            self._goes_on.pop(queue, None)

    def released(self, waiting: Iterable[WaitingList | None]) -> None:
        """Something was given back for which these may wait (spec 10.21)."""
        if self._retry.strict:
            for each in waiting:
                if each is not None:
                    each.end_back_offs()

    @property
    def cut_short(self) -> Sequence[str]:
        """Queues whose next pass is to go on where the last one stopped."""
        return list(self._goes_on)

    def run(
        self,
        queue: Queue,
        waiting: WaitingList,
        usage: Usage,
        *,
        now: datetime,
        chain_of: Callable[[str], Sequence[Level]],
        is_there: Callable[[str], bool],
        unready: Callable[[], Sequence[QueueUnit]],
        taking: Taking | None = None,
    ) -> Outcome:
        """One pass. `unready` is asked only where it counts (10.13)."""
        line = self.line(
            queue, waiting, chain_of=chain_of, is_there=is_there, unready=unready, taking=taking
        )
        line = msgspec.structs.replace(line, after=self._goes_on.pop(queue.name, None))
        outcome = self.outcomes[queue.name] = run_cycle(line, usage)
        if outcome.goes_on_after is not None:
            self._goes_on[queue.name] = outcome.goes_on_after
        if outcome.failures:
            pace = pace_of(queue, self._retry)
            for each in outcome.failures:
                waiting.rest(each, pace, now)
        return outcome

    def line(
        self,
        queue: Queue,
        waiting: WaitingList,
        *,
        chain_of: Callable[[str], Sequence[Level]],
        is_there: Callable[[str], bool],
        unready: Callable[[], Sequence[QueueUnit]],
        taking: Taking | None = None,
    ) -> Line:
        """The Queue as a pass that begins at the head looks at it."""
        policy, one_at_a_time = self.policy(queue), waits_for_pods(queue)
        return Line(
            queue=queue.name,
            waiting=waiting,
            policy=policy,
            chain_of=chain_of,
            skip_impossible=skips_impossible(queue),
            depth=max_depth(queue),
            one_at_a_time=one_at_a_time,
            unready=[policy.order_key(each) for each in unready()] if one_at_a_time else (),
            backs_off=self._retry.backs_off,
            taking=taking,
            expected=[
                each
                for each in self._expected.values()
                if each.queue == queue.name and not is_there(each.order[2])
            ],
        )
