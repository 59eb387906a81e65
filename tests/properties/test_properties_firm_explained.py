"""What is said of a min is true: with so much more the unit starts, with less it does not."""

from collections.abc import Mapping, Sequence

from builders import NOW, amounts, book, job_view, pod_set, queue, quota, quotas, unit
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from kq.core import keys
from kq.core.model import Phase
from kq.core.resources import parse_resources
from kq.explain.explanation import explain
from kq.explain.words import Increase, RaiseQuota

KEPT = {keys.PREEMPTIBLE_LABELS[0]: "false"}
NAMES = ("top", "leaf")
bounds = st.fixed_dictionaries({"cpu": st.integers(1, 4)}, optional={"memory": st.integers(1, 2)})
maxima = st.fixed_dictionaries({}, optional={"cpu": st.integers(3, 6)})
sizes = st.sampled_from(({"cpu": 1}, {"cpu": 2}, {"cpu": 1, "memory": 1}))
units = st.lists(
    st.tuples(sizes, st.booleans(), st.booleans(), st.integers(0, 2)), min_size=2, max_size=7
)
Bounds = Mapping[str, Mapping[str, int]]


def picture(mins: Bounds, limits: Bounds):
    made = [
        quota(
            name,
            limit=amounts(**limits[name]),
            minimum=amounts(**mins[name]),
            parent="top" if name == "leaf" else "",
            is_parent=name == "top",
        )
        for name in NAMES
    ]
    return quotas(*made, firm_within_min=True)


def made(listed, mins: Bounds, limits: Bounds):
    """All have had their passes; those that hold quota do so whatever fits."""
    views = [queue("leaf")]
    for number, (size, is_kept, holds, priority) in enumerate(listed):
        name, labels = f"u{number}", {keys.QUOTA_LABEL: "leaf"}
        views += [
            job_view(name),
            unit(
                name,
                quota="leaf",
                labels=labels | KEPT if is_kept else labels,
                pod_sets=(pod_set("main", 1, **size),),
                priority=priority,
                minute=number,
                phase=Phase.RUNNING if holds else Phase.ENQUEUED,
            ),
        ]
    of = book(views=views, firm_within_min=True)
    of.set_quotas(picture(mins, limits), structure_changed=True)
    settle(of)
    return of


def settle(of) -> list[str]:
    """Passes over whom something wakes; who starts."""
    started: list[str] = []
    while woken := of.take_woken():
        for name in woken:
            started += [each.key for each in of.cycle(name, NOW)]
    return started


def raised(bounds: Bounds, increases: Sequence[Increase], *, of_min: bool):
    """In thousandths and whole units, as limits are kept."""
    found = {name: dict(amounts(**bounds[name]).items()) for name in NAMES}
    for each in increases:
        if each.of_min is of_min:
            to = parse_resources({each.resource: each.to}, "a test")
            found[each.quota] |= dict(to.items())
    spelled = {"cpu": lambda n: f"{n}m", "memory": str}
    return {at: {k: spelled[k](n) for k, n in some.items()} for at, some in found.items()}


@settings(max_examples=60)
@given(
    st.fixed_dictionaries(dict.fromkeys(NAMES, bounds)),
    st.fixed_dictionaries(dict.fromkeys(NAMES, maxima)),
    units,
)
def test_a_raised_min_that_is_suggested_lets_it_start_and_less_does_not(mins, limits, listed):
    """Spec 19.6."""
    of = made(listed, mins, limits)
    waiting = [key for key in of.units if of.places.place(key) is not None]
    assume(waiting)
    key = waiting[0]
    found = [each for each in explain(of, key, NOW).unblock if isinstance(each, RaiseQuota)]
    event(f"a limit is named: {bool(found)}")
    for suggestion in found:
        increases = suggestion.increases
        event(f"a min is named: {any(each.of_min for each in increases)}")
        assert key in after(listed, mins, limits, increases)
        for each in increases:
            others = [one for one in increases if one is not each]
            assert key not in after(listed, mins, limits, others)


def after(listed, mins, limits, increases):
    of = made(listed, mins, limits)
    new = picture(raised(mins, increases, of_min=True), raised(limits, increases, of_min=False))
    of.set_quotas(new, structure_changed=False)
    return settle(of)
