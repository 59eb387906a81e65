"""Rules of the webhook one by one, on kinds of all shapes."""

import copy
import json
from typing import Any

import pytest
from reviews import NOW, QUOTA_LABEL, FakeWorld, a_review, applied

from kq.core import keys
from kq.core.patch import escaped
from kq.jobs import make_integrations
from kq.jobs.options import JobOptions
from kq.settings import JobSettings, Settings
from kq.settings.sections import WebhookSettings
from kq.webhook.mutate import mutate
from kq.webhook.review import Request, Response, decode, encode

Job = dict[str, Any]
NAMES = ["job", "tfjob", "sparkapp", "workflow", "rayjob", "jobset", "trainjob"]
ENABLED = {
    (each.kinds[0].group, each.kinds[0].kind): each
    for each in make_integrations(NAMES, JobOptions())
}
POD = {"spec": {"containers": [{"name": "c"}]}}
JOBS: dict[str, Job] = {
    "batch/v1 Job": {"template": POD},
    "kubeflow.org/v1 TFJob": {"tfReplicaSpecs": {"a/b~c": {"template": POD}}},
    "sparkoperator.k8s.io/v1beta2 SparkApplication": {"driver": {}, "executor": {}},
    "argoproj.io/v1alpha1 Workflow": {
        "templates": [{"name": "m", "container": {}}],
        "synchronization": {"mutexes": [{"name": "m"}]},
    },
    "ray.io/v1 RayJob": {"rayClusterSpec": {"headGroupSpec": {"template": POD}}},
    "jobset.x-k8s.io/v1alpha2 JobSet": {
        "replicatedJobs": [{"name": "w", "template": {"spec": {"template": POD}}}]
    },
    "trainer.kubeflow.org/v1alpha1 TrainJob": {},
}
of_each_shape = pytest.mark.parametrize("name", JOBS)


def a_job(name: str, **metadata: Any) -> Job:
    api, kind = name.split()
    meta = {"name": "j1", "namespace": "team-a", **metadata}
    return {"apiVersion": api, "kind": kind, "metadata": meta, "spec": copy.deepcopy(JOBS[name])}


def answer(job: Job, *, settings: Settings | None = None, **request: Any) -> Response:
    group, _, version = job["apiVersion"].partition("/")
    gvk = {"group": group, "version": version, "kind": job["kind"]}
    asked = decode(json.dumps(a_review(job, kind=gvk, **request)).encode())
    assert isinstance(asked, Request)
    return mutate(
        asked, integrations=ENABLED, world=FakeWorld(), settings=settings or Settings(), now=NOW
    )


def stored(job: Job, **asked: Any) -> Job:
    return applied(job, json.loads(encode(answer(job, **asked))))


def rank(path: str) -> int:
    """The place of an operation in the order of spec 6.2."""
    label = f"/metadata/labels/{escaped(QUOTA_LABEL)}"
    if path.endswith("/labels") and path != "/metadata/labels":
        return 3
    if path.endswith(escaped(QUOTA_LABEL)):
        return 1 if path == label else 3
    if path in ("/metadata/labels", "/metadata/annotations"):
        return -1
    if "koord-queue~1" in path and "synchronization" not in path:
        return 2
    return 0 if not path.endswith("etadata") else -1


@of_each_shape
def test_operations_come_in_the_order_of_the_rule_and_none_tests(name: str) -> None:
    """Spec 6.2, 6.4: hold, label, annotations, templates; parents first; keys escaped."""
    operations = answer(a_job(name)).operations
    ranks = [each for each in (rank(one["path"]) for one in operations) if each >= 0]
    assert ranks == sorted(ranks)
    assert {each["op"] for each in operations} <= {"add", "replace", "remove"}
    here: Any = a_job(name)
    for each in operations:
        here = applied_to(here, each)


def applied_to(job: Job, operation: Job) -> Job:
    """The job after one operation; its parent has to be there."""
    *above, last = [
        part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]
    ]
    done = copy.deepcopy(job)
    here: Any = done
    for each in above:
        here = here[int(each)] if isinstance(here, list) else here[each]
    assert isinstance(here, dict)
    assert (operation["op"] == "add") is (here.get(last) is None)
    if operation["op"] == "remove":
        del here[last]
    else:
        here[last] = operation["value"]
    return done


@of_each_shape
@pytest.mark.parametrize("key", keys.QUOTA_LABELS[1:])
def test_the_first_key_is_written_and_the_user_s_other_one_stays(name: str, key: str) -> None:
    """Spec 6.3."""
    labels = stored(a_job(name, labels={key: "team-b"}))["metadata"]["labels"]
    assert labels == {key: "team-b", QUOTA_LABEL: "team-b"}


@of_each_shape
def test_marks_of_the_user_are_kept_and_those_of_the_manager_removed(name: str) -> None:
    """Spec 6.5: W2 names each."""
    kept = {keys.HAS_ENQUEUED: "yes", keys.ENQUEUE_TIMESTAMP: "then", keys.INJECTED: "mine"}
    foreign = dict.fromkeys(sorted(keys.MANAGER_ONLY), "x")
    job = a_job(name, annotations={**kept, **foreign, "example.com/a": "b"})
    marks = stored(job)["metadata"]["annotations"]
    assert marks.items() >= {**kept, "example.com/a": "b"}.items()
    assert not keys.MANAGER_ONLY & marks.keys()
    warned = [each for each in answer(job).warnings if "removed" in each]
    assert warned == [f"{key} removed: written by koord-queue only" for key in foreign]


INJECTED = {
    "Job": "label,pod-labels,suspend",
    "TFJob": "annotation,label,pod-labels,suspend",
    "SparkApplication": "annotation,label,pod-labels,suspend",
    "Workflow": "label,locks,pod-labels,suspend,template",
    "RayJob": "label,pod-labels,shutdown-after-finish,suspend",
    "JobSet": "label,pod-labels,suspend",
    "TrainJob": "label,suspend",
}


@of_each_shape
def test_what_was_added_is_listed_in_order(name: str) -> None:
    """Spec 6.7."""
    marks = stored(a_job(name))["metadata"]["annotations"]
    assert marks[keys.INJECTED] == INJECTED[name.split()[1]]


@of_each_shape
def test_a_generated_name_and_the_namespace_of_the_request(name: str) -> None:
    """Spec 6.8."""
    job = a_job(name, generateName="j-", namespace="elsewhere")
    del job["metadata"]["name"]
    said = answer(job, name="")
    assert said.operations
    assert said.warnings[-1] == "held by koord-queue until quota team-a allows"


@of_each_shape
def test_the_manager_and_silence(name: str) -> None:
    """Spec 6.2a, 6.9."""
    settings = Settings()
    manager = {"username": settings.manager_user}
    assert not answer(a_job(name), userInfo=manager).operations
    quiet = Settings(webhook=WebhookSettings(announce=False))
    assert not [each for each in answer(a_job(name), settings=quiet).warnings if "held" in each]


@of_each_shape
@pytest.mark.parametrize("unmatched", ["ignore", "hold", "reject"])
def test_a_job_that_no_quota_fits(name: str, unmatched: str) -> None:
    """Spec 5.4."""
    settings = Settings(jobs=JobSettings(unmatchedJobs=unmatched))
    said = answer(a_job(name), settings=settings, namespace="nobody-s")
    assert said.allowed is (unmatched != "reject")
    assert bool(said.operations) is (unmatched == "hold")
    paths = {each["path"] for each in said.operations}
    assert f"/metadata/labels/{escaped(QUOTA_LABEL)}" not in paths


@of_each_shape
@pytest.mark.parametrize("version", ["v1", "v1alpha1", "v9"])
def test_what_a_user_wrote_stays_byte_for_byte(name: str, version: str) -> None:
    """Spec 6.2: suspend steps, templates and annotations of the user, unknown fields, odd order."""
    job = a_job(
        name, annotations={"z": "1", "a": " x\n", "é": "\u2028"}, labels={"z": "", "a": "b"}
    )
    job["spec"] = {"zzz": [None, {"b": 1, "a": [2.0, 1e-9, 2**63]}], **job["spec"], "é": None}
    if job["kind"] == "Workflow":
        gate = {"name": "approve", "suspend": {"duration": "0"}, "inputs": {}}
        job["spec"]["templates"] = [gate, *job["spec"]["templates"], {"name": "s", "steps": []}]
    done = stored(job)
    for way in (("spec", "zzz"), ("spec", "é")):
        assert json.dumps(done[way[0]][way[1]]) == json.dumps(job[way[0]][way[1]])
    own = [key for key in done["metadata"]["annotations"] if key in job["metadata"]["annotations"]]
    assert own == ["z", "a", "é"]
    before = json.dumps(job["spec"].get("templates", []))
    after = done["spec"].get("templates", [])
    theirs = [each for each in after if each["name"] != "koord-queue-suspend"]
    assert json.dumps(theirs) == before
