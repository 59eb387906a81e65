"""What follows from a drained Queue, and in which order Queues are looked at (3.1, 10.17)."""

import builders
import pytest
from builders import changed, job_view
from shells import Ground, drained
from test_reconcile_gather import LABELLED, Gathering
from wired import WAITS, WORLD, Wired, job_of

from kq.core import keys
from kq.core.model import Phase
from kq.decide.situation import Situation

SHUT = changed(builders.queue(), stop_policy="HoldAndDrain")


# -- who is looked at


@pytest.mark.looptime
async def test_a_queue_that_is_drained_has_those_looked_at_that_hold_quota_in_it() -> None:
    ground = await Wired().settled(*WORLD)
    ground.see(SHUT)
    holding = [
        job_of(each)
        for each in ground.book.units.values()
        if each.holds_quota and ground.book.queue_of(each.key) == "team-a"
    ]
    assert holding
    assert (await ground.woken())["job"] == sorted(holding)
    ground.see(changed(SHUT, counts=(1, 0, 0)))
    assert "job" not in await ground.woken()
    ground.see(changed(SHUT, stop_policy="None"))  # what could not be stopped need not, now
    assert (await ground.woken())["job"] == sorted(holding)


@pytest.mark.looptime
async def test_a_queue_that_only_starts_nobody_has_nobody_looked_at() -> None:
    ground = await Wired().settled(*WORLD, WAITS)
    ground.see(changed(builders.queue(), stop_policy="Hold"))
    assert "job" not in await ground.woken()


@pytest.mark.parametrize(("stop_policy", "looked_at"), [("HoldAndDrain", 1), ("Hold", 0)])
async def test_one_that_comes_to_run_in_a_drained_queue_is_looked_at(
    stop_policy: str, looked_at: int
) -> None:
    """Our own write of a running unit wakes its job else for nothing."""
    ground = Ground(builders.quota(cpu=4))
    ground.queue(spec={"stopPolicy": stop_policy})
    ground.job()
    runs = ground.unit(phase=Phase.RUNNING)
    await ground.due()
    ground.hub.wrote(runs, ground.book.ledger.sending(runs.key))
    assert len((await ground.due()).get("job", [])) == looked_at


# -- what its plan rests on


async def situation_of(ground: Gathering, phase: Phase, quota: str = "team-a") -> Situation:
    unit = ground.unit(phase=phase, quota=quota)
    return await ground.now(job_view(labels=LABELLED), unit)


@pytest.mark.parametrize(
    ("stop_policy", "drained_by"), [("None", ""), ("Hold", ""), ("HoldAndDrain", "team-a")]
)
async def test_by_which_queue_a_unit_is_drained(stop_policy: str, drained_by: str) -> None:
    ground = Gathering()
    ground.queue(spec={"stopPolicy": stop_policy})
    assert (await situation_of(ground, Phase.RUNNING)).drained_by == drained_by


async def test_a_unit_in_another_queue_is_not_drained() -> None:
    ground = Gathering()
    ground.queue(spec={"stopPolicy": "HoldAndDrain"})
    ground.queue("special")
    unit = ground.unit(
        phase=Phase.RUNNING,
        annotations={**builders.unit().annotations, keys.QUEUE_NAME[0]: "special"},
    )
    assert (await ground.now(job_view(labels=LABELLED), unit)).drained_by == ""


@pytest.mark.parametrize(
    ("phase", "quota", "moves"),
    [
        pytest.param(Phase.RESERVED, "other", True, id="reserved for another quota"),
        pytest.param(Phase.RESERVED, "team-a", False, id="reserved for its own"),
        pytest.param(Phase.DEQUEUED, "other", False, id="let go"),
        pytest.param(Phase.ENQUEUED, "other", False, id="it holds nothing"),
    ],
)
async def test_only_a_reservation_moves(phase: Phase, quota: str, moves: bool) -> None:
    """Spec 2.8: the quota of a job that is held may change; its unit gives the old one up first."""
    assert (await situation_of(Gathering(), phase, quota)).moves is moves


# -- in which order


async def test_queues_woken_by_one_event_have_their_cycles_in_that_order() -> None:
    """Spec 10.17, as far as the work queue: priority, share of min, age of the head, name."""
    names = {"z-first": 9, "m-old": 0, "a-young": 0, "b-young": 0, "c-last": -1}
    root = builders.quota("root", cpu=1)
    below = [builders.quota(each, parent="root") for each in names]
    holder = builders.unit("holder", quota="c-last", phase=Phase.RUNNING)
    heads = [
        builders.unit(f"of-{each}", quota=each, minute=0 if each == "m-old" else 1)
        for each in names
    ]
    queues = [builders.queue(each, priority=n) for each, n in names.items()]
    jobs = [job_view(each.name) for each in (holder, *heads)]
    ground = Ground(root, *below, views=(*queues, *jobs, holder, *heads))
    for name in names:
        ground.book.cycle(name, ground.clock())
    ground.book.lost(holder)
    ground.hub.pump()
    found = [each.name for each in await drained(ground.queues.queue)]
    assert found == ["z-first", "m-old", "a-young", "b-young", "c-last"]
