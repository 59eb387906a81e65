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
    ],
    ids=["smaller or fewer", "above max", "the job that ends first"],
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
    assert "it starts once team-a/high, going first, waits no more" in texts(of, "w")


def test_of_many_ahead_the_first_five_are_named():
    views = [unit(f"w{number}", cpu=9, minute=number) for number in range(9)]
    found = explain(settled(quota(cpu=4), views=(queue(), *views)), "team-a/w8", NOW)
    assert [each.unit for each in found.ahead] == [f"team-a/w{number}" for number in range(5)]
    assert list(sentences(found))[1].endswith("team-a/w4 (priority 0) and 3 more")


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
