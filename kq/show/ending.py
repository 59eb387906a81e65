"""What came of a show, and what should not have."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from kq.core.model import Phase
from kq.show.cast import Cast
from kq.show.happenings import Run

NOTICEABLE = timedelta(seconds=1)
"""A job that starts sooner did not wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """All jobs as they were seen, and the most that was in use of each quota."""

    cast: Cast
    runs: Sequence[Run]
    peaks: Mapping[str, int]
    seen_wrong: Sequence[str] = ()

    @property
    def waits(self) -> list[Run]:
        """The jobs that had to wait, the longest wait first."""
        waited = [each for each in self.runs if each.waited >= NOTICEABLE]
        return sorted(waited, key=lambda run: run.waited, reverse=True)

    @property
    def took(self) -> timedelta:
        """From the first submit to the last end."""
        begins = [run.submitted for run in self.runs if run.submitted]
        ends = [run.finished for run in self.runs if run.finished]
        return max(ends) - min(begins) if ends else timedelta()

    @property
    def wrongs(self) -> list[str]:
        """What did not go as it must; nothing, as a rule."""
        return [*self.seen_wrong, *self._wrongs_of_runs()]

    def _wrongs_of_runs(self) -> Iterator[str]:
        for run in self.runs:
            name = f"job {run.role.team}/{run.role.name}"
            made = len(run.succeeded) + len(run.failed) + len(run.live)
            if run.finished is None:
                why = run.reasons[-1] if run.reasons else "no reason was given"
                yield f"{name} has not finished: {run.phase or 'no QueueUnit'}, {why}"
            elif made != run.role.pods:
                yield f"{name} ran {made} pods, not {run.role.pods}"
            elif run.phase != Phase.SUCCEED:
                yield f"{name} has finished, but its QueueUnit is {run.phase or 'gone'}"
