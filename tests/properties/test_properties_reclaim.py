"""Histories in which units take grants from others: who loses what, for whom, and that it ends.

Victims make their candidate start and none of them is superfluous, no quota falls below its min,
no two units take from one another in turn, and all comes to rest (spec 13.2-13.10, 24.6).
"""

from collections.abc import Iterable, Sequence

from builders import amounts, book, pod_set, queue, quota, unit
from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from playing import Play

from kq.core import keys
from kq.core.model import Phase, QueueUnit
from kq.core.plugins import Problem

PREEMPTS = {keys.ENABLE_PREEMPTION[0]: "true"}
QUOTAS = ("a", "b", "c")
TOP = 6
MOST = 30
"""Steps in which all must have come to rest."""

modes = st.sampled_from(("Never", "LowerPriority", "Any"))
setups = st.fixed_dictionaries(
    {
        "mins": st.tuples(*(st.sampled_from((0, 1, 2, 3)),) * 3),
        "maxima": st.tuples(*(st.sampled_from((None, 4, 6)),) * 3),
        "modes": st.tuples(modes, modes, modes),
        "preempts": st.sampled_from((True, True, False)),
        "policy": st.sampled_from(("Priority", "Block", "Intelligent")),
    }
)
units = st.lists(
    st.tuples(
        st.sampled_from(QUOTAS),
        st.integers(1, 3),
        st.integers(0, 5),
        st.sampled_from((True, True, False)),
    ),
    min_size=4,
    max_size=9,
)
Listed = Sequence[tuple[str, int, int, bool]]


def limits(setup) -> list:
    """Three quotas below one."""
    return [
        quota("top", cpu=TOP, is_parent=True),
        *(
            quota(
                name,
                cpu=cpu,
                parent="top",
                minimum=amounts(cpu=floor),
                annotations={keys.RECLAIM[0]: mode},
            )
            for name, cpu, floor, mode in zip(
                QUOTAS, setup["maxima"], setup["mins"], setup["modes"], strict=True
            )
        ),
    ]


def made(number: int, of: str, cpu: int, priority: int, runs: bool) -> QueueUnit:
    phase = Phase.RUNNING if runs else Phase.ENQUEUED
    named = {"quota": of, "priority": priority, "minute": number, "phase": phase}
    return unit(f"u{number}", pod_sets=(pod_set("main", 1, cpu=cpu),), **named)


def begun(setup, listed: Listed) -> Play:
    """Those that run fit; all others wait."""
    marks = PREEMPTS if setup["preempts"] else {}
    queues = [queue(name, policy=setup["policy"], annotations=marks) for name in QUOTAS]
    play = Play(book=book(*limits(setup), views=queues))
    for number, (of, cpu, priority, wants) in enumerate(listed):
        each = made(number, of, cpu, priority, runs=False)
        play.submit(each)
        if wants and fits(play, each):
            play.run(each.key)
    return play


def fits(play: Play, each: QueueUnit) -> bool:
    chain = play.book.quotas.chain(each.labels[keys.QUOTA_LABEL])
    assert not isinstance(chain, Problem)
    asked = each.pod_sets[0].template.request.get("cpu")
    return all(
        play.used(level.name).get("cpu", 0) + asked <= level.limit.get("cpu")
        for level in chain
        if "cpu" in level.limit
    )


def cpu_of(play: Play, name: str) -> int:
    return play.book.units[f"team-a/{name}"].pod_sets[0].template.request.get("cpu")


def quota_of(play: Play, name: str) -> str:
    return play.book.units[f"team-a/{name}"].labels[keys.QUOTA_LABEL]


def check_floors(play: Play, setup, marked: Sequence[str], waits: Iterable[str]) -> None:
    """Once all that are marked have left, no quota that lost some to another is below its min.

    What is set aside for those who wait is theirs already.
    """
    promised_to = {quota_of(play, name) for name in waits}
    floors = {name: 1000 * floor for name, floor in zip(QUOTAS, setup["mins"], strict=True)}
    taken = [
        name
        for name in marked
        if (mark := play.book.units[f"team-a/{name}"].condition("Evicted"))
        and mark.reason == "Reclaimed"
    ]
    for of in {quota_of(play, name) for name in taken} - promised_to:
        lost = sum(cpu_of(play, name) for name in taken if quota_of(play, name) == of)
        assert play.used(of).get("cpu", 0) - lost >= floors[of]


def check_limits(play: Play) -> None:
    for name in (*QUOTAS, "top"):
        chain = play.book.quotas.chain(name) if name != "top" else ()
        for level in () if isinstance(chain, Problem) else chain:
            if "cpu" in level.limit:
                assert play.used(level.name).get("cpu", 0) <= level.limit.get("cpu")


def taker_of(play: Play, victim: str) -> str:
    """For whom it was told to give back what it has."""
    mark = play.book.units[f"team-a/{victim}"].condition("Evicted")
    assert mark is not None
    return mark.message.split(" by team-a/")[1].split()[0]


def goes_before(play: Play, name: str, other: str) -> bool:
    """Whether that one must leave alone what is freed for this one."""
    one, two = (play.book.units[f"team-a/{each}"].priority or 0 for each in (name, other))
    return one > two


def promised(play: Play) -> dict[str, list[str]]:
    """Who waits for whom to give something back, as far as they are named."""
    found = {}
    for each in play.book.units.values():
        verdict = play.book.verdict(each.key) if each.phase is Phase.ENQUEUED else None
        if verdict is not None and "to give back quota" in verdict.message:
            listed = verdict.message.rpartition(": ")[2].partition(" and ")[0].split(", ")
            found[each.name] = [key.partition("/")[2] for key in listed]
    return found


BETWEEN_QUEUES = (
    {
        "mins": (0, 0, 0),
        "maxima": (None, None, None),
        "modes": ("Never", "Never", "Never"),
        "preempts": True,
        "policy": "Priority",
    },
    [
        ("a", 1, 0, True),
        ("a", 1, 1, True),
        ("a", 1, 1, True),
        ("a", 3, 0, True),
        ("b", 1, 2, True),
        ("a", 1, 1, True),
    ],
)
"""The first victim must not come back with what it gave, though a second one gives more."""


@example(*BETWEEN_QUEUES)
@settings(max_examples=100)
@given(setups, units)
def test_it_comes_to_rest_and_nobody_gave_anything_for_nothing(setup, listed: Listed) -> None:
    play = begun(setup, listed)
    pairs: set[tuple[str, str]] = set()
    for step in range(MOST):
        play.step = step
        started = play.pass_over(QUOTAS)
        check_limits(play)
        waits = promised(play)
        marked = play.mark()
        check_floors(play, setup, marked, waits)
        pairs |= {(taker_of(play, each), each) for each in marked}
        takers = {taker_of(play, each) for each in marked}
        play.leave(play.leaving())
        if waits:
            event("somebody gave something back")
            got = play.pass_over(QUOTAS)
            for name in takers.difference(got, started):
                # One that it does not go before may have that now, or wait for more (13.6).
                others = {*got, *started, *promised(play)} - {name}
                assert any(not goes_before(play, name, other) for other in others)
            check_limits(play)
            # Victims are marked before anybody looks again.
            marked = play.mark()
            pairs |= {(taker_of(play, each), each) for each in marked}
        elif not started:
            break
    else:
        raise AssertionError("it never comes to rest")
    assert not [pair for pair in pairs if pair[::-1] in pairs]


@settings(max_examples=100)
@given(
    setups,
    units,
    st.sampled_from(("a", "", "")),
    st.tuples(st.sampled_from("aab"), st.integers(2, 4), st.integers(2, 9)),
)
def test_nobody_is_taken_from_who_could_have_been_left_alone(setup, listed, all_of, one) -> None:
    """One candidate alone: without any of its victims it would not have fit (spec 13.3)."""
    runs = [(all_of or of, cpu, priority, True) for of, cpu, priority, _ in listed]
    play = begun(setup, runs)
    for each in list(play.book.units.values()):
        if not each.holds_quota:
            play.book.lost(each)
    play.submit(made(99, *one, runs=False))
    play.pass_over(QUOTAS)
    waits, marked = promised(play), play.mark()
    assert {name for named in waits.values() for name in named} <= set(marked)
    assert bool(waits) == bool(marked)
    for candidate in waits:
        victims = marked
        event(f"{len(victims)} victims")
        asks = play.book.units[f"team-a/{candidate}"]
        assert not fits(play, asks)
        for kept in victims:
            play.leave([each for each in victims if each != kept])
            assert not fits(play, asks)
            for each in victims:
                if each != kept:
                    play.run(f"team-a/{each}")
        play.leave(victims)
        assert fits(play, asks)
