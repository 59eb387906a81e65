"""JobSet, played: its Jobs, their order, and what their ends mean."""

from typing import Any

import pytest
from cluster_objects import NOW, ago, driven, job, owned_by
from kubeflow_objects import custom, deleted, made, message, said, status_in, template

from kq.sim.control.objects import JOBS
from kq.sim.control.view import Known
from kq.sim.control.writes import Create, Delete, Propagation, Replace, Write
from kq.sim.jobset.jobsets import JobSets

PREFIX = "jobset.sigs.k8s.io"


def jobset(*names: str, status: Any = None, replicas: int = 1, **spec: Any) -> Any:
    """A JobSet of replicated jobs with these names."""
    listed = [
        {"name": name, "replicas": replicas, "template": {"spec": {"template": template("main")}}}
        for name in names or ("driver", "workers")
    ]
    body = {"replicatedJobs": listed, **spec}
    return custom("jobset.x-k8s.io/v1alpha2", "JobSet", body, status=status)


def child(owner: Any, name: str, *, index: int = 0, restarts: int = 0, **more: Any) -> Any:
    """A Job that a JobSet made."""
    status = more.pop("status", {})
    meta = {
        "ownerReferences": [owned_by(owner)],
        "labels": {
            f"{PREFIX}/replicatedjob-name": name,
            f"{PREFIX}/restart-attempt": str(restarts),
        },
    }
    return job(f"a-{name}-{index}", meta=meta, status=status, **more)


def ended(type_: str, seconds: int = 1, **more: Any) -> Any:
    entry = {"type": type_, "status": "True", "lastTransitionTime": ago(seconds), **more}
    return {"conditions": [entry]}


def look(owner: Any, *jobs: Any) -> list[Write]:
    known = [Known(JOBS, each) for each in jobs]
    return driven(JobSets().sync(owner, known, NOW))[0]


def counts(status: Any) -> dict[str, dict[str, int]]:
    """What is not 0, by the name of the replicated job."""
    return {
        each["name"]: {key: n for key, n in each.items() if n and key != "name"}
        for each in status["replicatedJobsStatus"]
    }


def changed(writes: list[Write]) -> dict[str, bool]:
    """The Jobs that were suspended or resumed."""
    return {
        each.body["metadata"]["name"]: each.body["spec"]["suspend"]
        for each in writes
        if isinstance(each, Replace) and not each.subresource
    }


def test_a_jobset_made_held_has_held_jobs() -> None:
    writes = look(jobset(suspend=True))
    assert made(writes) == ["a-driver-0", "a-workers-0"]
    assert all(each.body["spec"]["suspend"] for each in writes if isinstance(each, Create))
    assert said(status_in(writes)) == ["Suspended"]
    assert status_in(writes)["restarts"] == 0
    assert [each["name"] for each in status_in(writes)["replicatedJobsStatus"]] == [
        "workers",
        "driver",
    ]


def test_one_that_was_never_held_says_nothing_of_it() -> None:
    writes = look(jobset("one", replicas=2))
    assert made(writes) == ["a-one-0", "a-one-1"]
    assert "conditions" not in status_in(writes)


def test_jobs_and_their_pods_bear_the_same_marks() -> None:
    first, second, *_ = [each.body for each in look(jobset("x", "y", replicas=2))]
    third = look(jobset("x", "y", replicas=2))[2].body  # type: ignore[union-attr]
    for made_job in (first, second, third):
        pod = made_job["spec"]["template"]["metadata"]
        assert made_job["metadata"]["labels"] == pod["labels"] == pod["annotations"]
    marks = {
        key.removeprefix(f"{PREFIX}/"): each for key, each in third["metadata"]["labels"].items()
    }
    assert len(marks.pop("job-key")) == 40
    assert marks == {
        "jobset-name": "a",
        "jobset-uid": "uid-a",
        "replicatedjob-name": "y",
        "replicatedjob-replicas": "2",
        "restart-attempt": "0",
        "global-replicas": "4",
        "job-index": "0",
        "job-global-index": "2",
        "group-name": "default",
        "group-replicas": "4",
        "job-group-index": "2",
    }


def test_what_its_webhook_would_default_is_read_into_its_jobs() -> None:
    body = look(jobset("x"))[0].body  # type: ignore[union-attr]
    pod = body["spec"]["template"]["spec"]
    assert body["spec"]["completionMode"] == "Indexed"
    assert (pod["restartPolicy"], pod["subdomain"]) == ("OnFailure", "a")
    bare = look(jobset("x", network={"enableDNSHostnames": False}))[0].body  # type: ignore[union-attr]
    assert "subdomain" not in bare["spec"]["template"]["spec"]


def test_a_suspended_jobset_suspends_its_jobs_whoever_resumed_them() -> None:
    owner = jobset(suspend=True)
    writes = look(owner, child(owner, "driver"), child(owner, "workers", suspend=True))
    assert changed(writes) == {"a-driver-0": True}
    assert said(status_in(writes)) == ["Suspended"]


def test_a_resumed_jobset_resumes_its_jobs_with_what_it_says_by_now() -> None:
    suspended = {"type": "Suspended", "status": "True", "reason": "", "message": ""}
    owner = jobset("x", status={"conditions": [suspended]})
    pod = owner["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    pod["metadata"]["labels"] = {"team": "x"}
    pod["spec"]["tolerations"] = [{"key": "k"}]
    pod["spec"]["nodeSelector"] = {"zone": "b"}
    old = child(owner, "x", suspend=True, status={"startTime": ago(5)})
    old["spec"]["template"]["spec"]["tolerations"] = [{"key": "j"}]
    writes = look(owner, old)
    first = next(each for each in writes if isinstance(each, Replace))
    assert (first.subresource, first.body["status"]) == ("status", {})
    [released] = [
        each.body for each in writes if isinstance(each, Replace) and not each.subresource
    ]
    spec = released["spec"]["template"]["spec"]
    assert spec["tolerations"] == [{"key": "j"}, {"key": "k"}]
    assert spec["nodeSelector"] == {"zone": "b"}
    assert released["spec"]["template"]["metadata"]["labels"] == {"job-name": "a-x-0", "team": "x"}
    assert said(status_in(writes)) == ["-Suspended"]


def test_jobs_are_counted_by_how_they_fare() -> None:
    owner = jobset("x", "y", "z")
    told = look(
        owner,
        child(owner, "x", status={"active": 1, "ready": 1}),
        child(owner, "y", suspend=True),
        child(owner, "z", status=ended("Complete")),
    )
    assert counts(status_in(told)) == {
        "x": {"active": 1, "ready": 1},
        "y": {"suspended": 1},
        "z": {"succeeded": 1},
    }


@pytest.mark.parametrize(
    ("policy", "done", "is_over"),
    [
        pytest.param({}, ["driver"], False, id="one of two"),
        pytest.param({}, ["driver", "workers"], True, id="all"),
        pytest.param({"operator": "Any"}, ["workers"], True, id="any"),
        pytest.param(
            {"operator": "All", "targetReplicatedJobs": ["driver"]}, ["driver"], True, id="aimed at"
        ),
        pytest.param(
            {"operator": "All", "targetReplicatedJobs": ["driver"]}, ["workers"], False, id="aside"
        ),
    ],
)
def test_a_jobset_ends_as_its_success_policy_says(policy: Any, done: Any, is_over: bool) -> None:
    owner = jobset(**({"successPolicy": policy} if policy else {}))
    jobs = [
        child(owner, name, status=ended("Complete") if name in done else {})
        for name in ("driver", "workers")
    ]
    told = status_in(look(owner, *jobs))
    assert (said(told) == ["Completed"]) is is_over
    assert told.get("terminalState") == ("Completed" if is_over else None)


def test_what_is_active_after_the_end_is_deleted_its_pods_first() -> None:
    owner = jobset(status={**ended("Completed"), "restarts": 0}, ttlSecondsAfterFinished=5)
    writes = look(owner, child(owner, "workers"), child(owner, "driver", status=ended("Complete")))
    [gone] = [each for each in writes if isinstance(each, Delete)]
    assert (gone.name, gone.propagation) == ("a-workers-0", Propagation.FOREGROUND)
    old = jobset(status=ended("Completed", 5), ttlSecondsAfterFinished=5)
    assert deleted(look(old)) == ["a"]


RULES = [
    {"action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]},
    {"action": "RestartJobSetAndIgnoreMaxRestarts", "onJobFailureMessagePatterns": ["^lost"]},
    {"action": "FailJobSet", "targetReplicatedJobs": ["driver"]},
]


@pytest.mark.parametrize(
    ("policy", "failure", "restarts", "reason"),
    [
        pytest.param(None, {}, 0, "FailedJobs", id="no policy"),
        pytest.param({"maxRestarts": 1}, {}, 1, "", id="a restart that is left"),
        pytest.param({"maxRestarts": 0}, {}, 0, "ReachedMaxRestarts", id="none left"),
        pytest.param(
            {"maxRestarts": 1, "rules": RULES},
            {"reason": "DeadlineExceeded"},
            0,
            "FailJobSetFailurePolicyAction",
            id="by its reason",
        ),
        pytest.param(
            {"maxRestarts": 0, "rules": RULES}, {"message": "lost it"}, 1, "", id="by its message"
        ),
        pytest.param(
            {"maxRestarts": 1, "rules": RULES[2:]},
            {},
            0,
            "FailJobSetFailurePolicyAction",
            id="by its name",
        ),
    ],
)
def test_a_failed_job_is_judged(policy: Any, failure: Any, restarts: int, reason: str) -> None:
    owner = jobset("driver", **({"failurePolicy": policy} if policy is not None else {}))
    told = status_in(look(owner, child(owner, "driver", status=ended("Failed", **failure))))
    assert told["restarts"] == restarts
    if reason:
        assert told["conditions"][-1]["reason"] == reason
        assert message(told).endswith("(first failed job: a-driver-0)")
        assert told["terminalState"] == "Failed"
    else:
        assert "terminalState" not in told


@pytest.mark.parametrize(
    ("strategy", "makes"),
    [
        pytest.param("Recreate", ["a-driver-0"], id="beside the old"),
        pytest.param("BlockingRecreate", [], id="after the old"),
    ],
)
def test_after_a_restart_jobs_are_made_anew(strategy: str, makes: list[str]) -> None:
    policy = {"maxRestarts": 3, "restartStrategy": strategy}
    owner = jobset(failurePolicy=policy, status={"restarts": 1})
    writes = look(owner, child(owner, "workers"))
    assert (deleted(writes), made(writes)) == (["a-workers-0"], makes)


READY = {"active": 1, "ready": 1}


@pytest.mark.parametrize(
    ("spec", "there", "makes", "words"),
    [
        pytest.param(
            {"startupPolicy": {"startupPolicyOrder": "InOrder"}},
            {},
            ["a-x-0"],
            ["StartupPolicyInProgress"],
            id="in order, the first",
        ),
        pytest.param(
            {"startupPolicy": {"startupPolicyOrder": "InOrder"}},
            {"x": READY},
            ["a-y-0"],
            ["StartupPolicyInProgress"],
            id="in order, the second",
        ),
        pytest.param(
            {"startupPolicy": {"startupPolicyOrder": "InOrder"}},
            {"x": READY, "y": READY},
            [],
            ["StartupPolicyCompleted"],
            id="in order, all",
        ),
        pytest.param({"after": "Ready"}, {"x": {}}, [], [], id="not ready"),
        pytest.param({"after": "Ready"}, {"x": READY}, ["a-y-0"], [], id="ready"),
        pytest.param({"after": "Complete"}, {"x": READY}, [], [], id="not complete"),
        pytest.param({"after": "Complete"}, {"x": ended("Complete")}, ["a-y-0"], [], id="complete"),
    ],
)
def test_jobs_start_in_their_order(spec: Any, there: Any, makes: Any, words: Any) -> None:
    after = spec.pop("after", None) if "after" in spec else None
    owner = jobset("x", "y", **spec)
    if after:
        owner["spec"]["replicatedJobs"][1]["dependsOn"] = [{"name": "x", "status": after}]
        spec["after"] = after
    writes = look(owner, *(child(owner, name, status=each) for name, each in there.items()))
    assert made(writes) == makes
    assert said(status_in(writes)) == words


def test_of_two_startup_conditions_one_takes_back_the_other() -> None:
    done = {"type": "StartupPolicyCompleted", "status": "True", "reason": "", "message": ""}
    order = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}
    owner = jobset("x", status={"conditions": [done]}, **order)
    told = status_in(look(owner, child(owner, "x", suspend=True)))
    assert said(told) == ["-StartupPolicyCompleted", "StartupPolicyInProgress"]


def test_a_jobset_of_another_controller_or_one_that_is_deleted_is_left_alone() -> None:
    assert look(jobset(managedBy="example.com/other")) == []
    going = jobset()
    going["metadata"]["deletionTimestamp"] = ago(0)
    assert look(going) == []
