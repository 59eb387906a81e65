from datetime import timedelta

import pytest
from cluster_objects import (
    NOW,
    accepted,
    ago,
    driven,
    job,
    pod,
    refused,
    told,
    words,
    written,
)

from kq.core.codec import format_time
from kq.sim.api.status import ApiStatus
from kq.sim.control.writes import Create, Patch, Replace
from kq.sim.jobs.failures import Backoff
from kq.sim.jobs.syncing import sync

STARTED = {"startTime": ago(30), "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}}
RUNS = {**STARTED, "active": 1, "ready": 1}


def look(owner, *pods, backoffs=None):
    return sync(owner, pods, NOW, {} if backoffs is None else backoffs)


def statuses(owner, *pods, answer=accepted):
    writes = written(look(owner, *pods), answer)
    return [each.body["status"] for each in writes if isinstance(each, Replace)]


def conditions(status):
    return [(each["type"], each["status"]) for each in status.get("conditions", ())]


def test_a_new_job_gets_its_pods_and_then_says_so():
    writes = written(look(job(parallelism=2, completions=3)))
    assert words(writes) == ["create pods", "create pods", "replace status of a"]
    assert writes[-1].body["status"] == {**STARTED, "startTime": format_time(NOW), "active": 2}


def test_a_pod_is_made_from_the_template_and_kept_until_it_is_counted():
    body = written(look(job()))[0].body
    assert body["metadata"] == {
        "generateName": "a-",
        "labels": {"job-name": "a"},
        "ownerReferences": [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": "a",
                "uid": "job-a",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        "finalizers": ["batch.kubernetes.io/job-tracking"],
    }


def test_a_job_made_suspended_only_says_that_it_is():
    [status] = statuses(job(suspend=True))
    assert conditions(status) == [("Suspended", "True")]
    assert "startTime" not in status
    assert "active" not in status


def test_a_job_that_is_resumed_starts_anew():
    held = {**STARTED, "conditions": [{"type": "Suspended", "status": "True"}]}
    del held["startTime"]
    [status] = statuses(job(status=held))
    assert conditions(status) == [("Suspended", "False")]
    assert status["startTime"] == format_time(NOW)
    assert status["active"] == 1


def test_pods_of_a_suspended_job_are_let_go_of_and_deleted_and_not_counted():
    owner = job(suspend=True, status=RUNS)
    writes = written(look(owner, pod(owner=owner)))
    assert words(writes) == ["patch meta of p", "delete p", "replace status of a"]
    status = writes[-1].body["status"]
    assert conditions(status) == [("Suspended", "True")]
    assert (status["terminating"], status["ready"]) == (1, 0)
    assert "startTime" not in status
    assert "active" not in status


def test_a_look_at_a_job_as_it_should_be_writes_nothing():
    owner = job(status=RUNS)
    assert written(look(owner, pod(owner=owner))) == []


def test_a_job_completes_in_two_writes_with_its_pod_let_go_of_between():
    owner = job(status=RUNS)
    writes = written(look(owner, pod(owner=owner, phase="Succeeded")))
    assert words(writes) == ["replace status of a", "patch meta of p", "replace status of a"]
    first, last = writes[0].body["status"], writes[-1].body["status"]
    assert first["uncountedTerminatedPods"] == {"succeeded": ["pod-p"]}
    assert conditions(first) == [("SuccessCriteriaMet", "True")]
    assert conditions(last) == [("SuccessCriteriaMet", "True"), ("Complete", "True")]
    assert (last["succeeded"], last["uncountedTerminatedPods"]) == (1, {})
    assert last["completionTime"] == format_time(NOW)


def test_a_job_that_completes_says_so_to_people():
    owner = job(status=RUNS)
    assert told(look(owner, pod(owner=owner, phase="Succeeded"))) == ["Completed"]


def test_a_job_is_not_at_its_end_while_another_pod_runs():
    owner = job(status={**RUNS, "active": 2, "ready": 2}, completions=2, parallelism=2)
    pods = [pod("p", owner=owner, phase="Succeeded"), pod("q", owner=owner)]
    first, last = statuses(owner, *pods)
    assert conditions(last) == []
    assert (last["succeeded"], last["active"]) == (1, 1)
    assert first["uncountedTerminatedPods"] == {"succeeded": ["pod-p"]}


def test_a_failed_pod_is_replaced_after_a_while():
    owner = job(status=RUNS)
    backoffs = {}
    failed = pod(owner=owner, phase="Failed", meta={"creationTimestamp": ago(4)})
    writes, again = driven(look(owner, failed, backoffs=backoffs))
    assert not [each for each in writes if isinstance(each, Create)]
    assert again == timedelta(seconds=6)
    assert backoffs == {"job-a": Backoff(1, NOW - timedelta(seconds=4))}


def test_the_replacement_comes_when_the_wait_is_over():
    owner = job(status={**STARTED, "failed": 1})
    backoffs = {"job-a": Backoff(1, NOW - timedelta(seconds=10))}
    assert words(written(look(owner, backoffs=backoffs))) == [
        "create pods",
        "replace status of a",
    ]


def test_one_failure_more_than_allowed_fails_the_job():
    owner = job(status=RUNS, backoffLimit=0)
    first, last = statuses(owner, pod(owner=owner, phase="Failed"))
    assert conditions(first) == [("FailureTarget", "True")]
    assert conditions(last) == [("FailureTarget", "True"), ("Failed", "True")]
    assert last["failed"] == 1
    assert {each["reason"] for each in last["conditions"]} == {"BackoffLimitExceeded"}


def test_a_failed_job_has_ended_only_when_its_pods_have():
    owner = job(status={**RUNS, "active": 2, "ready": 2}, backoffLimit=0, parallelism=2)
    pods = [pod("p", owner=owner, phase="Failed"), pod("q", owner=owner)]
    writes = written(look(owner, *pods))
    assert words(writes)[:2] == ["delete q", "replace status of a"]
    last = writes[-1].body["status"]
    assert conditions(last) == [("FailureTarget", "True")]
    assert (last["failed"], last["terminating"]) == (2, 1)


def test_a_job_whose_pods_are_gone_ends_as_it_was_announced():
    announced = [{"type": "FailureTarget", "status": "True", "reason": "R", "message": "M"}]
    status = {**STARTED, "failed": 2, "terminating": 1, "conditions": announced}
    [last] = statuses(job(status=status, backoffLimit=0))[-1:]
    assert conditions(last) == [("FailureTarget", "True"), ("Failed", "True")]
    assert last["conditions"][1]["reason"] == "R"


def test_a_job_that_was_active_too_long_fails():
    owner = job(status=RUNS, activeDeadlineSeconds=30)
    assert "DeadlineExceeded" in str(statuses(owner, pod(owner=owner))[0]["conditions"])


def test_a_job_with_a_deadline_is_looked_at_again_then():
    owner = job(status=RUNS, activeDeadlineSeconds=50)
    assert driven(look(owner, pod(owner=owner)))[1] == timedelta(seconds=20)


def test_a_pod_deleted_by_hand_counts_as_failed():
    owner = job(status=RUNS)
    first, last = statuses(owner, pod(owner=owner, deleted=True))
    assert first["uncountedTerminatedPods"] == {"failed": ["pod-p"]}
    assert (last["failed"], last["terminating"]) == (1, 1)


def test_pods_that_are_too_many_are_deleted_the_least_advanced_first():
    owner = job(status={**RUNS, "active": 3, "ready": 1}, parallelism=1, completions=3)
    pods = [
        pod("runs", owner=owner),
        pod("bound", owner=owner, phase="Pending"),
        pod("new", owner=owner, phase="Pending", node=""),
    ]
    writes = words(written(look(owner, *pods)))
    assert writes[:4] == [
        "patch meta of new",
        "delete new",
        "patch meta of bound",
        "delete bound",
    ]


def test_pods_are_made_in_batches_that_double_until_one_is_refused():
    asked = []

    def answer(write):
        if isinstance(write, Create):
            asked.append(write)
        return refused("Forbidden", 403, "exceeded quota") if len(asked) == 2 else accepted(write)

    with pytest.raises(ApiStatus, match="exceeded quota"):
        driven(look(job(parallelism=9, completions=9)), answer)
    assert len(asked) == 1 + 2


def test_what_was_made_before_a_refusal_counts():
    made = []

    def answer(write):
        if isinstance(write, Create):
            made.append(write)
            return accepted(write) if len(made) == 1 else refused("Forbidden", 403)
        seen.append(write)
        return accepted(write)

    seen = []
    with pytest.raises(ApiStatus):
        driven(look(job(parallelism=3, completions=3)), answer)
    assert [each.body["status"]["active"] for each in seen if isinstance(each, Replace)] == [1]


def test_a_namespace_that_ends_is_no_failure():
    refusal = ApiStatus(403, "Forbidden", "no", {"causes": [{"reason": "NamespaceTerminating"}]})
    writes = written(
        look(job()), lambda each: refusal if isinstance(each, Create) else accepted(each)
    )
    assert words(writes) == ["create pods", "replace status of a"]


def test_a_conflict_leaves_everything_to_the_next_look():
    owner = job(status=RUNS)
    seen = []

    def answer(write):
        seen.append(write)
        return refused("Conflict") if isinstance(write, Replace) else accepted(write)

    with pytest.raises(ApiStatus):
        driven(look(owner, pod(owner=owner, phase="Succeeded")), answer)
    assert words(seen) == ["replace status of a"]


def test_a_pod_that_cannot_be_let_go_of_is_not_counted():
    owner = job(status={**RUNS, "active": 2, "ready": 2}, completions=2, parallelism=2)
    pods = [pod(name, owner=owner, phase="Succeeded") for name in "pq"]
    seen = []

    def answer(write):
        seen.append(write)
        is_stuck = isinstance(write, Patch) and write.name == "q"
        return refused("InternalError", 500) if is_stuck else accepted(write)

    with pytest.raises(ApiStatus):
        driven(look(owner, *pods), answer)
    last = seen[-1].body["status"]
    assert (last["succeeded"], last["uncountedTerminatedPods"]) == (1, {"succeeded": ["pod-q"]})


def test_a_pod_that_is_gone_already_is_counted():
    owner = job(status=RUNS)
    missing = refused("NotFound", 404)
    found = statuses(
        owner,
        pod(owner=owner, phase="Succeeded"),
        answer=lambda each: missing if isinstance(each, Patch) else accepted(each),
    )
    assert found[-1]["succeeded"] == 1


def test_a_job_that_is_being_deleted_makes_no_pods():
    owner = job(meta={"deletionTimestamp": ago(1)}, completions=2, parallelism=2)
    assert "create pods" not in words(written(look(owner, pod(owner=owner))))


def test_pods_of_a_deleted_job_are_let_go_of():
    owner = job(status=RUNS, meta={"deletionTimestamp": ago(1)})
    assert words(written(look(owner, pod(owner=owner)))) == ["patch meta of p"]


INDEXED = {"completionMode": "Indexed", "completions": 4, "parallelism": 2}


def test_the_lowest_indexes_come_first():
    bodies = [each.body for each in written(look(job(**INDEXED)))[:2]]
    key = "batch.kubernetes.io/job-completion-index"
    assert [each["metadata"]["annotations"][key] for each in bodies] == ["0", "1"]
    assert [each["metadata"]["labels"][key] for each in bodies] == ["0", "1"]
    assert [each["metadata"]["generateName"] for each in bodies] == ["a-0-", "a-1-"]
    assert [each["spec"]["hostname"] for each in bodies] == ["a-0", "a-1"]


def test_containers_learn_their_index():
    [container] = written(look(job(**INDEXED)))[0].body["spec"]["containers"]
    [variable] = container["env"]
    path = "metadata.labels['batch.kubernetes.io/job-completion-index']"
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == path


def test_completed_indexes_are_counted_once():
    owner = job(status={**RUNS, "completedIndexes": "0", "succeeded": 1}, **INDEXED)
    pods = [
        pod("p", owner=owner, phase="Succeeded", index=0),
        pod("q", owner=owner, phase="Succeeded", index=2),
        pod("r", owner=owner, index=1),
    ]
    first = statuses(owner, *pods)[0]
    assert (first["completedIndexes"], first["succeeded"]) == ("0,2", 2)
    assert first["uncountedTerminatedPods"] == {}


def test_each_index_runs_once():
    owner = job(status={**RUNS, "active": 3, "ready": 3}, **INDEXED)
    pods = [pod(name, owner=owner, index=index) for name, index in (("p", 0), ("q", 0), ("r", 1))]
    deleted = [each for each in words(written(look(owner, *pods))) if each.startswith("delete")]
    assert deleted in (["delete p"], ["delete q"])


def test_enough_indexes_can_be_all_that_is_wanted():
    policy = {"rules": [{"succeededIndexes": "1-2", "succeededCount": 1}]}
    owner = job(status={**RUNS, "active": 2, "ready": 2}, successPolicy=policy, **INDEXED)
    pods = [pod("p", owner=owner, phase="Succeeded", index=1), pod("q", owner=owner, index=0)]
    writes = written(look(owner, *pods))
    assert words(writes)[:2] == ["delete q", "replace status of a"]
    assert conditions(writes[1].body["status"]) == [("SuccessCriteriaMet", "True")]
