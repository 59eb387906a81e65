"""Completion indexes of Indexed Jobs: sets of numbers, and their text in the status: `0,1,4-7`."""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from kq.core.kinds import Object
from kq.sim.control.objects import annotations_of

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"


def index_of(pod: Object) -> int | None:
    """The completion index of a pod."""
    text = annotations_of(pod).get(COMPLETION_INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else None


def index_among(pod: Object, completions: int) -> int | None:
    """The completion index of a pod, if the Job has so many."""
    index = index_of(pod)
    return index if index is not None and index < completions else None


def parse_indexes(text: str, completions: int) -> frozenset[int]:
    """The indexes that a text names, below the number of completions; what is no number is left."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            found.update(range(int(first), min(int(last or first) + 1, completions)))
    return frozenset(found)


def format_indexes(indexes: Iterable[int]) -> str:
    """Their text: runs of three and more as first and last."""
    return ",".join(
        f"{first}" if first == last else f"{first}{',' if last == first + 1 else '-'}{last}"
        for first, last in _runs(sorted(indexes))
    )


def first_pending(taken: Collection[int | None], completions: int, count: int) -> list[int]:
    """The lowest indexes that are not taken."""
    return list(islice((each for each in range(completions) if each not in taken), count))


def _runs(ordered: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for index in ordered:
        if first is None or last is None:
            first = last = index
        elif index == last + 1:
            last = index
        else:
            yield first, last
            first = last = index
    if first is not None and last is not None:
        yield first, last
