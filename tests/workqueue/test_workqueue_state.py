import weakref

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from kq.workqueue.state import QueueState


class Item:
    """An item that can be watched as it goes."""


def taken(state: QueueState[str], now: float = 0) -> str:
    return state.take(now)[0]


def test_items_come_in_the_order_of_their_first_add() -> None:
    state: QueueState[str] = QueueState()
    for item in ("foo", "bar", "foo"):
        state.add(item, 0)
    assert len(state) == 2
    assert (taken(state), taken(state)) == ("foo", "bar")
    assert len(state) == 0


def test_only_the_first_add_tells_of_new_work() -> None:
    state: QueueState[str] = QueueState()
    assert state.add("foo", 0)
    assert not state.add("foo", 0)


def test_an_item_added_in_process_is_queued_at_the_tail_when_done() -> None:
    state: QueueState[str] = QueueState()
    state.add("foo", 0)
    taken(state)
    assert state.add("foo", 0)
    assert not state.add("foo", 0)
    state.add("bar", 0)
    assert len(state) == 1
    state.done("foo", 0)
    assert (taken(state), taken(state)) == ("bar", "foo")
    state.done("foo", 0)
    assert len(state) == 0


def test_the_wait_counts_from_the_first_add() -> None:
    state: QueueState[str] = QueueState()
    state.add("foo", 10)
    state.add("foo", 12)
    assert state.take(15) == ("foo", 5)


def test_the_work_counts_from_the_taking() -> None:
    state: QueueState[str] = QueueState()
    state.add("foo", 10)
    state.take(15)
    assert state.ages(18) == [3]
    assert state.done("foo", 22) == 7
    assert state.ages(23) == []


def test_done_of_an_item_that_was_not_taken_changes_nothing() -> None:
    state: QueueState[str] = QueueState()
    state.add("foo", 0)
    assert state.done("foo", 0) is None
    assert len(state) == 1


def test_of_two_ready_times_the_earlier_counts() -> None:
    state: QueueState[str] = QueueState()
    state.add_at("foo", 50)
    state.add_at("foo", 70)
    state.add_at("foo", 30)
    assert state.next_ready_at() == 30
    assert state.add_due(30) == 1
    assert state.next_ready_at() is None
    taken(state)
    assert state.add_due(100) == 0


def test_an_item_is_not_ready_early_and_is_ready_at_its_time() -> None:
    state: QueueState[str] = QueueState()
    state.add_at("foo", 50)
    assert state.add_due(49.999) == 0
    assert state.add_due(50) == 1


def test_items_that_are_due_together_come_in_the_order_of_their_times() -> None:
    state: QueueState[str] = QueueState()
    for item, ready_at in (("first", 1.0), ("second", 0.5), ("third", 0.25), ("fourth", 0.25)):
        state.add_at(item, ready_at)
    assert state.add_due(2) == 4
    assert [taken(state) for _ in range(4)] == ["third", "fourth", "second", "first"]


def test_an_add_does_not_cancel_a_ready_time() -> None:
    state: QueueState[str] = QueueState()
    state.add_at("foo", 5)
    state.add("foo", 0)
    taken(state)
    state.done("foo", 1)
    assert state.add_due(5) == 1
    assert taken(state) == "foo"


def test_an_item_that_is_due_while_queued_is_no_new_work() -> None:
    state: QueueState[str] = QueueState()
    state.add_at("foo", 5)
    state.add("foo", 0)
    assert state.add_due(5) == 0
    assert len(state) == 1


def test_after_the_shut_down_only_what_was_asked_for_comes() -> None:
    state: QueueState[str] = QueueState()
    state.add("foo", 0)
    state.add("bar", 0)
    taken(state)
    state.add("foo", 0)
    state.add_at("later", 5)
    state.shut_down()
    assert not state.add("baz", 1)
    state.add_at("baz", 2)
    assert state.add_due(10) == 0
    assert taken(state) == "bar"
    state.done("foo", 10)
    assert taken(state) == "foo"
    assert len(state) == 0


def test_what_was_fed_comes_when_nothing_else_is_queued() -> None:
    state: QueueState[str] = QueueState()
    state.feed(["late", "later"])
    state.add("now", 0)
    assert len(state) == 1
    assert taken(state) == "now"
    assert [state.draw(0) and taken(state) for _ in range(3)] == ["late", "later", 0]


def test_what_was_fed_is_read_only_as_it_is_drawn() -> None:
    read: list[str] = []
    state: QueueState[str] = QueueState()
    state.feed(read.append(item) or item for item in "abc")
    assert state.draw(0)
    assert read == ["a"]


def test_what_was_fed_and_is_asked_for_already_is_drawn_no_second_time() -> None:
    state: QueueState[str] = QueueState()
    state.feed(["foo", "bar"])
    state.add("foo", 0)
    assert state.draw(0) == 0
    assert taken(state) == "foo"
    assert state.draw(0) == 1
    assert taken(state) == "bar"


def test_what_was_fed_and_is_in_process_comes_again_when_done() -> None:
    state: QueueState[str] = QueueState()
    state.add("foo", 0)
    taken(state)
    state.feed(["foo", "bar"])
    assert state.draw(0) == 2
    assert taken(state) == "bar"
    state.done("foo", 1)
    assert taken(state) == "foo"


def test_of_two_feeds_the_first_comes_first() -> None:
    state: QueueState[str] = QueueState()
    state.feed(["first"])
    state.feed(["second"])
    assert [state.draw(0) and taken(state) for _ in range(2)] == ["first", "second"]


def test_nothing_that_was_fed_comes_after_the_shut_down() -> None:
    state: QueueState[str] = QueueState()
    state.feed(["before"])
    state.shut_down()
    state.feed(["after"])
    assert not state.draw(0)
    assert len(state) == 0


def test_an_item_that_is_done_is_let_go_of() -> None:
    state: QueueState[Item] = QueueState()
    state.add_at(Item(), 1)
    state.add_due(1)
    item = state.take(1)[0]
    state.done(item, 2)
    watched = weakref.ref(item)
    del item
    assert watched() is None


def test_nothing_can_be_taken_from_an_empty_queue() -> None:
    with pytest.raises(IndexError):
        QueueState[str]().take(0)


class QueueStateMachine(RuleBasedStateMachine):
    """A queue state beside the plainest model of one: lists and sets, searched from end to end."""

    in_process = Bundle("in_process")
    items = st.sampled_from("abcde")

    @initialize()
    def start(self) -> None:
        self.state: QueueState[str] = QueueState()
        self.now = 0
        self.closed = False
        self.queued: list[str] = []
        self.processing: list[str] = []
        self.again: list[str] = []
        self.waiting: list[tuple[int, int, str]] = []
        self.number = 0

    def model_add(self, item: str) -> bool:
        if self.closed or item in self.queued or item in self.again:
            return False
        (self.again if item in self.processing else self.queued).append(item)
        return True

    @rule(item=items)
    def add(self, item: str) -> None:
        assert self.state.add(item, self.now) == self.model_add(item)

    @rule(item=items, delay=st.integers(1, 9))
    def add_later(self, item: str, delay: int) -> None:
        self.state.add_at(item, self.now + delay)
        if self.closed:
            return
        known = [entry for entry in self.waiting if entry[2] == item]
        if all(self.now + delay < ready_at for ready_at, _, _ in known):
            self.number += 1
            others = [entry for entry in self.waiting if entry[2] != item]
            self.waiting = [*others, (self.now + delay, self.number, item)]

    @rule(seconds=st.integers(0, 5))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds
        due = sorted(entry for entry in self.waiting if entry[0] <= self.now)
        self.waiting = [entry for entry in self.waiting if entry[0] > self.now]
        assert self.state.add_due(self.now) == sum(self.model_add(item) for _, _, item in due)

    @rule(target=in_process)
    def take(self) -> object:
        if not self.queued:
            return multiple()
        item, waited = self.state.take(self.now)
        assert item == self.queued.pop(0)
        assert item not in self.processing
        assert waited >= 0
        self.processing.append(item)
        return item

    @rule(item=consumes(in_process))
    def done(self, item: str) -> None:
        assert self.state.done(item, self.now) is not None
        self.processing.remove(item)
        if item in self.again:
            self.again.remove(item)
            self.queued.append(item)

    @precondition(lambda self: self.number > 3)
    @rule()
    def shut_down(self) -> None:
        self.state.shut_down()
        self.closed = True
        self.waiting = []

    @invariant()
    def the_two_agree(self) -> None:
        assert len(self.state) == len(self.queued)
        assert self.state.is_processing == bool(self.processing)
        assert len(self.state.ages(self.now)) == len(self.processing)
        assert self.state.next_ready_at() == min((at for at, _, _ in self.waiting), default=None)

    def teardown(self) -> None:
        for item in self.processing:
            self.state.done(item, self.now)
        left = [taken(self.state) for _ in range(len(self.state))]
        assert sorted(left) == sorted([*self.queued, *self.again])


TestQueueState = QueueStateMachine.TestCase
TestQueueState.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
