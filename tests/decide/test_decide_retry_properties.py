"""Back-offs over random histories, and the line against a naive list (spec 10.19)."""

from datetime import timedelta

from builders import quota, unit
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from retry_scene import BACKOFF, STRICT, Scene, seconds

from kq.core.plugins import HIGH, Problem
from kq.core.resources import ZERO
from kq.decide.retry import Failure, Pace, end_of
from kq.decide.waiting import WaitingList

PACE = Pace(timedelta(seconds=1), timedelta(seconds=20))


class AgainstAList(RuleBasedStateMachine):
    """A line in which some rest: as a naive list of units that each know their own state."""

    def __init__(self):
        super().__init__()
        self.line = WaitingList()
        self.units = {}
        self.now = 0.0

    @rule(
        place=st.tuples(st.integers(-1, 0), st.just(1.0), st.sampled_from("abcdefghij")),
        quota=st.sampled_from("xy"),
    )
    def add(self, place, quota):
        if place not in self.units:
            self.line.add(place, (quota, ZERO, 0), None)
            self.units[place] = {"quota": quota, "failures": 0, "until": None, "told": None}

    @precondition(lambda self: self.units)
    @rule(data=st.data())
    def remove(self, data):
        place = data.draw(st.sampled_from(sorted(self.units)))
        self.line.remove(place)
        del self.units[place]

    @precondition(lambda self: list(self.line.shapes()))
    @rule(data=st.data())
    def fail(self, data):
        shape = data.draw(st.sampled_from(list(self.line.shapes())))
        first = data.draw(st.sampled_from(shape.line))
        last = data.draw(st.none() | st.sampled_from(shape.line))
        if last is not None and last < first:
            return
        failed = [each for each in shape.line if first <= each and (last is None or each <= last)]
        left = [each for each in shape.line if each not in failed]
        said = Problem("BackOff", f"rests {self.now}")
        shape.judge(first, said, said)
        self.line.rest(Failure(shape, first, last, Problem("W", "waits")), PACE, seconds(self.now))
        for each in failed:
            mine = self.units[each]
            mine["failures"] = PACE.one_more(mine["failures"])
            mine["until"] = end_of(seconds(self.now), PACE.after(mine["failures"]))
            mine["told"] = said
        for each in left:
            self.units[each]["told"] = Problem("W", "waits")
        self.line.tell_news()

    @rule(later=st.sampled_from((0.04, 1.0, 3.0)))
    def rouse(self, later):
        self.now += later
        self.line.rouse(seconds(self.now))
        for mine in self.units.values():
            if mine["until"] is not None and mine["until"] <= seconds(self.now):
                mine["until"] = None

    @rule(quotas=st.none() | st.sets(st.sampled_from("xy")))
    def end(self, quotas):
        self.line.end_back_offs(quotas)
        for mine in self.units.values():
            if quotas is None or mine["quota"] in quotas:
                mine["until"] = None

    @invariant()
    def those_who_are_tried_are_those_who_do_not_rest(self):
        tried = {(each, s.failures) for s in self.line.shapes() for each in s.line}
        mine = {(p, u["failures"]) for p, u in self.units.items() if u["until"] is None}
        assert tried == mine
        assert self.line.first(99, HIGH) == sorted(place for place, _ in mine)
        assert all(shape.line == sorted(shape.line) for shape in self.line.shapes())
        assert list(self.line.in_order()) == sorted(self.units)
        assert [self.line.position(each) for each in sorted(self.units)] == [
            number + 1 for number in range(len(self.units))
        ]
        ends = [u["until"] for u in self.units.values() if u["until"] is not None]
        assert self.line.next_end == min(ends, default=None)
        assert self.line.quotas() == {u["quota"] for u in self.units.values()}


TestAgainstAList = AgainstAList.TestCase
TestAgainstAList.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


class History(Scene):
    """A Scene that looks at the Queue whenever something has woken it, and checks each pass."""

    def __init__(self, policy, retry):
        super().__init__(retry=retry, policy=policy)
        self.policy = policy
        self.now = 0.0
        self.limit = 4

    def does(self, number, what, cpu, priority):
        match what:
            case "submit":
                self.add(unit(f"u{number}", cpu=cpu, priority=priority, minute=number))
            case "end":
                held = sorted(key for key, each in self.book.units.items() if each.holds_quota)
                for key in held[:cpu]:
                    self.book.lost(self.book.units[key])
            case "more":
                self.limit += 1
                self.set_quota(quota(cpu=self.limit))
            case "time":
                self.passes(self.now + cpu / 2)
        self.look()

    def passes(self, until):
        """Looks at the Queue whenever a back-off is over."""
        while (due := self.next_end()) is not None and due <= until:
            self.now = due
            self.look()
        self.now = until

    def look(self):
        order = [place[2].partition("/")[2] for place in self.book.places.in_order("team-a")]
        started = self.cycle(self.now)
        assert self.free() >= 0
        if self.policy == "Block":
            assert started == order[: len(started)]

    def free(self):
        return self.limit * 1000 - self.book.usage.of("team-a").get("cpu", 0)

    def fitting(self):
        """Those who wait although they would fit."""
        waiting = [self.book.units[each[2]] for each in self.book.places.in_order("team-a")]
        return [each.name for each in waiting if each.resource.get("cpu") <= self.free()]


@settings(max_examples=80, deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(("submit", "submit", "submit", "end", "time", "more")),
            st.integers(1, 4),
            st.integers(0, 9),
        ),
        max_size=14,
    ),
    policy=st.sampled_from(("Priority", "Block", "Intelligent")),
    retry=st.sampled_from((BACKOFF, STRICT)),
)
def test_nothing_is_lost_and_nobody_overtakes_in_mode_backoff(steps, policy, retry):
    """Spec 10.19, 24.1, 10.10: whoever fits has started when its back-off is over, Block is never
    overtaken, no quota exceeded; and StrictConsistency leaves nobody who fits in back-off."""
    history = History(policy, retry)
    for number, step in enumerate(steps):
        history.does(number, *step)
        assert retry is BACKOFF or policy != "Priority" or history.fitting() == []
    history.passes(history.now + 20.1)
    assert policy != "Priority" or history.fitting() == []
