"""The line of one Queue: order, places, shapes, and who was told what; against a naive list."""

from builders import amounts
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kq.core.plugins import Problem
from kq.decide.waiting import WaitingList

SMALL, LARGE = amounts(cpu=1), amounts(cpu=8)
M1, M2, M8 = Problem("WaitingForQuota", "M1"), Problem("ExceedsMax", "M2"), Problem("Blocked", "M8")

places = st.tuples(st.integers(-2, 0), st.sampled_from((1.0, 2.0)), st.sampled_from("abcdefgh"))
problems = st.sampled_from((None, M1, M8))


class AgainstAList(RuleBasedStateMachine):
    """Whatever is added, removed, judged and told, in whatever order."""

    def __init__(self):
        super().__init__()
        self.line = WaitingList()
        self.naive = {}
        self.judged = {}

    @rule(
        place=places,
        quota=st.sampled_from("xy"),
        request=st.sampled_from((SMALL, LARGE)),
        told=problems,
    )
    def add(self, place, quota, request, told):
        if place not in self.naive:
            self.line.add(place, (quota, request, 0), told)
            self.naive[place] = [(quota, request), told]

    @precondition(lambda self: self.naive)
    @rule(data=st.data())
    def remove(self, data):
        place = data.draw(st.sampled_from(sorted(self.naive)))
        self.line.remove(place)
        shape = self.naive.pop(place)[0]
        if self.judged.get(shape, (None,))[0] == place:
            self.judged[shape] = (None, *self.judged[shape][1:])
        if shape not in {known for known, _ in self.naive.values()}:
            self.judged.pop(shape, None)

    @precondition(lambda self: self.naive)
    @rule(data=st.data(), head_verdict=st.sampled_from((M1, M2)), rest=st.sampled_from((M1, M8)))
    def judge(self, data, head_verdict, rest):
        shape = data.draw(st.sampled_from(list(self.line.shapes())))
        head = data.draw(st.none() | st.sampled_from(shape.line))
        shape.judge(head, head_verdict, rest)
        self.judged[shape.id[:2]] = (head, head_verdict, rest)

    @rule()
    def tell_all(self):
        for shape in list(self.line.shapes()):
            for place in shape.untold():
                self.line.tell(place, shape.verdict(place))
                self.naive[place][1] = self.verdict(place)

    @precondition(lambda self: self.naive)
    @rule(data=st.data(), told=problems)
    def tell(self, data, told):
        place = data.draw(st.sampled_from(sorted(self.naive)))
        self.line.tell(place, told)
        self.naive[place][1] = told

    def verdict(self, place):
        head, head_verdict, rest = self.judged.get(self.naive[place][0], (None, None, None))
        return head_verdict if place == head else rest

    @invariant()
    def it_is_the_same_list(self):
        assert len(self.line) == len(self.naive)
        assert list(self.line.in_order()) == sorted(self.naive)
        found = {shape.id[:2]: shape.line for shape in self.line.shapes()}
        shapes = {shape for shape, _ in self.naive.values()}
        assert found == {
            shape: sorted(place for place, (of, _) in self.naive.items() if of == shape)
            for shape in shapes
        }

    @invariant()
    def positions_count_from_one(self):
        for position, place in enumerate(sorted(self.naive), start=1):
            assert self.line.position(place) == position

    @invariant()
    def verdicts_and_who_knows_them(self):
        untold = {place for shape in self.line.shapes() for place in shape.untold()}
        for place, (shape, told) in self.naive.items():
            verdict = self.verdict(place)
            assert self.line.verdict(place) == verdict
            assert (place in untold) == (shape in self.judged and told != verdict)


AgainstAList.TestCase.settings = settings(
    settings.default, max_examples=settings.default.max_examples // 3
)
TestAgainstAList = AgainstAList.TestCase


@given(st.lists(places, unique=True))
def test_units_come_in_order_whatever_their_shapes(given_places):
    line = WaitingList()
    for number, place in enumerate(given_places):
        line.add(place, ("xy"[number % 2], SMALL, 0), None)
    assert list(line.in_order()) == sorted(given_places)


def test_nobody_is_told_anything_before_the_first_cycle():
    line = WaitingList()
    line.add((0, 1.0, "a"), ("x", SMALL, 0), None)
    (shape,) = line.shapes()
    assert shape.untold() == []
    assert line.verdict((0, 1.0, "a")) is None


def test_one_more_of_a_known_shape_knows_nothing_yet():
    line = WaitingList()
    line.add((0, 1.0, "a"), ("x", SMALL, 0), M1)
    (shape,) = line.shapes()
    shape.judge((0, 1.0, "a"), M1, M8)
    line.add((0, 2.0, "b"), ("x", SMALL, 0), None)
    assert shape.untold() == [(0, 2.0, "b")]
    assert (shape.quota, shape.request) == ("x", SMALL)


def test_those_to_be_told_are_told_in_the_order_in_which_they_came():
    """Whatever the hashes of their names: a history is the same in every process."""
    line, came = WaitingList(), [(0, float(n), f"team-a/u{n}") for n in range(20)]
    for place in came:
        line.add(place, ("x", SMALL, 0), None)
    (shape,) = line.shapes()
    shape.judge(None, M1, M1)
    assert shape.untold() == came
