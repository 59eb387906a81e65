"""Grants that cycles decided are written once, whatever becomes of the write (spec 9.5 a, 10.8)."""

import builders
import pytest
from api import Asked, on
from builders import amounts, condition, stamp
from shells import Ground

from kq.core.kinds import QUEUE_UNIT
from kq.core.messages import Reason
from kq.core.model import Phase
from kq.core.plugins import Problem
from kq.kube.errors import Conflict, Forbidden, Indeterminate, NotFound, ServerError
from kq.reconcile.controller import Request, Result
from kq.reconcile.grants import GrantsReconciler, duration

TRAIN = Request("team-a", "train")
S2 = "Dequeued because schedule successfully"
WAITS = Problem(Reason.WAITING, "waiting for quota team-a")


class Grants(Ground):
    """A quota of one place, the unit `train` that fits, and the reconciler."""

    def __init__(self) -> None:
        super().__init__(builders.quota(cpu=1))
        self.queue()
        self.job()
        self.reconciler = GrantsReconciler(
            hub=self.hub,
            executor=self.executor,
            teller=self.teller,
            metrics=self.metrics,
            clock=self.clock,
        )

    async def write(self) -> Result:
        return await self.reconciler.reconcile(TRAIN)

    def used(self) -> float:
        return dict(self.book.usage.of("team-a")).get("cpu", 0)

    def waits_observed(self) -> tuple[float | None, float | None]:
        return tuple(
            self.registry.get_sample_value(f"kq_admission_wait_seconds_{each}", {"queue": "team-a"})
            for each in ("count", "sum")
        )  # type: ignore[return-value]


@pytest.fixture
def ground() -> Grants:
    return Grants()


def is_grant(asked: Asked) -> bool:
    return asked.is_write and asked.subresource == "status"


async def test_the_patch_of_a_grant_says_it_all_at_once(ground: Grants) -> None:
    unit = ground.unit()
    ground.clock.move(45)
    ground.grant()
    assert await ground.write() == Result()
    (write,) = filter(is_grant, ground.api.writes)
    assert (write.resource_version, write.uid) == (unit.resource_version, unit.uid)
    now = stamp(0.75)
    said = {"message": S2, "lastTransitionTime": now}
    assert write.body == {
        "status": {
            "phase": "Dequeued",
            "message": S2,
            "admissions": [
                {"name": "main", "replicas": 1, "running": 0, "resources": {"cpu": "1"}}
            ],
            "attempts": 1,
            "podState": {"running": 0, "pending": 0},
            "lastAllocateTime": now,
            "lastUpdateTime": now,
            "conditions": [
                {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", **said},
                {"type": "Admitted", "status": "True", "reason": "Admitted", **said},
                {"type": "PodsReady", "status": "False", "reason": "Pending", **said},
            ],
        }
    }


async def test_an_eviction_of_before_is_over_with_the_grant(ground: Grants) -> None:
    ground.unit(conditions=(condition("Evicted", True, "Deactivated"),))
    ground.grant()
    await ground.write()
    evicted = ground.unit_now().condition("Evicted")
    assert evicted is not None
    assert (evicted.status, evicted.reason) == (False, "QuotaReserved")


async def test_a_grant_that_was_written_brings_its_job_and_counts_on(ground: Grants) -> None:
    ground.unit()
    ground.grant()
    await ground.due()
    await ground.write()
    assert (await ground.due())["job"] == ["team-a/train"]
    assert ground.book.units["team-a/train"].phase is Phase.DEQUEUED
    entry = ground.book.ledger.get("team-a/train")
    assert entry is not None
    assert entry.grant is None
    assert ground.used() == 1000
    await ground.write()
    assert len(ground.api.writes) == 1


async def test_nothing_is_written_where_nothing_was_granted(ground: Grants) -> None:
    assert await ground.write() == Result()
    ground.unit()
    assert await ground.write() == Result()
    assert ground.api.writes == []


# -- events and metric


async def test_a_unit_that_never_waited_gets_one_event(ground: Grants) -> None:
    ground.unit()
    ground.grant()
    await ground.write()
    assert ground.notes.told == ["Normal Scheduled QueueUnit/train: dequeue success"]


async def test_a_unit_that_waited_is_told_for_how_long_and_its_job_too(ground: Grants) -> None:
    ground.unit(told=WAITS)
    ground.clock.move(190)
    ground.grant()
    await ground.write()
    admitted = "Admitted to quota team-a after 3m10s"
    assert ground.notes.told == [
        f"Normal Scheduling QueueUnit/train: {admitted}",
        f"Normal Scheduling Job/train: {admitted}",
        "Normal Scheduled QueueUnit/train: dequeue success",
    ]
    assert ground.waits_observed() == (1.0, 190.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (59, "59s"),
        (60, "1m0s"),
        (3599, "59m59s"),
        (7500, "2h5m"),
        (86400, "1d0h"),
        (352800, "4d2h"),
    ],
)
def test_durations_read_as_kubectl_prints_ages(seconds: int, text: str) -> None:
    assert duration(seconds) == text


# -- what may go wrong


async def test_a_conflict_keeps_the_grant_until_the_newer_version_is_shown(ground: Grants) -> None:
    unit = ground.unit()
    ground.grant()
    ground.api.edit(QUEUE_UNIT, unit.key, {"spec": {"priority": 3}})
    for _ in range(3):
        with pytest.raises(Conflict):
            await ground.write()
        assert ground.used() == 1000
        assert ground.grant() == []
    ground.show_unit()
    await ground.due()
    assert await ground.write() == Result()
    assert ground.used() == 0
    due = await ground.due()
    assert due["queue"] == ["team-a"]
    assert due["job"] == ["team-a/train"]


async def test_after_a_conflict_it_is_granted_again_on_the_newer_version(ground: Grants) -> None:
    unit = ground.unit()
    ground.grant()
    ground.api.edit(QUEUE_UNIT, unit.key, {"spec": {"priority": 3}})
    with pytest.raises(Conflict):
        await ground.write()
    ground.show_unit()
    await ground.write()
    ground.grant()
    await ground.write()
    now = ground.unit_now()
    assert (now.phase, now.attempts, now.priority) == (Phase.DEQUEUED, 1, 3)


async def test_an_error_of_the_server_keeps_the_grant_and_is_tried_again(ground: Grants) -> None:
    ground.unit()
    ground.grant()
    ground.api.fail(ServerError("etcdserver: request timed out", code=500))
    with pytest.raises(ServerError):
        await ground.write()
    assert ground.used() == 1000
    await ground.write()
    assert ground.unit_now().phase is Phase.DEQUEUED


async def test_a_grant_without_answer_that_took_effect_is_found_by_a_read(ground: Grants) -> None:
    ground.unit(told=WAITS)
    ground.grant()
    ground.api.fail(Indeterminate("no answer came"), is_grant, applied=True)
    assert await ground.write() == Result()
    assert [each.short for each in ground.api.asked][-1] == "get queueunits team-a/train"
    assert ground.book.units["team-a/train"] == ground.unit_now()
    assert ground.used() == 1000
    assert "Normal Scheduled QueueUnit/train: dequeue success" in ground.notes.told
    assert ground.waits_observed()[0] == 1.0


async def test_a_grant_without_answer_that_did_nothing_is_taken_back(ground: Grants) -> None:
    ground.unit()
    ground.grant()
    await ground.due()
    ground.api.fail(Indeterminate("no answer came"), is_grant)
    assert await ground.write() == Result()
    assert ground.used() == 0
    assert ground.notes.told == []
    assert (await ground.due())["queue"] == ["team-a"]
    ground.grant()
    await ground.write()
    assert ground.unit_now().attempts == 1


async def test_a_grant_without_answer_counts_until_a_read_tells(ground: Grants) -> None:
    ground.unit()
    ground.grant()
    ground.api.fail(Indeterminate("no answer came"), is_grant, applied=True)
    ground.api.fail(ServerError("not now", code=503), on("get"))
    with pytest.raises(ServerError):
        await ground.write()
    assert ground.used() == 1000
    ground.show_unit()
    assert await ground.write() == Result()
    assert ground.used() == 1000
    assert ground.book.units["team-a/train"] == ground.unit_now()


async def test_after_a_grant_without_answer_a_unit_that_is_gone_holds_nothing(
    ground: Grants,
) -> None:
    unit = ground.unit()
    ground.grant()
    ground.api.fail(Indeterminate("no answer came"), is_grant)
    ground.api.fail(NotFound("not found", code=404), on("get"))
    await ground.write()
    assert ground.used() == 0
    ground.book.lost(unit)
    assert ground.book.units == {}


async def test_another_unit_of_the_name_is_not_taken_for_the_granted_one(ground: Grants) -> None:
    unit = ground.unit()
    ground.grant()
    ground.api.fail(Indeterminate("no answer came"), is_grant)
    ground.api.remove(QUEUE_UNIT, unit.key)
    ground.stored(builders.unit(uid="another", phase=Phase.DEQUEUED))
    await ground.write()
    assert ground.book.units["team-a/train"] == unit
    assert ground.used() == 0


async def test_a_unit_deleted_meanwhile_takes_its_grant_along(ground: Grants) -> None:
    """A 404 alone changes nothing: the watch will show the end, and no cycle grants it again."""
    unit = ground.unit()
    ground.grant()
    ground.api.remove(QUEUE_UNIT, unit.key)
    assert await ground.write() == Result()
    assert ground.grant() == []
    ground.book.lost(unit)
    assert ground.book.units == {}
    assert dict(ground.book.usage.of("team-a")) == dict(amounts())
    assert ground.notes.told == []


async def test_a_grant_on_an_older_version_is_not_even_tried(ground: Grants) -> None:
    unit = ground.unit()
    ground.grant()
    ground.api.edit(QUEUE_UNIT, unit.key, {"spec": {"priority": 3}})
    ground.show_unit()
    assert await ground.write() == Result()
    assert ground.api.writes == []
    assert ground.used() == 0


# -- refused for what it says


async def test_a_grant_that_is_refused_for_good_is_given_back_after_some_tries(
    ground: Grants,
) -> None:
    ground.unit()
    ground.grant()
    ground.api.fail(Forbidden("not here"), is_grant, times=100)
    for _ in range(9):
        with pytest.raises(Forbidden):
            await ground.write()
    assert ground.used() == 1000
    ground.notes.take()
    assert await ground.write() == Result(requeue_after=60)
    assert ground.used() == 0
    text = (
        "the API server refused to note a grant: not here; correct the rule that refuses it; "
        "it is tried again by itself"
    )
    assert ground.notes.take() == [
        f"Warning UnitRefused QueueUnit/train: {text}",
        f"Warning UnitRefused Job/train: {text}",
    ]
    assert ground.book.verdict("team-a/train") == Problem(Reason.MISCONFIGURED, text)
    ground.show_unit()
    assert ground.grant() == []


async def test_it_is_tried_again_ever_later_and_granted_once_it_may_be(ground: Grants) -> None:
    ground.unit()
    ground.grant()
    ground.api.fail(Forbidden("not here"), is_grant, times=12)
    for _ in range(9):
        with pytest.raises(Forbidden):
            await ground.write()
    for seconds in (60, 120, 240):
        assert await ground.write() == Result(requeue_after=seconds)
        assert ground.grant() == []
        assert await ground.write() == Result()
        assert "team-a" in (await ground.due())["queue"]
        assert len(ground.grant()) == 1
    assert await ground.write() == Result()
    assert ground.status()["phase"] == "Dequeued"
    assert ground.used() == 1000


async def test_a_unit_made_anew_is_granted_at_once(ground: Grants) -> None:
    unit = ground.unit()
    ground.grant()
    ground.api.fail(Forbidden("not here"), is_grant, times=10)
    for _ in range(9):
        with pytest.raises(Forbidden):
            await ground.write()
    await ground.write()
    ground.book.lost(unit)
    ground.unit(uid="another")
    assert len(ground.grant()) == 1
