"""What came of a show, and what should not have."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from kq.core.model import Phase
from kq.show.cast import Cast
from kq.show.happenings import Run
from kq.show.kinds import KINDS
from kq.show.record import Record

NOTICEABLE = timedelta(seconds=1)
"""A job that starts sooner did not wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How long the jobs of one team were held, those included that were not."""

    jobs: int
    waited: int
    mean: timedelta
    longest: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """All jobs as they were seen, and what the API server has recorded of them."""

    cast: Cast
    runs: Sequence[Run]
    record: Record
    seen_wrong: Sequence[str] = ()

    @property
    def kinds(self) -> Mapping[str, int]:
        """How many jobs there were of each kind, in the order of their first."""
        return Counter(each.role.kind for each in self.runs)

    @property
    def teams(self) -> list[str]:
        """Those that have submitted something."""
        having = {run.role.team for run in self.runs}
        return [each.name for each in self.cast.teams if each.name in having]

    @property
    def stops(self) -> Mapping[str, int]:
        """How often jobs were stopped, by the reason."""
        return Counter(reason for run in self.runs for reason in run.stops)

    @property
    def stopped(self) -> int:
        """How many jobs were stopped at least once."""
        return sum(1 for run in self.runs if run.stops)

    @property
    def returned(self) -> int:
        """How many jobs were stopped, started again, and finished."""
        return sum(1 for run in self.runs if run.stops and run.finished)

    def waiting(self, team: str) -> Waiting:
        """How long a team had to wait."""
        waits = [run.waited for run in self.runs if run.role.team == team]
        return Waiting(
            jobs=len(waits),
            waited=sum(each >= NOTICEABLE for each in waits),
            mean=sum(waits, timedelta()) / len(waits),
            longest=max(waits),
        )

    @property
    def took(self) -> timedelta:
        """From the first submit to the last end."""
        begins = [run.submitted for run in self.runs if run.submitted]
        ends = [run.finished for run in self.runs if run.finished]
        return max(ends) - min(begins) if ends else timedelta()

    @property
    def wrongs(self) -> list[str]:
        """What did not go as it must; nothing, as a rule."""
        return [*self.seen_wrong, *self.record.wrongs, *self._wrongs_of_runs()]

    def _wrongs_of_runs(self) -> Iterator[str]:
        told = sum(self.stops.values())
        # One that is taken back before its job was let go stops nothing.
        if told < self.record.stops:
            yield f"jobs were stopped {self.record.stops} times, and {told} times it was said why"
        for run in self.runs:
            name = f"job {run.role.team}/{run.role.name}"
            goes = Phase.SUCCEED if KINDS[run.role.kind].ends else ""
            if run.finished is None:
                why = run.reasons[-1] if run.reasons else "no reason was given"
                yield f"{name} has not finished: {run.phase or 'no QueueUnit'}, {why}"
            elif run.runs_since is None:
                yield f"{name} has finished, but never were all of its pods seen to run"
            elif run.phase != goes:
                yield f"{name} has finished, but its QueueUnit is {run.phase or 'gone'}"
