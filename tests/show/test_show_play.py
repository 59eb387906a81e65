"""Whole shows in this process: what must be seen in them, and that a wrong one is noticed."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import pytest

from kq.settings import Settings
from kq.show.cast import ROLES, Cast, Outage, Role, cast_of
from kq.show.ending import Ending
from kq.show.pace import Pace
from kq.show.page import Page
from kq.show.showing import show
from kq.sim.world import Terms


@pytest.fixture(autouse=True)
def chance_of_others() -> Iterator[None]:
    """A show seeds the module that all take their chances from."""
    state = random.getstate()
    yield
    random.setstate(state)


def shown(cast: Cast, *, terms: Terms | None = None) -> tuple[str, Ending]:
    """The text of a show, and its end."""
    said: list[str] = []
    page = Page(cast, width=200)
    ending = show(
        cast,
        seed=1,
        page=page,
        pace=Pace(),
        say=lambda line: said.append(line.plain),
        terms=terms,
    )
    return "\n".join(said), ending


def small(*roles: Role, outage: Outage | None = None) -> Cast:
    return replace(cast_of(1, Random(1)), roles=roles, outage=outage or Outage(begin=1, end=2))


def role(name: str, *, at: float = 0, gpus: int = 2, team: str = "vision") -> Role:
    return Role(at=at, team=team, name=name, gpus=gpus, seconds=30)


def line_with(text: str, *parts: str) -> int:
    """The place of the only line that has all of these."""
    lines = text.splitlines()
    (found,) = [number for number, line in enumerate(lines) if all(part in line for part in parts)]
    return found


IN_TURN = (
    ("resnet", "submitted", "4 GPUs (2 pods of 2), held"),
    ("resnet", "starts", "at once"),
    ("segment", "waits", "waiting for quota vision: 6 nvidia.com/gpu requested"),
    ("accents", "waits", "strictly in order, an earlier one does not fit"),
    ("thumbs", "starts", "at once, past segment (too large now)"),
    ("captions", "waits", "waiting for quota lab, ancestor of vision"),
    ("kq's manager is killed",),
    ("dialects", "submitted", "held"),
    ("thumbs", "finished", "gives back 2 GPUs"),
    ("kq's manager is started again",),
    ("captions", "starts", "past segment"),
    ("deadline", "starts", "before segment (priority 100)"),
    ("segment   starts",),
)


def test_the_story_shows_what_kq_does() -> None:
    text, ending = shown(cast_of(len(ROLES), Random(1)))
    places = [line_with(text, *parts) for parts in IN_TURN]
    assert places == sorted(places)
    assert ending.wrongs == []
    assert ending.peaks == {"vision": 8, "speech": 6, "lab": 10}
    assert "9 of 9 jobs finished, each ran once" in text
    assert text.count(" Succeed ") == len(ROLES)


def test_a_longer_show_ends_well_too() -> None:
    cast = cast_of(25, Random(2))
    text, ending = shown(cast)
    assert ending.wrongs == []
    assert all(ending.peaks[name] <= limit for name, limit in cast.limits.items())
    assert text.count("finished   gives back") == 25
    assert "... and 11 more" in text


def test_a_job_that_never_fits_is_an_end_that_must_not_be() -> None:
    text, ending = shown(small(role("huge", gpus=9)))
    reason = "cannot start: 9 nvidia.com/gpu requested, but max of quota vision is 8"
    assert ending.wrongs == [f"job vision/huge has not finished: Enqueued, {reason}"]
    assert reason in text
    assert "did not end as it must" in text


def test_quotas_that_nobody_keeps_are_noticed() -> None:
    free = Terms(settings=Settings(quotaPlugin=""))
    _, ending = shown(small(role("one", gpus=5), role("two", at=4, gpus=5)), terms=free)
    assert "10 of 8 GPUs of quota vision in use" in ending.wrongs


def test_a_job_that_nobody_held_is_noticed() -> None:
    everywhere = replace(Settings().jobs, excludedNamespaces=("vision",))
    _, ending = shown(
        small(role("one")), terms=Terms(settings=replace(Settings(), jobs=everywhere))
    )
    assert "job one was not held at its submit" in ending.wrongs


def test_a_job_that_is_submitted_during_the_outage_starts_after_it() -> None:
    text, ending = shown(small(role("one", at=10), outage=Outage(begin=5, end=40)))
    assert line_with(text, "started again") < line_with(text, "one", "starts", "after 30 s")
    assert ending.wrongs == []


def test_a_refused_submit_is_told() -> None:
    twice: Sequence[Role] = (role("same"), role("same", at=4))
    _, ending = shown(small(*twice))
    assert any("already exists" in each for each in ending.wrongs)
