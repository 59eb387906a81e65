"""Why a unit waits, where it stands, and what would let it start (spec 19.6)."""

import msgspec
import pytest
from builders import NOW, amounts, book, condition, pod_set, queue, quota, unit
from explain_scene import settled, texts

from kq.core import keys
from kq.core.model import Phase
from kq.explain.explanation import explain
from kq.explain.words import Eta, check_wait, sentences


def test_each_part_has_its_sentence_and_the_keys_are_those_of_the_spec():
    """Spec 19.6."""
    of = settled(
        quota("root", cpu=10),
        quota(cpu=4, parent="root"),
        quota("other", parent="root"),
        views=(
            queue(policy="Block"),
            unit("r1", cpu=3, phase=Phase.RUNNING),
            unit("r2", quota="other", cpu=5, phase=Phase.RUNNING, longest_seconds=600),
            unit("w1", cpu=2, priority=5, minute=1),
            unit("w2", cpu=1, minute=2),
        ),
    )
    found = explain(of, "team-a/w2", NOW)
    assert list(msgspec.json.decode(msgspec.json.encode(found))) == [
        "state",
        "reason",
        "position",
        "ahead",
        "levels",
        "unblock",
        "checks",
        "eta",
    ]
    assert list(sentences(found)) == [
        "state Enqueued: queue team-a starts units of quota team-a strictly in order, "
        "an earlier one does not fit",
        "position 2: ahead are team-a/w1 (priority 5)",
        "quota team-a has not enough: 2 cpu requested for team-a/w1, 3 cpu used of 4 cpu, "
        "most of it by team-a/r1 (3 cpu)",
        "it starts if limits rise: cpu of quota team-a by 2 to 6; cpu of quota root by 1 to 11",
        "it starts once team-a/r1 ends",
        "it starts with priority 6 instead of 0",
        "it starts once team-a/w1, going first, waits no more",
    ]


LEAVES = condition("Evicted", True, "Preempted")


@pytest.mark.parametrize(
    ("views", "expected"),
    [
        (
            (unit("r", cpu=3, phase=Phase.RUNNING), unit("w", cpu="500m", replicas=4)),
            [
                "it starts now with 2 pods in pod set main instead of 4",
                "it starts now if each pod of pod set main requests 250m cpu instead of 500m cpu",
                "it starts if limits rise: cpu of quota team-a by 1 to 5",
                "it starts once team-a/r ends",
            ],
        ),
        (
            (unit("w", cpu=6),),
            [
                "it starts now if each pod of pod set main requests 4 cpu instead of 6 cpu",
                "it starts if limits rise: cpu of quota team-a by 2 to 6",
            ],
        ),
        (
            (
                unit("late", cpu=2, phase=Phase.RUNNING, longest_seconds=7200),
                unit("soon", cpu=2, phase=Phase.RUNNING, longest_seconds=60),
                unit("w", cpu=1),
            ),
            [
                "it starts if limits rise: cpu of quota team-a by 1 to 5",
                "it starts once team-a/soon ends",
            ],
        ),
        (
            (
                unit("new", cpu=2, phase=Phase.RUNNING, minute=-1),
                unit("old", cpu=2, phase=Phase.RUNNING, minute=-9),
                unit("w", cpu=1),
            ),
            [
                "it starts if limits rise: cpu of quota team-a by 1 to 5",
                "it starts once team-a/old ends",
            ],
        ),
        (
            (
                unit("ends", cpu=2, phase=Phase.RUNNING, longest_seconds=60),
                unit("leaves", cpu=2, phase=Phase.RUNNING, conditions=(LEAVES,)),
                unit("w", cpu=1),
            ),
            [
                "it starts if limits rise: cpu of quota team-a by 1 to 5",
                "it starts once team-a/leaves ends",
            ],
        ),
    ],
    ids=["smaller or fewer", "above max", "the job that ends first", "older", "leaves already"],
)
def test_what_would_let_one_start_that_lacks_quota(views, expected):
    """Spec 19.6: in the smallest steps, each found by passes."""
    assert texts(settled(quota(cpu=4), views=(queue(), *views)), "w") == expected


def test_a_head_that_can_never_fit_may_be_passed_over_or_withdrawn():
    """Spec 10.10: the head is above max and blocks."""
    of = settled(
        quota(cpu=4), views=(queue(policy="Block"), unit("huge", cpu=9), unit("w", minute=1))
    )
    assert texts(of, "w") == [
        "it starts if limits rise: cpu of quota team-a by 6 to 10",
        "it starts with priority 1 instead of 0",
        "it starts once team-a/huge, going first, waits no more",
        'it starts with annotation koord-queue/skip-impossible: "true" on queue team-a',
    ]


def test_the_smallest_priority_that_is_enough_is_told():
    """Spec 19.6: above the one that bars its quota, below one that waits for another quota."""
    elsewhere = unit("first", quota="other", queue="team-a", cpu=9, priority=9)
    named = {**elsewhere.annotations, keys.QUEUE_NAME[0]: "team-a"}
    elsewhere = msgspec.structs.replace(elsewhere, annotations=named)
    of = settled(
        quota(cpu=4),
        quota("other", cpu=9),
        views=(
            queue(policy="Block"),
            unit("r", quota="other", cpu=1, phase=Phase.RUNNING),
            elsewhere,
            unit("bars", cpu=5, priority=5),
            unit("w", minute=1),
        ),
    )
    assert "it starts with priority 6 instead of 0" in texts(of, "w")


def test_nobody_is_told_to_wait_for_more_to_step_aside_than_are_named():
    """Spec 19.6: nine go first that can never fit; without eight of them it does not start."""
    heads = [unit(f"huge{number}", cpu=9, minute=number) for number in range(9)]
    lines = (queue(policy="Block"), *heads, unit("w", minute=10))
    found = texts(settled(quota(cpu=4), views=lines), "w")
    assert "it starts with priority 1 instead of 0" in found
    assert not [each for each in found if "going first" in each]
    found = texts(
        settled(quota(cpu=4), views=[each for each in lines if each is not heads[8]]), "w"
    )
    assert (
        "it starts once team-a/huge0, team-a/huge1, team-a/huge2 and 5 more, going first, wait"
        in (each.partition(" no more")[0] for each in found)
    )


def test_one_behind_the_depth_is_told_so_and_how_deep_is_enough():
    """Spec 10.12."""
    deep = queue(annotations={keys.MAX_DEPTH[0]: "1"})
    of = settled(quota(cpu=4), views=(deep, unit("huge", cpu=9), unit("w", minute=1)))
    found = explain(of, "team-a/w", NOW)
    assert found.reason.message == "queue team-a tries only the first 1 of those who wait"
    assert texts(of, "w") == [
        "it starts with priority 1 instead of 0",
        'it starts with annotation koord-queue/max-depth: "2" on queue team-a',
    ]


def test_one_waits_for_pods_of_another():
    """Spec 10.13."""
    line = queue(annotations={keys.WAIT_FOR_PODS[0]: "true"})
    of = settled(quota(cpu=4), views=(line, unit("r", phase=Phase.RUNNING), unit("w")))
    assert texts(of, "w") == [
        "it starts once team-a/r ends",
        "it starts once all pods of team-a/r run",
    ]


def test_a_low_unit_is_told_beside_whom_it_does_not_fit():
    """Spec 10.11c."""
    of = settled(
        quota(cpu=4),
        views=(
            queue(policy="Intelligent"),
            unit("r", cpu=3, phase=Phase.RUNNING),
            unit("high", cpu=4, priority=9),
            unit("w", cpu=1),
        ),
    )
    found = explain(of, "team-a/w", NOW)
    assert found.reason.message == "high-priority units of quota team-a go first"
    assert found.levels[0].aside == {"cpu": "4"}
    assert found.levels[0].text == (
        "quota team-a has not enough: 1 cpu requested, 3 cpu used of 4 cpu, "
        "4 cpu kept for those before it, most of it by team-a/r (3 cpu)"
    )
    assert "it starts once team-a/high, going first, waits no more" in texts(of, "w")


def test_of_many_ahead_the_first_five_are_named():
    views = [unit(f"w{number}", cpu=9, minute=number) for number in range(9)]
    found = explain(settled(quota(cpu=4), views=(queue(), *views)), "team-a/w8", NOW)
    assert [each.unit for each in found.ahead] == [f"team-a/w{number}" for number in range(5)]
    assert list(sentences(found))[1].endswith("team-a/w4 (priority 0) and 3 more")


def test_of_many_that_hold_what_is_short_the_five_that_hold_most_are_named():
    """Spec 19.6: whatever their quota below the level; of equal ones by name."""
    sizes = {"one": 1, "two": 2, "more": 2, "three": 3, "four": 4, "five": 5}
    runs = [
        unit(name, quota=name if name == "five" else "team-a", cpu=cpu, phase=Phase.RUNNING)
        for name, cpu in sizes.items()
    ]
    of = settled(
        quota("root", cpu=17),
        quota(parent="root"),
        quota("five", parent="root"),
        views=(queue(), *runs, unit("w", cpu=1, minute=1)),
    )
    (level,) = explain(of, "team-a/w", NOW).levels
    assert (level.quota, level.used, level.limit) == ("root", {"cpu": "17"}, {"cpu": "17"})
    names = ("five", "four", "three", "more", "two")
    assert [each.unit for each in level.holders] == [f"team-a/{name}" for name in names]
    assert [each.amounts["cpu"] for each in level.holders] == ["5", "4", "3", "2", "2"]


def test_a_level_in_which_nobody_holds_anything_names_nobody():
    found = explain(settled(quota(cpu=4), views=(queue(), unit("w", cpu=5))), "team-a/w", NOW)
    assert [each.text for each in found.levels] == [
        "quota team-a has not enough: 5 cpu requested, 0 cpu used of 4 cpu"
    ]


def test_of_several_short_resources_all_who_hold_any_are_named():
    """Spec 19.6: in the order of messages, those that hold most of the first come first."""
    sets = {"both": {"cpu": 1, "memory": "1Gi"}, "memory": {"memory": "3Gi"}, "cpu": {"cpu": 3}}
    runs = [
        unit(name, pod_sets=(pod_set(**asks),), phase=Phase.RUNNING) for name, asks in sets.items()
    ]
    asks = (pod_set(cpu=1, memory="1Gi"),)
    limited = quota(limit=amounts(cpu=4, memory="4Gi"))
    of = settled(limited, views=(queue(), *runs, unit("w", pod_sets=asks, minute=1)))
    (level,) = explain(of, "team-a/w", NOW).levels
    assert level.requested == {"cpu": "1", "memory": "1Gi"}
    assert [(each.unit, each.amounts) for each in level.holders] == [
        ("team-a/cpu", {"cpu": "3", "memory": "0"}),
        ("team-a/both", {"cpu": "1", "memory": "1Gi"}),
        ("team-a/memory", {"cpu": "0", "memory": "3Gi"}),
    ]


def test_checks_and_eta_are_told_as_given():
    check = check_wait("budget", "Pending", "asks", "2026-03-01T12:00:00Z")
    of = settled(quota(cpu=4), views=(queue(), unit("r", phase=Phase.RESERVED)))
    found = explain(of, "team-a/r", NOW, checks=[check])
    eta = Eta(at="2026-03-01T13:00:00Z", seconds=3600, low=60, high=7200, confidence=0.5)
    assert list(sentences(msgspec.structs.replace(found, eta=eta))) == [
        "state Reserved",
        "admission check budget is Pending (asks) since 2026-03-01T12:00:00Z",
        "expected to start at 2026-03-01T13:00:00Z, in 3600s (60s to 7200s, confidence 0.50)",
    ]


def test_there_is_no_explanation_of_a_unit_that_does_not_exist():
    assert explain(book(), "team-a/none", NOW) is None


def test_one_that_runs_is_told_as_its_object_says():
    told = condition("QuotaReserved", True, "QuotaReserved", "Running")
    views = (queue(), unit("r", phase=Phase.RUNNING, message="Running", conditions=(told,)))
    found = explain(settled(quota(cpu=4), views=views), "team-a/r", NOW)
    assert (found.state, found.reason.message, found.unblock) == ("Running", "Running", [])


def test_several_short_resources_are_lowered_together():
    sets = (pod_set("head", cpu=1), pod_set("worker", 2, cpu=2, memory="4Gi"))
    limited = quota(limit=amounts(cpu=4, memory="6Gi"))
    of = settled(limited, views=(queue(), unit("w", pod_sets=sets)))
    assert texts(of, "w")[:2] == [
        "it starts now with 1 pods in pod set worker instead of 2",
        "it starts now if each pod of pod set worker requests 1500m cpu, 3Gi memory "
        "instead of 2 cpu, 4Gi memory",
    ]
