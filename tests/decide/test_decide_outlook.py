"""What is free for whom while others give back and wait for it (spec 13.6)."""

import pytest
from builders import amounts, at, book, condition, job_view, queue, quota, running_job, unit

from kq.core import keys, messages
from kq.core.model import Phase
from kq.core.plugins import Level
from kq.decide.grounds import Grounds, Promise
from kq.decide.outlook import Outlook
from kq.decide.victims import Holder

TOP = Level(name="top", limit=amounts(cpu=6), minimum=amounts())


def outlook(*asked: int, leaving: int) -> Outlook:
    """Of a pass beside units of another Queue, of priority 2, that wait for so much each."""
    going = Holder(
        key="going", queue="a", quota="a", priority=0, allocated=0.0, charge=amounts(cpu=leaving)
    )
    return Outlook(
        Grounds(
            queue="a",
            preempts=True,
            holders=list,
            leaving=[going],
            promises=[
                Promise(unit=f"b{number}", priority=2, chain=[TOP], request=amounts(cpu=cpu))
                for number, cpu in enumerate(asked)
            ],
            chain_of=lambda quota: [TOP],
            takes_none=lambda key: False,
            has_running=lambda key: False,
        )
    )


@pytest.mark.parametrize(
    ("asked", "priority", "free"),
    [
        pytest.param([1], 1, 0, id="what is there is theirs"),
        pytest.param([1], 2, 1, id="an equal one passes them"),
        pytest.param([2], 1, 1, id="one for whom it is not enough waits for more"),
        pytest.param([2, 1], 1, 0, id="another one may have that"),
        pytest.param([1, 1], 1, 0, id="only so much is there"),
    ],
)
def test_what_others_could_have_at_once_is_not_free_for_lower_ones(asked, priority, free):
    """Though more is coming than they ask: 1 cpu is free, and 3 are on their way."""
    in_use = 5000
    kept = outlook(*asked, leaving=3).kept(lambda level, resource: in_use, priority)
    assert kept("top", "cpu") == TOP.limit.get("cpu") - 1000 * free


def test_all_who_wait_for_one_that_leaves_are_told_its_name():
    """It gives more than the first of them asks."""
    marks = {keys.ENABLE_PREEMPTION[0]: "true"}
    units = [unit(name, cpu=1, priority=5) for name in ("one", "two")]
    low = unit("low", cpu=4, phase=Phase.RUNNING)
    jobs = [running_job("low"), *(job_view(each.name) for each in units)]
    known = book(quota(cpu=4), views=[queue(annotations=marks), *jobs, low, *units])
    assert list(known.cycle("team-a", at(10))) == []
    told = messages.m12("team-a", ["team-a/low"])
    assert [known.verdict(each.key).message for each in units] == [told, told]


def test_one_that_is_granted_anew_gives_nothing_back():
    """Its conditions are still those of its eviction, until the grant is written."""
    marks = {keys.ENABLE_PREEMPTION[0]: "true"}
    left = (
        condition("Evicted", True, "Preempted", "x"),
        condition("QuotaReserved", False, "Pending", "x"),
    )
    views = [queue(annotations=marks), job_view("back"), unit("back", cpu=4, conditions=left)]
    known = book(quota(cpu=4), views=views)
    [granted] = known.cycle("team-a", at(10))
    assert granted.condition("Evicted").status
    known.saw(job_view("next"))
    known.saw(unit("next", cpu=1, priority=0))
    assert list(known.cycle("team-a", at(10))) == []
    assert known.verdict("team-a/next").message.startswith("waiting for quota team-a")
