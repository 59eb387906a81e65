"""Why one waits that nobody may preempt, where it is min that bounds it (spec 11.13, 19.6)."""

import pytest
from builders import NOW, amounts, pod_set, queue, quota, quotas, unit
from explain_scene import settled, texts

from kq.core import keys
from kq.core.model import Phase
from kq.explain.explanation import explain, explain_unsent

KEPT = {keys.QUOTA_LABEL: "team-a", keys.PREEMPTIBLE_LABELS[0]: "false"}
RUNS = {"phase": Phase.RUNNING, "labels": KEPT}


def scene(*units, cpu=8, least=4):
    """A quota of so much at most, `least` of it for those that nobody may preempt."""
    team = quota(cpu=cpu, minimum=amounts(cpu=least))
    return settled(team, views=[queue(), *units], firm_within_min=True)


def wants(**fields):
    return unit("x", labels=KEPT, minute=1, **fields)


def test_the_level_says_that_its_min_has_not_enough():
    lent = unit("lent", cpu=2, phase=Phase.RUNNING)
    of = scene(lent, unit("a", cpu=3, **RUNS), wants(cpu=2))
    (level,) = explain(of, "team-a/x", NOW).levels
    assert (level.of_min, level.requested, level.used, level.limit) == (
        True,
        {"cpu": "2"},
        {"cpu": "3"},
        {"cpu": "4"},
    )
    assert level.text == (
        "min of quota team-a has not enough for jobs that are not preemptible: "
        "2 cpu requested, 3 cpu used of 4 cpu, most of it by team-a/a (3 cpu)"
    )


def test_max_and_min_that_have_not_enough_are_told_apart():
    of = scene(unit("a", cpu=3, **RUNS), wants(cpu=2), cpu=4)
    levels = explain(of, "team-a/x", NOW).levels
    assert [(each.of_min, each.used, each.limit) for each in levels] == [
        (False, {"cpu": "3"}, {"cpu": "4"}),
        (True, {"cpu": "3"}, {"cpu": "4"}),
    ]


def test_the_min_that_would_let_it_start_is_named():
    of = scene(unit("a", cpu=3, **RUNS), wants(cpu=2))
    assert "it starts if limits rise: min of cpu of quota team-a by 1 to 5" in texts(of, "x")
    higher = quotas(quota(cpu=8, minimum=amounts(cpu=5)), firm_within_min=True)
    of.set_quotas(higher, structure_changed=False)
    assert [each.name for each in of.cycle("team-a", NOW)] == ["x"]


def test_a_resource_that_min_does_not_name_has_to_be_named():
    of = scene(wants(pod_sets=(pod_set(cpu=1, memory="1Gi"),)))
    text = "it starts if limits rise: min of memory of quota team-a by 1Gi to 1Gi"
    assert text in texts(of, "x")


def test_who_would_have_to_end_is_one_that_nobody_may_preempt():
    lent = unit("lent", cpu=4, phase=Phase.RUNNING)
    of = scene(lent, unit("a", cpu=3, **RUNS), wants(cpu=1, replicas=2), cpu=9)
    found = {each.__class__.__name__: each for each in explain(of, "team-a/x", NOW).unblock}
    assert [each.unit for each in found["EndJobs"].jobs] == ["team-a/a"]
    assert found["FewerPods"].count == 1


@pytest.mark.parametrize(
    ("labels", "obstacle"),
    [
        pytest.param({keys.QUOTA_LABEL: "team-a"}, "", id="may be preempted"),
        pytest.param(
            KEPT,
            "cannot start: 5 cpu requested, "
            "but min of quota team-a is 4 for jobs that are not preemptible",
            id="may not",
        ),
    ],
)
def test_a_job_that_is_not_submitted_yet_is_told_whether_it_can_fit(labels, obstacle):
    found = explain_unsent(scene(), unit("x", cpu=5, labels=labels), NOW)
    assert (found.starts, found.obstacle) == (not obstacle, obstacle)
    assert found.request == {"cpu": "5"}
