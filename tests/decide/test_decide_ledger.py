"""The ledger: what we wrote counts until the informer has shown it, or something later."""

from dataclasses import dataclass, field

import msgspec
import pytest
from builders import granted, unit
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kq.core.model import Phase, QueueUnit
from kq.decide.ledger import Ledger, Sending

KEY = "team-a/train"


def version(number: int | str, **fields: object) -> QueueUnit:
    return unit(resource_version=str(number), **fields)


def known(ledger: Ledger) -> str | None:
    """The version that counts as what the API server has."""
    entry = ledger.get(KEY)
    return entry.settled.resource_version if entry and entry.settled else None


def play(*steps: tuple[str, str]) -> str | None:
    """`sent` notes what the informer shows; `answered` and `shown` bring a version of ours or not.

    A write is named by the step that sent it: ("sent", "2") ... ("answered", "2").
    """
    ledger = Ledger()
    seen: dict[str, str] = {}
    for what, number in steps:
        match what:
            case "sent":
                seen[number] = ledger.sending(KEY)
            case "answered":
                ledger.wrote(version(number), seen[number])
            case "shown":
                ledger.saw(version(number))
    return known(ledger)


def test_what_we_wrote_and_no_watch_has_shown_is_gone_when_the_watch_is_past_it() -> None:
    """It was deleted while the watch said nothing, and the next one began after that."""
    ledger = Ledger()
    ledger.wrote(version(7), ledger.sending(KEY))
    assert ledger.unshown(6) == []
    assert ledger.unshown(7) == [version(7)]
    ledger.gone(KEY, version(7).uid)
    assert ledger.unshown(9) == []


@pytest.mark.parametrize("shown", ["7", "9"])
def test_what_a_watch_has_shown_it_will_also_take_away(shown: str) -> None:
    ledger = Ledger()
    ledger.wrote(version(7), ledger.sending(KEY))
    ledger.saw(version(shown))
    assert ledger.unshown(9) == []


def test_a_unit_made_anew_is_not_the_one_that_was_shown() -> None:
    ledger = Ledger()
    ledger.saw(version(3, uid="old"))
    ledger.wrote(version(7), ledger.sending(KEY))
    ledger.gone(KEY, "old")
    assert ledger.unshown(8) == [version(7)]
    ledger.saw(version(7))
    assert ledger.unshown(8) == []


@pytest.mark.parametrize(
    ("steps", "counts"),
    [
        pytest.param([("shown", "1")], "1", id="what the informer shows counts"),
        pytest.param(
            [("shown", "1"), ("sent", "2"), ("answered", "2")],
            "2",
            id="an answer counts before it is shown",
        ),
        pytest.param(
            [("shown", "1"), ("sent", "2"), ("shown", "2"), ("answered", "2")],
            "2",
            id="a write shown before its answer",
        ),
        pytest.param(
            [("shown", "1"), ("sent", "2"), ("shown", "2"), ("shown", "3"), ("answered", "2")],
            "3",
            id="a foreign write shown before our answer",
        ),
        pytest.param(
            [("shown", "1"), ("sent", "2"), ("answered", "2"), ("shown", "2"), ("shown", "3")],
            "3",
            id="a foreign write after ours",
        ),
        pytest.param(
            [("shown", "1"), ("sent", "2"), ("answered", "2"), ("shown", "3")],
            "3",
            id="a foreign write shown in place of ours",
        ),
        pytest.param(
            [
                ("shown", "1"),
                ("sent", "2"),
                ("answered", "2"),
                ("sent", "3"),
                ("answered", "3"),
                ("shown", "2"),
            ],
            "3",
            id="the first of two own writes is no news",
        ),
        pytest.param(
            [
                ("shown", "1"),
                ("sent", "2"),
                ("answered", "2"),
                ("sent", "3"),
                ("answered", "3"),
                ("shown", "2"),
                ("shown", "3"),
                ("sent", "4"),
                ("answered", "4"),
            ],
            "4",
            id="a write after all of ours were shown",
        ),
        pytest.param(
            [
                ("sent", "1"),
                ("answered", "1"),
                ("sent", "2"),
                ("answered", "2"),
                ("shown", "1"),
            ],
            "2",
            id="one that we made, changed before it was shown",
        ),
        pytest.param(
            [("shown", "1"), ("shown", "1"), ("sent", "2"), ("answered", "2"), ("shown", "1")],
            "1",
            id="a version that is neither ours nor known is news",
        ),
    ],
)
def test_the_last_of_what_is_known_counts(steps, counts):
    assert play(*steps) == counts


def test_a_write_answered_after_an_earlier_one_was_shown_counts():
    """Message written, grant sent, message shown, grant answered: the grant counts all the time."""
    ledger = Ledger()
    ledger.saw(version(0))
    ledger.wrote(version(1), ledger.sending(KEY))
    seen = ledger.sending(KEY)
    ledger.assume(granted(version(1), "1"))
    ledger.saw(version(1))
    entry = ledger.wrote(granted(version(1), "2"), seen)
    assert entry.effective is not None
    assert (entry.effective.resource_version, entry.effective.phase) == ("2", Phase.DEQUEUED)


def test_a_grant_counts_from_the_decision_and_what_is_written_stays_known():
    ledger = Ledger()
    ledger.saw(version(1))
    entry = ledger.assume(granted(version(1), "1"))
    assert entry.effective is not None
    assert entry.effective.phase is Phase.DEQUEUED
    assert entry.settled is not None
    assert entry.settled.phase is Phase.ENQUEUED


def test_a_grant_that_is_not_written_counts_no_more():
    ledger = Ledger()
    ledger.saw(version(1))
    ledger.assume(granted(version(1), "1"))
    entry = ledger.revoke(KEY)
    assert entry is not None
    assert entry.effective == version(1)


def test_the_informer_does_not_take_a_decided_grant_away():
    ledger = Ledger()
    ledger.saw(version(1))
    ledger.assume(granted(version(1), "1"))
    entry = ledger.saw(version(2))
    assert entry.effective is not None
    assert entry.effective.phase is Phase.DEQUEUED


def test_a_view_with_fewer_attempts_is_older_than_our_grant():
    """A relist from a server that lags brings back a version from before."""
    ledger = Ledger()
    ledger.saw(version(1))
    ledger.wrote(granted(version(1), "2"), ledger.sending(KEY))
    ledger.saw(version("an older one"))
    assert known(ledger) == "2"


def test_a_deleted_unit_is_forgotten():
    ledger = Ledger()
    ledger.saw(version(1))
    ledger.wrote(version(2), ledger.sending(KEY))
    entry = ledger.gone(KEY, unit().uid)
    assert entry is not None
    assert entry.effective is None
    assert ledger.get(KEY) is None


def test_a_deleted_unit_takes_its_grant_along():
    """Case I2: deleted between the decision and the write."""
    ledger = Ledger()
    ledger.saw(version(1))
    ledger.assume(granted(version(1), "1"))
    entry = ledger.gone(KEY, unit().uid)
    assert entry is None or entry.effective is None


def test_the_end_of_an_old_unit_leaves_the_new_one_that_we_made():
    """Case I6: made again under the same name before the old one's end is shown."""
    ledger = Ledger()
    ledger.saw(version(1))
    again = version(5, uid="another")
    ledger.wrote(again, ledger.sending(KEY))
    entry = ledger.gone(KEY, unit().uid)
    assert entry is not None
    assert entry.effective == again


def test_an_answer_that_comes_after_the_end_brings_nothing_back():
    ledger = Ledger()
    ledger.saw(version(1))
    ledger.gone(KEY, unit().uid)
    ledger.wrote(version(1), ledger.sending(KEY))
    assert known(ledger) is None


def test_an_old_unit_still_shown_does_not_hide_the_new_one_that_we_made():
    ledger = Ledger()
    ledger.saw(version(1))
    again = version(5, uid="another")
    ledger.wrote(again, ledger.sending(KEY))
    ledger.saw(version(2))
    assert known(ledger) == "5"


def test_nothing_is_known_of_a_unit_that_never_was():
    ledger = Ledger()
    assert ledger.get(KEY) is None
    assert ledger.gone(KEY, "any") is None
    assert ledger.revoke(KEY) is None


@dataclass
class Write:
    """One of our writes under way."""

    sending: Sending
    basis: QueueUnit | None
    grants: bool = False
    result: int | None = field(default=None)


class LedgerAgainstServer(RuleBasedStateMachine):
    """One unit on an API server: its history in order, an informer that lags, answers that lag."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.history: list[QueueUnit | None] = []
        self.shown = 0
        self.answered = 0
        self.under_way: list[Write] = []
        self.versions = 0
        self.made = 0

    @property
    def stored(self) -> QueueUnit | None:
        return self.history[-1] if self.history else None

    def append(self, view: QueueUnit | None) -> int:
        self.history.append(view)
        return len(self.history)

    def next_version(self) -> str:
        self.versions += 1
        return f"v{self.versions}"

    def fresh(self) -> QueueUnit:
        self.made += 1
        return version(self.next_version(), uid=f"uid-{self.made}")

    @initialize()
    def begin(self) -> None:
        self.append(self.fresh())
        self.show()

    @precondition(lambda self: self.shown < len(self.history))
    @rule()
    def show(self) -> None:
        view = self.history[self.shown]
        before = self.history[self.shown - 1] if self.shown else None
        self.shown += 1
        if view is not None:
            self.ledger.saw(view)
        elif before is not None:
            self.ledger.gone(KEY, before.uid)

    @precondition(lambda self: self.stored is not None)
    @rule()
    def foreign_write(self) -> None:
        assert self.stored is not None
        fields = {"resource_version": self.next_version()}
        self.append(msgspec.structs.replace(self.stored, **fields))

    @precondition(lambda self: self.stored is not None)
    @rule()
    def delete(self) -> None:
        self.append(None)

    @rule(grants=st.booleans())
    def send(self, grants: bool) -> None:
        entry = self.ledger.get(KEY)
        basis = entry.settled if entry else None
        if basis is None and any(each.basis is None for each in self.under_way):
            return  # one worker makes a job's unit, one at a time
        self.under_way.append(Write(self.ledger.sending(KEY), basis, grants))

    @precondition(lambda self: any(each.result is None for each in self.under_way))
    @rule()
    def arrive(self) -> None:
        """The oldest write that is not there yet reaches the server."""
        write = next(each for each in self.under_way if each.result is None)
        stored, basis = self.stored, write.basis
        if basis is None and stored is None:
            write.result = self.append(self.fresh())
        elif basis and stored and basis.resource_version == stored.resource_version:
            attempts = stored.attempts + write.grants
            fields = {"resource_version": self.next_version(), "attempts": attempts}
            write.result = self.append(msgspec.structs.replace(stored, **fields))
        else:
            self.under_way.remove(write)

    @precondition(lambda self: any(each.result is not None for each in self.under_way))
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        """The answers of writes on one unit may come in any order."""
        done = [each for each in self.under_way if each.result is not None]
        write = data.draw(st.sampled_from(done))
        self.under_way.remove(write)
        assert write.result is not None
        view = self.history[write.result - 1]
        assert view is not None
        self.ledger.wrote(view, write.sending)
        self.answered = max(self.answered, write.result)

    @invariant()
    def the_newest_that_is_known_counts(self) -> None:
        newest = max(self.shown, self.answered)
        expected = self.history[newest - 1] if newest else None
        assert known(self.ledger) == (expected.resource_version if expected else None)


LedgerAgainstServer.TestCase.settings = settings(
    settings.default, max_examples=settings.default.max_examples // 2
)
TestLedgerAgainstServer = LedgerAgainstServer.TestCase


# -- grants that are decided while a write is under way ---------------------------------------


def grant_on(number: int, **fields: object) -> QueueUnit:
    """A grant as a cycle decides it: of the version that it rests on."""
    return msgspec.structs.replace(granted(version(number, **fields)), resource_version=str(number))


def test_a_grant_on_what_the_informer_showed_outlives_the_answer_to_the_create():
    ledger = Ledger()
    create = ledger.sending(KEY)
    ledger.saw(version(1))
    ledger.assume(grant_on(1))
    entry = ledger.wrote(version(1), create)
    assert entry.grant is not None
    assert entry.effective.phase is Phase.DEQUEUED


def test_a_grant_on_a_foreign_version_outlives_a_late_answer():
    ledger = Ledger()
    ledger.saw(version(1))
    write = ledger.sending(KEY)
    ledger.saw(version(3))
    ledger.assume(grant_on(3))
    assert ledger.wrote(version(2), write).grant is not None


def test_the_answer_to_its_own_write_settles_a_grant():
    ledger = Ledger()
    ledger.saw(version(1))
    ledger.assume(grant_on(1))
    write = ledger.sending(KEY)
    ledger.saw(version(2, phase=Phase.DEQUEUED))
    entry = ledger.wrote(version(2, phase=Phase.DEQUEUED), write)
    assert entry.grant is None
    assert entry.effective.resource_version == "2"


def test_a_grant_on_a_version_that_another_write_of_ours_has_passed_is_dropped():
    ledger = Ledger()
    ledger.saw(version(1))
    write = ledger.sending(KEY)
    ledger.assume(grant_on(1))
    assert ledger.wrote(version(2), write).grant is None


def test_the_answer_to_a_write_of_a_unit_that_is_gone_leaves_the_grant_of_its_successor():
    ledger = Ledger()
    ledger.saw(version(1, uid="old"))
    write = ledger.sending(KEY)
    ledger.gone(KEY, "old")
    ledger.saw(version(5, uid="new"))
    ledger.assume(grant_on(5, uid="new"))
    assert ledger.wrote(version(2, uid="old"), write).grant is not None
