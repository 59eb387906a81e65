"""Stories of a few jobs: what is there before, and what somebody then does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sim_case import Case

from kq.core import keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What is done is done by people, whether a manager runs meanwhile or not."""

    name: str
    before: Callable[[Case], None]
    act: Callable[[Case], Any]


def full(case: Case) -> None:
    """`first` has all of its quota, `second` waits for it, `other` has half of another quota."""
    a, b = case.world.quota("a", cpu=2), case.world.quota("b", cpu=2)
    case.world.job("first", a, cpu=2)
    case.world.job("other", b, cpu=1)
    case.world.wait_phase("first", "Running")
    case.world.job("second", a, cpu=2)
    case.passes(20)


def empty(case: Case) -> None:
    case.world.quota("a", cpu=2)
    case.passes(20)


def lingering(case: Case) -> None:
    """As `full`, but pods take their time to end."""
    a = case.world.quota("a", cpu=2)
    case.world.job("first", a, cpu=2, played={"linger-for": "8s"})
    case.world.wait_phase("first", "Running")
    case.world.job("second", a, cpu=2)
    case.passes(20)


def submits(case: Case) -> None:
    a = case.world.name_of("a")
    case.world.job("first", a, cpu=2, run_for="2s")
    case.world.job("second", a, cpu=2)
    case.world.job("third", a, cpu=1, priority=-1)


def replaces(case: Case) -> None:
    """The same name at once, and another job."""
    case.world.delete_job("first", policy="Foreground")
    case.ground.until(lambda: case.world.seen_job("first") is None, "it is gone")
    case.world.job_again("first")


def slips(case: Case) -> None:
    """A job comes unsuspended while no webhook answers."""
    case.ground.run(case.simulation.kill_webhook())
    a = case.world.name_of("a")
    body = case.world.manifest("slipped", a, cpu=1, spec={"suspend": False})
    body["spec"]["template"]["metadata"]["labels"] = {keys.QUOTA_LABEL: a}
    case.world.submit(body)
    case.ground.run(case.simulation.start_webhook())


STORIES = (
    Story(name="submitted", before=empty, act=submits),
    Story(name="deleted", before=lingering, act=lambda case: case.world.delete_job("first")),
    Story(name="replaced", before=lingering, act=replaces),
    Story(
        name="paused",
        before=lingering,
        act=lambda case: case.world.change_job("first", {"spec": {"suspend": True}}),
    ),
    Story(
        name="deactivated",
        before=full,
        act=lambda case: case.world.change_unit("first", {"spec": {"active": False}}),
    ),
    Story(
        name="drained",
        before=full,
        act=lambda case: case.world.set_queue(
            case.world.name_of("a"), {"spec": {"stopPolicy": "HoldAndDrain"}}
        ),
    ),
    Story(
        name="moved",
        before=full,
        act=lambda case: case.world.change_job(
            "second", {"metadata": {"labels": {keys.QUOTA_LABEL: case.world.name_of("b")}}}
        ),
    ),
    Story(name="unit deleted", before=full, act=lambda case: case.world.delete_unit("first")),
    Story(name="slipped", before=full, act=slips),
    Story(
        name="limit raised",
        before=full,
        act=lambda case: case.world.set_limits(case.world.name_of("a"), cpu=4),
    ),
    Story(
        name="quota gone",
        before=full,
        act=lambda case: case.world.delete_quota(case.world.name_of("a")),
    ),
    Story(
        name="waiting one deleted",
        before=full,
        act=lambda case: case.world.delete_job("second"),
    ),
    Story(
        name="ended",
        before=full,
        act=lambda case: case.world.change_job("first", {"spec": {"activeDeadlineSeconds": 1}}),
    ),
)
