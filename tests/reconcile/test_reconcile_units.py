"""Waiting units are told why, once for each change of the reason (spec 9.10, 18.4, 20.1)."""

from typing import Any

import builders
import pytest
from api import on
from builders import stamp
from shells import Ground

from kq.core.kinds import QUEUE_UNIT
from kq.core.messages import Reason
from kq.core.plugins import Problem
from kq.kube.errors import Conflict
from kq.reconcile.controller import Request, Result
from kq.reconcile.units import UnitsReconciler

FULL = "waiting for quota team-a: 1 cpu requested, not enough free of 1"
WAITS = Problem(Reason.WAITING, FULL)
OTHER = Problem(Reason.WAITING, "waiting for something else")


class Units(Ground):
    """A quota of one place that is taken, and the reconciler."""

    def __init__(self, **options: Any) -> None:
        super().__init__(builders.quota(cpu=1), **options)
        self.queue()
        self.job("first")
        self.unit("first", phase=builders.Phase.RUNNING)
        self.reconciler = UnitsReconciler(
            hub=self.hub, executor=self.executor, teller=self.teller, clock=self.clock
        )

    def waiting(self, name: str = "train", **fields: Any) -> None:
        """One more unit with its job; the cycle has looked at it."""
        self.job(name)
        self.unit(name, **fields)
        self.grant()

    async def tell(self, name: str = "train") -> None:
        assert await self.reconciler.reconcile(Request("team-a", name)) == Result()
        if f"team-a/{name}" in self.api.all(QUEUE_UNIT):
            self.show_unit(f"team-a/{name}")


@pytest.fixture
def ground() -> Units:
    return Units()


async def test_the_reason_is_written_exactly_and_once(ground: Units) -> None:
    ground.waiting()
    before = ground.unit_now()
    ground.clock.move(60)
    for _ in range(3):
        await ground.tell()
        ground.grant()
    (write,) = ground.api.writes
    assert (write.subresource, write.resource_version, write.uid) == (
        "status",
        before.resource_version,
        before.uid,
    )
    reserved = {"type": "QuotaReserved", "status": "False", "reason": "WaitingForQuota"}
    assert write.body == {
        "status": {
            "phase": "Enqueued",
            "message": FULL,
            "lastUpdateTime": stamp(1),
            "conditions": [{**reserved, "message": FULL, "lastTransitionTime": stamp(1)}],
        }
    }


async def test_a_unit_that_says_it_already_is_left_alone(ground: Units) -> None:
    ground.waiting(told=WAITS)
    await ground.tell()
    assert ground.api.writes == []
    assert ground.notes.told == []


async def test_a_unit_that_the_cycle_has_not_looked_at_is_left_alone(ground: Units) -> None:
    ground.job()
    ground.unit()
    await ground.tell()
    assert ground.api.writes == []


async def test_a_unit_whose_grant_is_under_way_is_left_alone() -> None:
    ground = Units()
    ground.waiting()
    ground.book.lost(ground.unit_now("team-a/first"))
    assert ground.grant() != []
    await ground.tell()
    assert ground.api.writes == []


async def test_a_unit_that_is_not_known_needs_no_word(ground: Units) -> None:
    await ground.tell("nobody")
    assert ground.api.writes == []


async def test_an_unknown_phase_stays_while_the_unit_is_told(ground: Units) -> None:
    ground.job()
    ground.unit(phase=None, raw_phase="Odd")
    ground.hub.pump()
    await ground.tell()
    await ground.tell()
    (write,) = ground.api.writes
    assert write.body is not None
    assert "phase" not in write.body["status"]
    assert ground.status()["message"] == "phase Odd is not known"


# -- events


async def test_the_first_word_says_queue_and_position_on_unit_and_job(ground: Units) -> None:
    ground.waiting("second", minute=1)
    ground.waiting(minute=2)
    await ground.tell()
    text = f"Waiting in queue team-a at position 2: {FULL}"
    assert ground.notes.told == [
        f"Normal Scheduling QueueUnit/train: {text}",
        f"Normal Scheduling Job/train: {text}",
    ]


async def test_one_that_stands_in_no_line_is_told_only_the_reason(ground: Units) -> None:
    ground.waiting(active=False)
    await ground.tell()
    assert ground.notes.told[0] == "Normal Scheduling QueueUnit/train: Waiting: deactivated"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(59, [], id="written less than a minute ago"),
        pytest.param(60, [f"Warning FailedScheduling QueueUnit/train: {FULL}"], id="a minute ago"),
    ],
)
async def test_a_changed_reason_is_an_event_at_most_once_a_minute(
    ground: Units, seconds: float, expected: list[str]
) -> None:
    ground.waiting(told=OTHER, updated=builders.NOW)
    ground.clock.move(seconds)
    await ground.tell()
    assert ground.notes.told == expected
    assert ground.status()["message"] == FULL


async def test_a_unit_that_never_says_when_it_was_written_gets_its_event(ground: Units) -> None:
    ground.waiting(told=OTHER)
    await ground.tell()
    assert ground.notes.told == [f"Warning FailedScheduling QueueUnit/train: {FULL}"]


IMPOSSIBLE = "cannot start: 2 cpu requested, but max of quota team-a is 1"
NOWHERE = "quota nowhere does not exist"


@pytest.mark.parametrize(
    ("fields", "reason", "text"),
    [
        pytest.param({"cpu": 2}, "CanNeverFit", IMPOSSIBLE, id="more than the quota can give"),
        pytest.param({"quota": "nowhere"}, "QuotaNotFound", NOWHERE, id="no such quota"),
    ],
)
async def test_what_can_never_start_is_a_warning_on_unit_and_job_once(
    ground: Units, fields: dict[str, Any], reason: str, text: str
) -> None:
    ground.waiting(**fields)
    ground.hub.pump()
    for _ in range(3):
        await ground.tell()
    told = [each for each in ground.notes.told if each.startswith("Warning")]
    assert told == [
        f"Warning {reason} QueueUnit/train: {text}",
        f"Warning {reason} Job/train: {text}",
    ]


async def test_10_10_that_it_can_never_fit_is_no_news_when_the_limit_is_another(
    ground: Units,
) -> None:
    ground.waiting(cpu=9)
    ground.hub.pump()
    await ground.tell()
    ground.notes.take()
    ground.book.set_quotas(builders.quotas(builders.quota(cpu=2)), structure_changed=False)
    ground.grant()
    ground.clock.move(60)
    await ground.tell()
    text = "cannot start: 9 cpu requested, but max of quota team-a is 2"
    assert ground.status()["message"] == text
    assert [each.split()[1] for each in ground.notes.told] == ["FailedScheduling"]


# -- what may go wrong


async def test_a_conflict_is_raised_and_tells_nothing(ground: Units) -> None:
    ground.waiting()
    ground.api.edit(QUEUE_UNIT, "team-a/train", {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(Conflict):
        await ground.reconciler.reconcile(Request("team-a", "train"))
    assert ground.notes.told == []


async def test_a_unit_that_is_gone_needs_no_word(ground: Units) -> None:
    ground.waiting()
    ground.api.remove(QUEUE_UNIT, "team-a/train")
    assert await ground.reconciler.reconcile(Request("team-a", "train")) == Result()
    assert ground.notes.told == []
    assert on("patch", "queueunits/status")(ground.api.writes[0])
