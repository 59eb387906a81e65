"""What a unit asks, and what it has in use (spec 11.7, 11.9, 11.11)."""

import msgspec
import pytest
from builders import amounts, charge_of, grant, pod, pod_set, request_of, unit

from kq.core.model import Phase
from kq.core.resources import ZERO
from kq.decide.charge import all_run
from kq.decide.pods import PodGroup

JOBS = {"koord-queue/max-jobs": 1, "kube-queue/max-jobs": 1}


def group(*pods):
    made = PodGroup()
    for number, each in enumerate(pods):
        made.put(msgspec.structs.replace(each, name=f"p{number}", uid=f"p{number}"))
    return made


def named(resources):
    """Without the count of jobs, which each charge has."""
    found = dict(resources.items())
    assert {key: found.pop(key, None) for key in JOBS} == JOBS
    return {name: amount for name, amount in found.items() if amount}


@pytest.mark.parametrize(
    ("pod_sets", "expected"),
    [
        pytest.param((), {}, id="no pods at all"),
        pytest.param((pod_set(count=0, cpu=4),), {}, id="a role without pods"),
        pytest.param((pod_set(count=3, cpu=2),), {"cpu": 6000, "pods": 3}, id="count x pod"),
        pytest.param(
            (pod_set("ps", 1, cpu=1, memory="1Gi"), pod_set("worker", 2, cpu=1, memory="1Gi")),
            {"cpu": 3000, "memory": 3 * 1024**3, "pods": 3},
            id="the vendor's example (case B5)",
        ),
        pytest.param(
            (pod_set(count=1_000_000, cpu="1m"),),
            {"cpu": 1_000_000, "pods": 1_000_000},
            id="a million pods at once (case O1)",
        ),
    ],
)
def test_a_request_is_the_sum_over_pod_sets(pod_sets, expected):
    assert named(request_of(pod_sets)) == expected


HELD = {"cpu": 2, "replicas": 2, "phase": Phase.RUNNING}


@pytest.mark.parametrize(
    ("each", "pods", "expected"),
    [
        pytest.param(unit(), None, None, id="waits: nothing"),
        pytest.param(unit(**HELD), None, {"cpu": 4000, "pods": 2}, id="no pods yet (case E6)"),
        pytest.param(
            unit(**HELD), [pod(cpu=2)] * 2, {"cpu": 4000, "pods": 2}, id="pods are not added"
        ),
        pytest.param(
            unit(**HELD), [pod(cpu=2)] * 3, {"cpu": 6000, "pods": 3}, id="more pods than granted"
        ),
        pytest.param(
            unit(**HELD), [pod(cpu=1)], {"cpu": 4000, "pods": 2}, id="fewer pods than granted"
        ),
        pytest.param(
            unit(**HELD),
            [pod(cpu=2, phase="Succeeded")] * 5,
            {"cpu": 4000, "pods": 2},
            id="ended pods do not count",
        ),
        pytest.param(
            unit(**HELD),
            [pod(cpu=5, phase="Pending")],
            {"cpu": 5000, "pods": 2},
            id="each resource for itself",
        ),
        pytest.param(
            unit(phase=Phase.SUCCEED),
            [pod(cpu=3)],
            {"cpu": 3000, "pods": 1},
            id="finished, its pods still run",
        ),
        pytest.param(unit(phase=Phase.SUCCEED), None, None, id="finished"),
        pytest.param(
            unit(grants=(grant(replicas=3, cpu=1),)), None, None, id="grants of a waiting unit"
        ),
        pytest.param(
            unit(phase=Phase.RESERVED, cpu=2), None, {"cpu": 2000, "pods": 1}, id="reserved"
        ),
        pytest.param(
            unit(phase=None, raw_phase="Odd", cpu=2, grants=(grant(replicas=3),)),
            None,
            {"cpu": 6000, "pods": 3},
            id="an unknown phase holds what its grants say (spec 9.3)",
        ),
        pytest.param(
            unit(phase=None, raw_phase="Odd", cpu=2), None, None, id="an unknown phase, no grants"
        ),
        pytest.param(
            unit(phase=Phase.RUNNING, grants=(grant("gone", 2, cpu=3),)),
            None,
            {"cpu": 6000, "pods": 2},
            id="a grant for an unknown pod set, by its resources (spec 22.1)",
        ),
        pytest.param(
            unit(phase=Phase.RUNNING, cpu=1),
            [pod(cpu=2, pod_set="whatever")],
            {"cpu": 2000, "pods": 1},
            id="with one role every pod is of that role",
        ),
    ],
)
def test_what_is_in_use(each, pods, expected):
    found = charge_of(each, group(*pods) if pods else None)
    assert (None if found == ZERO else named(found)) == expected


ROLES = (pod_set("head", 1, cpu=1), pod_set("worker", 2, cpu=2))


@pytest.mark.parametrize(
    ("pods", "cpu"),
    [
        pytest.param([], 5000, id="none"),
        pytest.param([pod(cpu=1, pod_set="head"), pod(cpu=2, pod_set="worker")], 5000, id="some"),
        pytest.param([pod(cpu=2, pod_set="worker")] * 4, 9000, id="more of one role"),
        pytest.param([pod(cpu=3, pod_set="")], 8000, id="a pod of no known role is counted too"),
    ],
)
def test_each_role_counts_for_itself(pods, cpu):
    each = unit(pod_sets=ROLES, phase=Phase.RUNNING)
    assert charge_of(each, group(*pods))["cpu"] == cpu


def test_a_holding_unit_without_grants_counts_as_its_pod_sets():
    """Spec 15.3: others have set the phase."""
    each = unit(cpu=2, replicas=2, phase=Phase.DEQUEUED, grants=())
    assert named(charge_of(each, None)) == {"cpu": 4000, "pods": 2}


def test_a_charge_covers_the_request_of_what_was_granted():
    for roles in (ROLES, (pod_set(count=3, cpu=2),), ()):
        each = unit(pod_sets=roles, phase=Phase.DEQUEUED)
        if roles:
            assert charge_of(each, None) == request_of(roles)
    assert amounts() == ZERO


def test_a_pod_without_a_role_is_the_submitter_of_a_ray_job():
    roles = (pod_set("head", 1, cpu=2), pod_set("submitter", 1, cpu=1))
    ray = unit(pod_sets=roles, phase=Phase.RUNNING)
    group = PodGroup()
    group.put(pod("head-0", pod_set="head", cpu=2))
    group.put(pod("submitter-0", pod_set="", cpu=1))
    assert charge_of(ray, group)["cpu"] == 3000


@pytest.mark.parametrize("phase", ["Running", "Succeeded", "Pending"])
def test_all_pods_of_a_rayjob_run_when_its_submitter_does_too(phase):
    """Spec 10.13; the submitter's pod says no role."""
    roles = (pod_set("head", cpu=1), pod_set("small", 2, cpu=1), pod_set("submitter", cpu=1))
    held = unit(pod_sets=roles, phase=Phase.DEQUEUED)
    ray = [pod(pod_set=role) for role in ("head", "small", "small")]
    assert not all_run(held, group(*ray))
    assert all_run(held, group(*ray, pod(phase=phase))) == (phase != "Pending")
