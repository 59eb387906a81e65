"""Usage in the annotations in which koord-queue shows it (spec 3.10)."""

import json
from typing import Any

import builders
import pytest
from api import Json, on
from builders import INSTALL_NAMESPACE, amounts, job_view
from queue_status import TEAM, Status

from kq.core import keys
from kq.core.kinds import QUEUE
from kq.core.model import Phase
from kq.kube.errors import Conflict, NotFound
from kq.reconcile.usagemarks import UsageMarks

FIRM = {keys.PREEMPTIBLE_LABELS[0]: "false"}


class Marked(Status):
    """A parent quota with a child, and their Queues; usage is shown."""

    def __init__(self, *, preemptible: bool = True, shows: bool = True) -> None:
        super().__init__(
            builders.quota("team-a", limit=amounts(cpu=8, memory="1Gi")),
            builders.quota("child", parent="team-a", limit=amounts(cpu=4)),
        )
        self.queue("child")
        marks = UsageMarks(
            client=self.api,  # type: ignore[arg-type]
            hub=self.hub,
            preemptible=preemptible,
            monotonic=self.clock.monotonic,
        )
        self.reconciler._marks = marks if shows else None

    def runs(self, name: str, quota: str = "team-a", **fields: Any) -> None:
        labels = {keys.QUOTA_LABEL: quota, **fields.pop("labels", {})}
        self.waiting(name, phase=Phase.RUNNING, quota=quota, labels=labels, **fields)

    async def marks(self, name: str = "team-a") -> Json:
        """What the Queue shows once all is written, by what follows `queue-`."""
        for _ in range(3):
            while left := await self.look(name=name):
                self.clock.move(left)
            self.show_queue(name)
        found = self.api.find(QUEUE, f"{INSTALL_NAMESPACE}/{name}")["metadata"]["annotations"]
        return {
            key.partition("/queue-")[2]: json.loads(found[key])
            for key in keys.USAGE_ANNOTATIONS
            if key in found
        }

    def marking(self) -> int:
        return [each.short for each in self.writes()].count(f"patch queues {TEAM}")


def cpu(milli: int, memory: int | None = 0) -> dict[str, int]:
    return {"cpu": milli} | ({} if memory is None else {"memory": memory})


async def test_the_six_of_them_say_what_is_used_of_a_quota_its_own_and_below() -> None:
    """cpu in thousandths, all else in whole units; firm is what nobody may preempt."""
    ground = Marked()
    ground.runs("own")
    asked = builders.pod_set(cpu="500m", memory="1Mi")
    ground.runs("firm", labels=FIRM, pod_sets=(asked,))
    ground.runs("below", "child", labels=FIRM, cpu=2)
    assert await ground.marks() == {
        "used": cpu(3500, 1 << 20),
        "self-used": cpu(1500, 1 << 20),
        "children-used": cpu(2000),
        "guaranteed-used": cpu(2500, 1 << 20),
        "self-guaranteed-used": cpu(500, 1 << 20),
        "children-guaranteed-used": cpu(2000),
    }
    child = await ground.marks("child")
    assert (child["used"], child["children-used"]) == (cpu(2000, None), cpu(0, None))


async def test_what_counts_for_those_who_say_nothing_of_it_is_set() -> None:
    ground = Marked(preemptible=False)
    ground.runs("own")
    assert (await ground.marks())["guaranteed-used"] == cpu(1000)


async def test_they_are_written_at_most_once_a_minute_and_only_if_they_differ() -> None:
    ground = Marked()
    await ground.marks()
    started = ground.clock.seconds
    before = ground.marking()
    await ground.marks()
    assert ground.marking() == before
    ground.runs("own")
    assert (await ground.marks())["used"] == cpu(1000)
    assert ground.marking() == before + 1
    assert 60 <= ground.clock.seconds - started <= 66


async def test_none_is_written_where_nobody_asked_for_them() -> None:
    ground = Marked(shows=False)
    ground.runs("own")
    found = ground.api.find(QUEUE, TEAM)["metadata"]
    await ground.written()
    assert "annotations" not in found


async def test_a_queue_made_by_hand_has_no_quota_to_tell_of() -> None:
    ground = Marked()
    ground.queue("special", metadata={"annotations": {"a": "b"}})
    assert await ground.marks("special") == {}


async def test_they_change_nothing_of_how_the_queue_is_worked_off() -> None:
    """An annotation that kq itself reports wakes no cycle."""
    ground = Marked()
    job_view("own")
    ground.runs("own")
    await ground.due()
    await ground.marks()
    assert "queue" not in await ground.due()


@pytest.mark.parametrize("after", [NotFound("gone", code=404), Conflict("old", code=409)])
async def test_a_write_that_fails_is_tried_again(after: Exception) -> None:
    ground = Marked()
    await ground.written()
    ground.clock.move(6)
    ground.api.fail(after, on("patch"))
    try:
        await ground.look()
    except Conflict:
        assert isinstance(after, Conflict)
    assert (await ground.marks())["used"] == cpu(0)
