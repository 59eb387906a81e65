"""What is firm is nobody's to read: people see the resource that it is of (spec 11.13)."""

from typing import Any

import builders
import pytest
from builders import amounts
from queue_status import Status
from test_reconcile_gather import LABELLED, Gathering
from test_reconcile_usagemarks import FIRM, Marked, cpu

from kq.core import keys
from kq.core.model import Grant, Phase
from kq.core.resources import firm
from kq.reconcile.shown import samples

RUNS = {"phase": Phase.RUNNING, "labels": {keys.QUOTA_LABEL: "team-a", **FIRM}}


async def test_the_status_of_a_queue_shows_what_its_quota_limits() -> None:
    """Not what min alone names."""
    quota = builders.quota(cpu=8, minimum=amounts(cpu=4, memory="1Gi"))
    ground = Status(quota, firm_within_min=True)
    ground.waiting(pod_sets=(builders.pod_set(cpu=1, memory="1Mi"),), **RUNS)
    assert (await ground.written())["usage"] == {"cpu": "1"}


def test_metrics_show_a_quota_once() -> None:
    quota = builders.quota(cpu=8, minimum=amounts(cpu=4))
    runs = builders.unit("a", cpu=2, **RUNS)
    views = (builders.running_job("a"), runs)
    shown = samples(builders.book(quota, views=views, firm_within_min=True))
    found = [each for each in shown if each[0].startswith("kq_quota") and each[1][1] == "cpu"]
    assert found == [
        ("kq_quota_limit", ("team-a", "cpu"), 8.0),
        ("kq_quota_min", ("team-a", "cpu"), 4.0),
        ("kq_quota_usage", ("team-a", "cpu"), 2.0),
    ]


class Bounded(Marked):
    """The same where min bounds what nobody may preempt."""

    def __init__(self) -> None:
        super().__init__()
        known = list(self.book.quotas.quotas.values())  # type: ignore[attr-defined]
        bounded = builders.quotas(*known, firm_within_min=True)
        self.book.set_quotas(bounded, structure_changed=True)


async def test_annotations_show_the_same_as_where_min_bounds_nobody() -> None:
    shown = []
    for ground in (Marked(), Bounded()):
        asked = builders.pod_set(cpu="500m", memory="1Mi")
        ground.runs("own")
        ground.runs("firm", labels=FIRM, pod_sets=(asked,))
        shown.append(await ground.marks())
    assert shown[1]["guaranteed-used"] == cpu(500, 1 << 20)
    assert shown[0] == shown[1]


@pytest.mark.parametrize(("labels", "expected"), [({}, None), (FIRM, 1000)])
async def test_a_job_whose_unit_is_about_to_be_made_asks_for_its_part_of_min(
    labels: dict[str, str], expected: int | None
) -> None:
    ground = Gathering(firm_within_min=True)
    place = ground.gatherer.place_of(
        builders.job_view(labels={**LABELLED, **labels}, suspended=True)
    )
    assert place is not None
    asked: dict[str, Any] = dict(place.request.items())
    assert asked.get(firm("cpu")) == expected
    assert asked["cpu"] == 1000


async def test_a_job_that_was_scaled_up_above_min_is_told_of() -> None:
    """Spec 9.17: it stays, and nobody else of its kind starts."""
    ground = Gathering(firm_within_min=True)
    quota = builders.quota(cpu=9, minimum=amounts(cpu=3))
    ground.book.set_quotas(builders.quotas(quota, firm_within_min=True), structure_changed=True)
    mine = builders.unit("train", replicas=4, grants=(Grant("main", 3),), **RUNS)
    ground.book.saw(mine)
    running = builders.job_view(suspended=False, labels={**LABELLED, **FIRM})
    assert (await ground.now(running, mine)).overdraft == (
        "team-a/train was scaled up, so quota team-a is above its min: 4 cpu in use, "
        "min is 3 for jobs that are not preemptible; none of those starts there"
    )
