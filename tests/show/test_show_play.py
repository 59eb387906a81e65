"""Whole shows in this process: what must be seen in them, and that a wrong one is noticed."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from kq.settings import Settings
from kq.show.cast import ROLES, Cast, Outage, Role, cast_of
from kq.show.ending import Ending
from kq.show.kinds import KINDS
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


def shown(
    cast: Cast, *, terms: Terms | None = None, seed: int = 1, width: int = 200
) -> tuple[str, Ending]:
    """The text of a show, and its end."""
    said: list[str] = []
    page = Page(cast, width=width)
    ending = show(
        cast,
        seed=seed,
        page=page,
        pace=Pace(),
        say=lambda line: said.append(line.plain),
        terms=terms,
    )
    return "\n".join(said), ending


def small(*roles: Role, outage: Outage | None = None) -> Cast:
    return replace(cast_of(1, Random(1)), roles=roles, outage=outage or Outage(begin=1, end=2))


def role(
    name: str, *, at: float = 0, gpus: int = 2, team: str = "vision", kind: str = "Job"
) -> Role:
    return Role(at=at, team=team, name=name, gpus=gpus, seconds=30, kind=kind)


def line_with(text: str, *parts: str) -> int:
    """The place of the only line that has all of these."""
    lines = text.splitlines()
    (found,) = [number for number, line in enumerate(lines) if all(part in line for part in parts)]
    return found


IN_TURN = (
    ("resnet", "starts at once: PyTorchJob, 4 GPUs"),
    ("gpt", "waits: TrainJob, 4 GPUs"),
    ('"waiting for 1 unit(s) to give back quota lab: vision/crops"',),
    ("crops", "reclaimed by gpt, owed to text"),
    ("gpt", "starts after"),
    ('"waiting for quota lab, ancestor of vision: 4 nvidia.com/gpu requested',),
    ("segment", "waits: JobSet, 6 GPUs"),
    ('"waiting for quota vision: 6 nvidia.com/gpu requested',),
    ("accents", "waits: PaddleJob, 1 GPU"),
    ('"queue speech starts units of quota speech strictly in order',),
    ("resnet", "preempted by urgent: priority 100"),
    ("urgent", "starts before 3 others: RayJob, 4 GPUs"),
    ("kq's manager is killed",),
    ("tokens", "is held: SparkApplication, 2 GPUs"),
    ("kq's manager is back",),
    ("resnet", "starts again after"),
    ("crops", "starts again after"),
    ("caption", "starts after", "before 2 others"),
    ("All 12 jobs finished, each once",),
    ("stopped", "1 preempted, 1 reclaimed; all of them came back and finished"),
)
MOST_LINES = 75


@pytest.mark.parametrize("seed", range(1, 4))
def test_the_story_shows_what_kq_does(seed: int) -> None:
    text, ending = shown(cast_of(len(ROLES), Random(seed)), seed=seed, width=80)
    assert ending.wrongs == []
    places = [line_with(text, *parts) for parts in IN_TURN]
    assert places == sorted(places)
    assert {name: ending.record.peaks[name] for name in ("vision", "speech", "lab")} == {
        "vision": 8,
        "speech": 6,
        "lab": 12,
    }
    assert ending.kinds == dict.fromkeys(KINDS, 1)
    assert [each.stops for each in ending.runs if each.stops] == [["Preempted"], ["Reclaimed"]]
    assert ending.record.stops == 2
    assert len(text.splitlines()) <= MOST_LINES
    assert max(map(len, text.splitlines())) <= 80


def test_a_longer_show_ends_well_too() -> None:
    cast = cast_of(24, Random(2))
    text, ending = shown(cast, seed=2)
    assert ending.wrongs == []
    assert all(ending.record.peaks[name] <= limit for name, limit in cast.limits.items())
    assert all(each.waits_since is None and not each.live for each in ending.runs)
    assert "All 24 jobs finished, each once" in text


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_of_each_kind_is_told_from_its_submit_to_its_end(kind: str) -> None:
    text, ending = shown(small(role("solo", kind=kind), outage=Outage(begin=5, end=6)))
    assert ending.wrongs == []
    # Some operators take a moment; till then it is told as held.
    first = line_with(text, "solo", f": {kind}, 2 GPUs")
    assert first <= line_with(text, "solo", "starts") < line_with(text, "solo", "finished")
    assert ending.record.peaks == {"vision": 2, "lab": 2}
    assert timedelta(seconds=29) < ending.took < timedelta(seconds=45)


def test_a_job_that_never_fits_is_an_end_that_must_not_be() -> None:
    text, ending = shown(small(role("huge", gpus=9)))
    reason = "cannot start: 9 nvidia.com/gpu requested, but max of quota vision is 8"
    assert ending.wrongs == [f"job vision/huge has not finished: Enqueued, {reason}"]
    assert reason in text
    assert "did not end as it must" in text


def test_quotas_that_nobody_keeps_are_noticed() -> None:
    free = Terms(settings=Settings(quotaPlugin=""))
    text, ending = shown(small(role("one", gpus=5), role("two", at=4, gpus=5)), terms=free)
    assert any(each.startswith("10 of 8 GPUs of quota vision in use") for each in ending.wrongs)
    assert "EXCEEDED" in text


def test_a_job_that_nobody_held_is_noticed() -> None:
    everywhere = replace(Settings().jobs, excludedNamespaces=("vision",))
    _, ending = shown(
        small(role("one")), terms=Terms(settings=replace(Settings(), jobs=everywhere))
    )
    assert "job vision/one was not held at its submit" in ending.wrongs


def test_a_job_that_is_submitted_during_the_outage_starts_after_it() -> None:
    text, ending = shown(small(role("one", at=10), outage=Outage(begin=5, end=40)))
    assert line_with(text, "manager is back") < line_with(text, "one", "starts", "after 30 s")
    assert ending.wrongs == []


def test_a_refused_submit_is_told() -> None:
    twice: Sequence[Role] = (role("same"), role("same", at=4))
    _, ending = shown(small(*twice))
    assert any("already exists" in each for each in ending.wrongs)
