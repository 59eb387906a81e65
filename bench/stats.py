"""Percentiles, and the latency from a completion to a release."""

import math
from bisect import bisect_left
from collections.abc import Sequence


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least so many percent of all do not exceed."""
    if not values:
        raise ValueError("no values have no percentile")
    rank = math.ceil(len(values) * percent / 100)
    return sorted(values)[max(rank, 1) - 1]


def p50_p99(seconds: Sequence[float]) -> dict[str, float]:
    """Both in milliseconds, by the names of the JSON file."""
    return {f"p{each}": round(percentile(seconds, each) * 1000, 2) for each in (50, 99)}


def to_next_release(completed: Sequence[float], released: Sequence[float]) -> list[float]:
    """From each completion to the first release after it; those that none follows do not count."""
    ordered = sorted(released)
    places = ((moment, bisect_left(ordered, moment)) for moment in completed)
    return [ordered[place] - moment for moment, place in places if place < len(ordered)]


def to_own_release(
    completed: Sequence[float], released: Sequence[float], places: int
) -> list[float]:
    """From the n-th completion to the release that takes its place: the (places + n)-th.

    Stricter than the next release, which of many completions at once sees only the first.
    """
    return [
        release - completion
        for completion, release in zip(sorted(completed), sorted(released)[places:], strict=False)
    ]
