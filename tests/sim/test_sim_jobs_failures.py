from datetime import timedelta

import pytest
from cluster_objects import NOW, ago, job, pod

from kq.sim.jobs.failures import (
    Backoff,
    finished_at,
    is_failed,
    is_over_restarts,
    job_failure,
    verdict,
)


def ended(name, seconds_ago, code=1):
    state = {"terminated": {"exitCode": code, "finishedAt": ago(seconds_ago)}}
    phase = "Failed" if code else "Succeeded"
    return pod(name, phase=phase, status={"containerStatuses": [{"name": "main", "state": state}]})


@pytest.mark.parametrize(
    ("failures", "wait"),
    [
        pytest.param(0, 0, id="none"),
        pytest.param(1, 10, id="the first"),
        pytest.param(2, 20, id="doubled"),
        pytest.param(6, 320, id="doubled on"),
        pytest.param(7, 600, id="cut at ten minutes"),
        pytest.param(500, 600, id="for ever"),
    ],
)
def test_the_wait_doubles_with_each_failure(failures, wait):
    assert Backoff(failures, NOW).remaining(NOW) == timedelta(seconds=wait)


def test_the_wait_runs_from_the_last_failure():
    backoff = Backoff().after([], [ended("a", 4), ended("b", 7)])
    assert backoff == Backoff(2, NOW - timedelta(seconds=4))
    assert backoff.remaining(NOW) == timedelta(seconds=16)


def test_a_success_forgets_earlier_failures_alone():
    failed = [ended("a", 9), ended("b", 2)]
    succeeded = [ended("c", 5, code=0)]
    assert Backoff(3, NOW).after(succeeded, failed) == Backoff(1, NOW - timedelta(seconds=2))


def test_nothing_new_changes_nothing():
    assert Backoff(3, NOW).after([], []) == Backoff(3, NOW)


@pytest.mark.parametrize(
    ("made", "when"),
    [
        pytest.param(ended("p", 5), 5, id="by its containers"),
        pytest.param(
            pod(
                phase="Failed",
                status={
                    "conditions": [
                        {"type": "Ready", "status": "False", "lastTransitionTime": ago(8)}
                    ]
                },
            ),
            8,
            id="by its readiness",
        ),
        pytest.param(pod(deleted=True), 0, id="by its deletion"),
        pytest.param(pod(phase="Failed"), 60, id="by its creation"),
    ],
)
def test_a_pod_ended_when_it_says_so(made, when):
    assert finished_at(made) == NOW - timedelta(seconds=when)


@pytest.mark.parametrize(
    ("spec", "made", "fails"),
    [
        pytest.param({}, pod(phase="Failed"), True, id="failed"),
        pytest.param({}, pod(deleted=True), True, id="being deleted"),
        pytest.param({}, pod(phase="Succeeded", deleted=True), False, id="succeeded before"),
        pytest.param({"podReplacementPolicy": "Failed"}, pod(deleted=True), False, id="not yet"),
        pytest.param({}, pod(), False, id="running"),
    ],
)
def test_a_deleted_pod_counts_as_failed_unless_the_job_waits_for_its_end(spec, made, fails):
    assert is_failed(made, job(**spec)) is fails


def policy(*rules):
    return {"podFailurePolicy": {"rules": list(rules)}}


def codes(action, operator, *values, container=None):
    rule = {"operator": operator, "values": list(values)}
    return {
        "action": action,
        "onExitCodes": rule | ({"containerName": container} if container else {}),
    }


def conditions(action, type_):
    return {"action": action, "onPodConditions": [{"type": type_, "status": "True"}]}


DISRUPTED = pod(
    phase="Failed", status={"conditions": [{"type": "DisruptionTarget", "status": "True"}]}
)
FAIL_TEXT = "Container main for pod n/p failed with exit code 3 matching FailJob rule at index 1"


@pytest.mark.parametrize(
    ("rules", "made", "counts", "message"),
    [
        pytest.param([], ended("p", 1, 3), True, "", id="no rule"),
        pytest.param([codes("Ignore", "In", 3)], ended("p", 1, 3), False, "", id="ignored"),
        pytest.param([codes("Ignore", "NotIn", 3)], ended("p", 1, 3), True, "", id="not meant"),
        pytest.param(
            [codes("Ignore", "In", 4), codes("FailJob", "In", 3)],
            ended("p", 1, 3),
            True,
            FAIL_TEXT,
            id="fails the job",
        ),
        pytest.param(
            [codes("FailJob", "In", 3, container="other")], ended("p", 1, 3), True, "", id="other"
        ),
        pytest.param(
            [conditions("FailJob", "DisruptionTarget")],
            DISRUPTED,
            True,
            "Pod n/p has condition DisruptionTarget matching FailJob rule at index 0",
            id="by a condition",
        ),
        pytest.param([codes("Count", "In", 3)], ended("p", 1, 3), True, "", id="counted"),
    ],
)
def test_a_policy_says_what_a_failure_means(rules, made, counts, message):
    owner = job(**policy(*rules))
    found = verdict(owner, made)
    assert (found.counts, found.message) == (counts, message)
    assert job_failure(owner, [made]) == message


@pytest.mark.parametrize(
    ("limit", "restarts", "over"),
    [(0, 0, False), (0, 1, True), (3, 2, False), (3, 3, True)],
)
def test_restarts_in_place_count_against_the_limit(limit, restarts, over):
    owner = job(backoffLimit=limit)
    owner["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    made = pod(status={"containerStatuses": [{"name": "main", "restartCount": restarts}]})
    assert is_over_restarts(owner, [made]) is over
