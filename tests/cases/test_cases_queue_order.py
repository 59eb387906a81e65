"""Cases of queue order that are decided in one pass, with the order of attempts looked at."""

import pytest
from builders import at, book, changed, job_view, queue, quota, running_job, unit

from kq.core import keys
from kq.core.model import Phase
from kq.decide.queuesettings import faults
from kq.policies import POLICIES

A = "team-a"
OVER = {"phase": Phase.SUCCEED, "raw_phase": "Succeed", "grants": ()}


class Line:
    """A quota of so much cpu and its Queue; one job has some of it."""

    def __init__(self, cpu: int, used: int, policy: str, **marks: str) -> None:
        named = {f"koord-queue/{key.replace('_', '-')}": text for key, text in marks.items()}
        self.holder = unit("r", cpu=used, phase=Phase.RUNNING)
        views = [queue(policy=policy, annotations=named), running_job("r"), self.holder]
        self.book = book(quota(cpu=cpu), views=views)
        self.minute = 0

    def submit(self, name: str, cpu: int, priority: int, minute: float | None = None) -> None:
        self.minute += 1
        since = self.minute if minute is None else minute
        self.book.saw(job_view(name))
        self.book.saw(unit(name, cpu=cpu, priority=priority, minute=since))

    def cycle(self) -> list[str]:
        self.book.take_woken()
        return [each.name for each in self.book.cycle(A, at(self.minute))]

    def told(self, name: str) -> str:
        verdict = self.book.verdict(f"{A}/{name}")
        return verdict.message if verdict else ""

    def give_back(self) -> None:
        """The job ends that had some of it."""
        self.book.saw(changed(self.holder, **OVER))


def stuck() -> Line:
    """D4: threshold 5, 2 cpu free."""
    line = Line(10, 8, "Intelligent", priority_threshold="5")
    line.submit("h1", 8, 9)
    line.submit("h2", 1, 7)
    line.submit("l1", 8, 4)
    line.submit("l2", 1, 0)
    return line


def test_d4_the_high_head_is_not_passed_and_low_ones_take_nothing_that_it_waits_for() -> None:
    """Case D4, spec 10.11: a stuck high list stops low ones that ask for what it waits for."""
    line = stuck()
    assert line.cycle() == []
    assert line.told("h1").startswith("waiting for quota team-a: 8 cpu requested")
    assert "strictly in order" in line.told("h2")
    assert line.told("l1").startswith("waiting for quota team-a: 8 cpu requested")
    assert line.told("l2") == "high-priority units of quota team-a go first"
    for _ in range(5):
        assert line.cycle() == []


def test_d4_a_new_high_one_is_looked_at_before_the_next_low_one() -> None:
    """Case D4: it goes before low ones that came long before it, though behind h1."""
    line = Line(10, 8, "Intelligent", priority_threshold="5", max_depth="1")
    line.submit("l1", 1, 4, minute=-9)
    line.submit("l2", 1, 3, minute=-8)
    line.submit("new", 1, 5)
    assert line.cycle() == ["new"]
    assert line.cycle() == ["l1"]
    assert line.cycle() == []


def test_d4_low_ones_give_way_to_the_next_and_start_when_the_high_ones_have() -> None:
    """Case D4: h1 first, then h2, then the low one that fits, though l1 stands before it."""
    line = stuck()
    line.cycle()
    line.give_back()
    assert line.cycle() == ["h1", "h2", "l2"]


@pytest.mark.parametrize("free", [1, 2, 3, 5])
@pytest.mark.parametrize("asks", [6, 7, 8])
def test_d4_whatever_is_free_the_low_one_never_has_what_the_high_one_lacks(
    free: int, asks: int
) -> None:
    """Case D4, with other sizes: what is left beside a high one that fits is for low ones."""
    line = Line(10, 10 - free, "Intelligent", priority_threshold="5")
    line.submit("high", asks, 5)
    line.submit("low", 1, 4)
    assert line.cycle() == []
    line.give_back()
    assert line.cycle() == ["high", "low"]


@pytest.mark.parametrize("order", [("r1", "r2"), ("r2", "r1")])
@pytest.mark.parametrize("together", [True, False])
def test_d2_who_ends_first_makes_no_difference_to_the_highest(order, together) -> None:
    """Case D2, both orders; if both end before the next pass it is the high one that starts."""
    line = Line(8, 0, "Priority")
    held = {name: unit(name, cpu=4, phase=Phase.RUNNING) for name in ("r1", "r2")}
    for name, each in held.items():
        line.book.saw(running_job(name))
        line.book.saw(each)
    line.submit("hi", 8, 10)
    for number in range(1, 10):
        line.submit(f"lo{number}", 4, 1)
    assert line.cycle() == []
    started = []
    for name in order:
        line.book.saw(changed(held[name], **OVER))
        if not together:
            started += line.cycle()
    started += line.cycle() if together else []
    assert started == (["hi"] if together else ["lo1", "lo2"])


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("priority_threshold", "abc"),
        ("max_depth", "-3"),
        ("max_depth", "0"),
    ],
)
def test_d6_a_bad_mark_counts_as_none(mark: str, text: str) -> None:
    """Case D6: threshold 4, no depth."""
    line = Line(4, 3, "Intelligent", **{mark: text})
    for number in range(5):
        line.submit(f"low{number}", 4, 3)
    line.submit("fits", 1, 0)
    assert line.cycle() == ["fits"]
    line = Line(4, 3, "Intelligent", **{mark: text})
    line.submit("high", 4, 4)
    line.submit("low", 1, 3)
    assert line.cycle() == []


@pytest.mark.parametrize("spelling", [0, 1], ids=["ours", "kube-queue's"])
@pytest.mark.parametrize(
    ("marks", "text", "told"),
    [
        (keys.THRESHOLD, "abc", "is abc, not a whole number: treated as 4"),
        (keys.THRESHOLD, "4.0", "is 4.0, not a whole number: treated as 4"),
        (keys.THRESHOLD, "-3", ""),
        (keys.MAX_DEPTH, "-3", "is -3, not a whole number of 0 or more: treated as no limit"),
        (keys.MAX_DEPTH, "3k", "is 3k, not a whole number of 0 or more: treated as no limit"),
        (keys.MAX_DEPTH, "0", ""),
    ],
)
def test_d6_a_bad_mark_is_told_and_one_that_says_no_limit_is_not(
    marks: tuple[str, ...], text: str, told: str, spelling: int
) -> None:
    """Case D6, spec 10.12: 0 is how no limit is written."""
    key = marks[spelling]
    found = faults(queue(annotations={key: text}), tuple(POLICIES))
    assert found == ((f"{key} {told}",) if told else ())


@pytest.mark.parametrize("policy", ["priority", "Fifo", "", "Round"])
def test_d6_an_unknown_policy_is_priority(policy: str) -> None:
    """Case D6, spec 10.6: what does not fit is passed."""
    line = Line(4, 3, policy)
    line.submit("big", 4, 9)
    line.submit("fits", 1, 0)
    assert line.cycle() == ["fits"]


@pytest.mark.parametrize("policy", ["Priority", "Block", "Intelligent"])
def test_d7_the_queue_goes_on_however_its_predecessor_ends(policy: str) -> None:
    """Case D7: deleted, failed, preempted, timed out."""
    gone = [None, Phase.FAILED, Phase.ENQUEUED, Phase.BACKOFF]
    for phase in gone:
        line = Line(9, 0, policy, **{keys.WAIT_FOR_PODS[0].partition("/")[2]: "true"})
        line.book.lost(line.holder)
        u1 = unit("u1", cpu=1, priority=9, phase=Phase.DEQUEUED)
        line.book.saw(running_job("u1", pods_active=0))
        line.book.saw(u1)
        line.submit("u2", 1, 0)
        assert line.cycle() == []
        if phase is None:
            line.book.lost(u1)
            line.book.lost(running_job("u1"))
        else:
            active = phase is not Phase.ENQUEUED
            over = {"phase": phase, "raw_phase": phase.value, "grants": (), "active": active}
            line.book.saw(changed(u1, **over))
        assert line.cycle() == ["u2"]
