"""Jobs by role: what the options change, who owns them, and whatever stands in their fields."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_jobs_cases import NOW

from kq.core.keys import SUSPEND
from kq.core.model import JobView
from kq.jobs import INTEGRATIONS
from kq.jobs.children import claimed_maker
from kq.jobs.options import JobOptions
from kq.jobs.roles import MOST_LETTERS, pod_set_names

VERSIONS = {
    "tfjob": ["kubeflow.org/v1"],
    "pytorchjob": ["kubeflow.org/v1"],
    "xgboostjob": ["kubeflow.org/v1"],
    "paddlejob": ["kubeflow.org/v1"],
    "mpijob": ["kubeflow.org/v2beta1", "kubeflow.org/v1", "kubeflow.org/v1alpha1"],
    "jobset": ["jobset.x-k8s.io/v1alpha2"],
    "trainjob": ["trainer.kubeflow.org/v1alpha1"],
}
SPECS = {
    "tfjob": "tfReplicaSpecs",
    "pytorchjob": "pytorchReplicaSpecs",
    "xgboostjob": "xgbReplicaSpecs",
    "paddlejob": "paddleReplicaSpecs",
    "mpijob": "mpiReplicaSpecs",
}
KINDS = [(key, version) for key, versions in VERSIONS.items() for version in versions]

FEWER = settings(max_examples=settings().max_examples // 2)
"""As each kind has its own."""

WORDS = """
    replicas template spec metadata labels containers resources requests cpu Worker Master worker
    type status suspend name parallelism completions schedulingPolicy priorityClass maxReplicas a/b~
"""
NAMES = st.sampled_from([*WORDS.split(), SUSPEND, ""])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["", "true", "True", "Running", "Queuing", "Active", "2", "ü\u2028", "x" * 99]
    )
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=6,
)
PLACES = ("runPolicy", "replicas", "template", "launcherResources", "replicatedJobs", "suspend")
POLICIES = JSON | st.fixed_dictionaries({}, optional={"suspend": SCALARS, "managedBy": JSON})
STATUS = JSON | st.fixed_dictionaries(
    {},
    optional={
        "conditions": st.lists(JSON, max_size=4),
        "replicaStatuses": JSON,
        "launcherStatus": JSON,
        "startTime": JSON,
        "restarts": JSON,
        "replicatedJobsStatus": JSON,
        "jobsStatus": JSON,
    },
)


@st.composite
def jobs(draw: st.DrawFn, key: str, version: str) -> dict[str, Any]:
    """A job of the kind in whose fields anything may stand; only its name is one."""
    places = (*PLACES, SPECS.get(key, "elasticPolicy"), "elasticPolicy", "managedBy")
    spec = {place: draw(JSON) for place in draw(st.sets(st.sampled_from(places)))}
    if draw(st.booleans()):
        spec["runPolicy"] = draw(POLICIES)
    metadata: dict[str, Any] = {"name": "train", "namespace": "team-a", "uid": "u1"}
    for place in draw(st.sets(st.sampled_from(["labels", "annotations", "ownerReferences"]))):
        metadata[place] = draw(JSON)
    job: dict[str, Any] = {"apiVersion": version, "kind": "X", "metadata": metadata}
    if draw(st.integers(0, 9)):
        job["spec"] = spec
    else:
        job["spec"] = draw(JSON)
    if draw(st.booleans()):
        job["status"] = draw(STATUS)
    return job


def without_hold(job: Any) -> str:
    """The job as text, without what holds it; a map that is empty then is as good as none."""
    job = copy.deepcopy(job)
    metadata, spec = job["metadata"], job.get("spec")
    for parent, field, key in ((metadata, "annotations", SUSPEND), (spec, "runPolicy", "suspend")):
        if isinstance(parent, dict):
            inner = parent.get(field)
            inner = dict(inner) if isinstance(inner, dict) else {}
            inner.pop(key, None)
            parent.pop(field, None)
            parent.update({field: inner} if inner else {})
            parent.pop("suspend", None)
    job.pop("spec", None)
    kept = spec if isinstance(spec, dict) else {}
    return json.dumps({**job, "metadata": sorted_map(metadata), "spec": sorted_map(kept)})


def sorted_map(value: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(value.items()))


@pytest.mark.parametrize(("key", "version"), KINDS, ids=["-".join(each) for each in KINDS])
def test_whatever_stands_in_a_job_it_is_seen_held_and_let_go(key: str, version: str):
    """Cases A5, A9: never an exception, held for sure, once, and nothing else is changed."""
    integration = INTEGRATIONS[key](JobOptions())

    @FEWER
    @given(job=jobs(key, version))
    def check(job: dict[str, Any]) -> None:
        before = copy.deepcopy(job)
        seen = integration.view(job)
        assert_sound(seen)
        held = integration.hold(job).apply(job)
        assert integration.view(held).suspended
        assert integration.hold(held).is_noop(held)
        assert integration.suspend(held).is_noop(held)
        freed = integration.resume(held, (), NOW).apply(held)
        assert not integration.view(freed).suspended
        assert integration.resume(freed, (), NOW).is_noop(freed)
        assert without_hold(freed) == without_hold(job)
        assert job == before

    check()


def assert_sound(seen: JobView) -> None:
    """Names that a unit may have, counts that it may have, and a reason if nothing can be known."""
    names = [each.name for each in seen.pod_sets]
    assert len(set(names)) == len(names)
    assert all(0 <= each.count == each.wanted for each in seen.pod_sets)
    assert seen.defect is None or " is " in seen.defect


@given(roles=st.lists(st.text(max_size=70) | st.sampled_from(["a" * 80, "A" * 80, "-", "w", "W"])))
def test_names_of_pod_sets_are_legal_and_none_is_merged(roles: list[str]):
    """Case B8."""
    names = pod_set_names(roles, "u1")
    assert len(set(names)) == len(names) == len(roles)
    for name in names:
        assert len(name) <= MOST_LETTERS
        assert name.replace("-", "").isalnum()
        assert name.isascii()
        assert name == name.lower().strip("-")


def test_many_roles_of_one_name_are_named_in_no_time():
    names = pod_set_names(["!"] * 20_000, "u1")
    assert names[-1] == "main-20000"


def worker_counts(key: str, spec: dict[str, Any], *, maximum: bool) -> list[int]:
    integration = INTEGRATIONS[key](JobOptions(counts_maximum=maximum))
    job = {"apiVersion": "kubeflow.org/v1", "metadata": {"name": "train"}, "spec": spec}
    return [each.count for each in integration.view(job).pod_sets]


ROLES = {"Master": {"replicas": 1}, "Worker": {"replicas": 4}}
BOUNDS = [
    pytest.param({"minReplicas": 2, "maxReplicas": 6}, [1, 6], id="above"),
    pytest.param({"maxReplicas": 3}, [1, 4], id="below what is asked for"),
    pytest.param({"minReplicas": 9}, [1, 4], id="none given"),
    pytest.param({"maxReplicas": None}, [1, 4], id="null"),
    pytest.param("six", [1, 4], id="no policy"),
]


@pytest.mark.parametrize(("policy", "expected"), BOUNDS)
@pytest.mark.parametrize("key", ["pytorchjob", "paddlejob"])
def test_an_administrator_may_count_what_an_elastic_job_may_grow_to(key, policy, expected):
    """Case B10, spec 8.2a."""
    spec = {SPECS[key]: ROLES, "elasticPolicy": policy}
    assert worker_counts(key, spec, maximum=True) == expected
    assert worker_counts(key, spec, maximum=False) == [1, 4]


def test_a_bound_that_cannot_be_read_is_told_where_it_counts():
    spec = {"pytorchReplicaSpecs": ROLES, "elasticPolicy": {"maxReplicas": "six"}}
    job = {"metadata": {"name": "train"}, "spec": spec}
    view = INTEGRATIONS["pytorchjob"](JobOptions(counts_maximum=True)).view(job)
    assert view.defect == "spec.elasticPolicy.maxReplicas is 'six', not a number from 0 to 1000000"


def test_a_kind_that_does_not_scale_itself_has_no_bound():
    spec = {"tfReplicaSpecs": ROLES, "elasticPolicy": {"maxReplicas": 9}}
    assert worker_counts("tfjob", spec, maximum=True) == [1, 4]


@pytest.mark.parametrize("version", VERSIONS["mpijob"])
@pytest.mark.parametrize("key", SPECS)
def test_a_release_may_remove_the_annotation(key: str, version: str):
    """Spec 8.4."""
    integration = INTEGRATIONS[key](JobOptions(removes_suspend_annotation=True))
    job = {"apiVersion": version, "metadata": {"name": "train"}}
    held = integration.hold(job).apply(job)
    freed = integration.resume(held, (), NOW).apply(held)
    assert SUSPEND in held["metadata"]["annotations"]
    assert SUSPEND not in freed["metadata"]["annotations"]
    assert not integration.view(freed).suspended


def test_an_mpijob_is_of_the_version_in_which_it_comes():
    integration = INTEGRATIONS["mpijob"](JobOptions())
    for version in VERSIONS["mpijob"]:
        view = integration.view({"apiVersion": version, "metadata": {"name": "train"}})
        assert view.kind.api_version == version


SUBMITTERS = [
    ("batch/v1", "CronJob"),
    ("argoproj.io/v1alpha1", "CronWorkflow"),
    ("ray.io/v1", "RayCronJob"),
    ("sparkoperator.k8s.io/v1beta2", "ScheduledSparkApplication"),
    ("apps.kubedl.io/v1alpha1", "Cron"),
]


@pytest.mark.parametrize(("version", "kind"), SUBMITTERS, ids=[kind for _, kind in SUBMITTERS])
@pytest.mark.parametrize("key", VERSIONS)
def test_what_a_cron_submits_is_a_job_of_its_own(key: str, version: str, kind: str):
    """Spec 5.8."""
    owner = {"apiVersion": version, "kind": kind, "name": "c", "uid": "c1", "controller": True}
    job = {"apiVersion": VERSIONS[key][0], "metadata": {"name": "t", "ownerReferences": [owner]}}
    assert claimed_maker(INTEGRATIONS[key](JobOptions()).view(job)) is None


def test_a_template_is_not_read_if_nobody_asks():
    roles = {"Worker": {"template": {"spec": {"containers": [{"resources": {"requests": 1}}]}}}}
    job = {"metadata": {"name": "train"}, "spec": {"tfReplicaSpecs": roles}}
    integration = INTEGRATIONS["tfjob"](JobOptions())
    assert integration.view(job).defect is not None
    assert integration.view(job, templates=False).defect is None
