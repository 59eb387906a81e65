"""What the units of jobs of every kind say: cases B4, B6 to B10, C1 to C4, I7, I8, N4, O1, O3."""

import copy
import json
import re
import time
from typing import Any

import pytest
from case_kinds import (
    KINDS,
    Job,
    Kind,
    Way,
    a_job,
    at,
    integration,
    let_go,
    situation_of,
    stored,
    unit_of,
    view_of,
)
from msgspec.structs import replace

from kq.core import keys, views
from kq.core.kinds import QUEUE_UNIT
from kq.core.model import JobState
from kq.core.resources import parse_resources
from kq.decide.unitspec import difference, unit_name
from kq.jobs import INTEGRATIONS
from kq.jobs.options import JobOptions

of_every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
BY_ID = {each.id: each for each in KINDS}
ROLES = {
    "TFJob-v1": "tfReplicaSpecs",
    "PyTorchJob-v1": "pytorchReplicaSpecs",
    "XGBoostJob-v1": "xgbReplicaSpecs",
    "PaddleJob-v1": "paddleReplicaSpecs",
    "MPIJob-v2beta1": "mpiReplicaSpecs",
    "MPIJob-v1": "mpiReplicaSpecs",
}
GROUP: Way = ("workerGroupSpecs", 0)
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
MIB = 2**20


def counts(unit: Job) -> dict[str, int]:
    return {each["name"]: each["count"] for each in unit["spec"].get("podSet", ())}


def asks(unit: Job, name: str) -> int:
    """What a unit asks for of a resource, in whole units or milli-cores."""
    return dict(parse_resources(unit["spec"]["resource"], "").items()).get(name, 0)


def containers(*requests: Job, **more: Any) -> Job:
    listed = [{"name": f"c{n}", "resources": {"requests": e}} for n, e in enumerate(requests)]
    return {"spec": {"containers": listed, **more}}


@of_every_kind
def test_the_unit_of_a_job_has_its_pods_its_sum_and_its_name(kind: Kind) -> None:
    """Spec 8.1, 8.2, 12.4: after the webhook as before it."""
    for job in (a_job(kind), stored(kind, a_job(kind))):
        unit = unit_of(kind, job)
        assert counts(unit) == dict(kind.pods)
        assert unit["spec"]["resource"].get("cpu", "") == kind.cpu
        assert unit["metadata"]["name"] == f"j1{kind.suffix}"
        consumer = unit["spec"]["consumerRef"]
        assert (consumer["apiVersion"], consumer["kind"]) == (kind.api, kind.kind)


# -- B4, B5, O1: counts


COUNT_AT: dict[str, tuple[Way, ...]] = {
    "Job-v1": (("parallelism",),),
    "MPIJob-v1alpha1": (("replicas",),),
    "SparkApplication-v1beta2": (("executor", "instances"),),
    "JobSet-v1alpha2": tuple(("replicatedJobs", each, "replicas") for each in range(2)),
    **{f"RayJob-{v}": (("rayClusterSpec", *GROUP, "replicas"),) for v in ("v1", "v1alpha1")},
    **{f"RayCluster-{v}": ((*GROUP, "replicas"),) for v in ("v1", "v1alpha1")},
}


def sized(kind: Kind, value: Any) -> Job:
    """A job whose every count says that; `...` leaves them out."""
    job = a_job(kind)
    field = ROLES.get(kind.id, "")
    by_role = tuple((field, each, "replicas") for each in job["spec"].get(field, ()))
    for *above, last in COUNT_AT.get(kind.id, by_role):
        place = at(job, ("spec", *above))
        place.pop(last, None)
        if value is not ...:
            place[last] = value
    return job


FIXED = {
    "MPIJob-v1alpha1": ("launcher",),
    "SparkApplication-v1beta2": ("driver",),
    "JobSet-v1alpha2": (),
}
"""Pods of which there is one, whatever the counts say."""
COUNTED = [each for each in KINDS if each.key not in ("workflow", "trainjob")]


@pytest.mark.parametrize("kind", COUNTED, ids=lambda kind: kind.id)
def test_b4_counts_that_are_left_out_null_zero_or_large(kind: Kind) -> None:
    """Cases B4, O1: the pod sets say what the sum is made of, and nobody walks over pods."""
    default = 0 if kind.key.startswith("ray") else 1
    fixed = dict.fromkeys(FIXED.get(kind.id, ("head",)), 1)
    for value, count in ((..., default), (None, default), (0, 0), (7, 7), (10**6, 10**6)):
        began = time.thread_time()
        unit = unit_of(kind, sized(kind, value))
        assert time.thread_time() - began < 0.05
        names = [name for name, _ in kind.pods]
        assert counts(unit) == {each: fixed.get(each, count) for each in names}
        alone = {each: 0 if kind.cpu == "2" and each == "launcher" else 1 for each in names}
        pods = sum(counts(unit)[each] * alone[each] for each in names)
        assert asks(unit, "cpu") == pods * 1000


@pytest.mark.parametrize("kind", COUNTED, ids=lambda kind: kind.id)
def test_b4_a_count_that_is_none_is_told_and_waits(kind: Kind) -> None:
    """Case B4, spec 12.7: M16 names the field."""
    for value in ("three", -1, 1.5, True, [], {"a": 1}, 10**6 + 1, 2**31, 2**63):
        unit = unit_of(kind, sized(kind, value))
        told = unit["metadata"]["annotations"][keys.DEFECT]
        assert re.match(r"spec\.\S+ is .+, not a (whole )?number", told), (value, told)


@pytest.mark.parametrize("field", sorted(set(ROLES.values())))
def test_b4_a_parameter_server_of_zero_replicas_counts_none(field: str) -> None:
    """Case B4, as it is written there; spec 8.2: the order of roles."""
    kind = next(BY_ID[each] for each, where in ROLES.items() if where == field)
    pod = {"template": containers({"cpu": "1"})}
    roles = {"PS": {**pod, "replicas": 0}, "Worker": pod, "Master": {**pod, "replicas": None}}
    unit = unit_of(kind, a_job(kind, spec={field: roles}))
    assert list(counts(unit).items()) == [("master", 1), ("ps", 0), ("worker", 1)]
    assert unit["spec"]["resource"] == {"cpu": "2"}


def test_o1_hundreds_of_groups_of_thousands_of_pods_are_counted_at_once() -> None:
    """Case O1: two hundred groups of five thousand."""
    kind = BY_ID["RayCluster-v1"]
    group = {"replicas": 5000, "template": containers({"cpu": "1m"})}
    groups = [{**group, "groupName": f"g{number}"} for number in range(200)]
    job = a_job(kind, spec={"headGroupSpec": {}, "workerGroupSpecs": groups})
    view_of(kind, a_job(kind, spec={"workerGroupSpecs": groups[:1]}))
    began = time.thread_time()
    view = view_of(kind, job)
    assert time.thread_time() - began < 0.03
    assert sum(each.count for each in view.pod_sets) == 1_000_001
    assert unit_of(kind, job)["spec"]["resource"] == {"cpu": "1k"}


# -- B6, B7, C4: Spark


SPARK = BY_ID["SparkApplication-v1beta2"]


def spark(driver: Job, executor: Job, **more: Any) -> Job:
    return unit_of(SPARK, a_job(SPARK, spec={"driver": driver, "executor": executor, **more}))


@pytest.mark.parametrize(
    ("driver", "more", "mebibytes"),
    [
        ({"memory": "512m"}, {"type": "Scala"}, 896),
        ({"memory": "4g"}, {"type": "Scala"}, 4505),
        ({"memory": "4g"}, {"type": "Python"}, 5734),
        ({"memory": "4g", "memoryOverhead": "1g"}, {"type": "Python"}, 5120),
        ({"memory": "4g"}, {"type": "Python", "memoryOverheadFactor": "0.2"}, 4915),
    ],
)
def test_b6_memory_is_heap_and_overhead(driver: Job, more: Job, mebibytes: int) -> None:
    """Case B6, spec 12.5: one executor of 800 MiB takes 1184, of whatever language."""
    unit = spark(driver, {"instances": 30, "memory": "800m"}, **more)
    assert asks(unit, "memory") == (mebibytes + 30 * 1184) * MIB


DYNAMIC = {"enabled": True, "minExecutors": 2, "initialExecutors": 4, "maxExecutors": 10}
AS_CONF = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "2",
    "spark.dynamicAllocation.initialExecutors": "4",
    "spark.dynamicAllocation.maxExecutors": "10",
}
NO_INITIAL = {key: each for key, each in DYNAMIC.items() if key != "initialExecutors"}


@pytest.mark.parametrize(
    ("executor", "more", "count"),
    [
        ({"instances": 6}, {"dynamicAllocation": DYNAMIC}, 6),
        ({}, {"dynamicAllocation": DYNAMIC}, 4),
        ({}, {"dynamicAllocation": NO_INITIAL}, 2),
        ({"instances": 6}, {"sparkConf": AS_CONF}, 6),
        ({}, {"sparkConf": AS_CONF}, 4),
        ({}, {"dynamicAllocation": {**DYNAMIC, "enabled": False}}, 1),
        ({}, {"sparkConf": {**AS_CONF, "spark.dynamicAllocation.enabled": "false"}}, 1),
        ({}, {"sparkConf": {"spark.dynamicallocation.enabled": "true"} | AS_CONF}, 4),
        ({}, {"sparkConf": {"spark.executor.instances": "3"}}, 3),
        ({"instances": None}, {"dynamicAllocation": None, "sparkConf": None}, 1),
    ],
)
def test_b7_the_first_wave_of_executors(executor: Job, more: Job, count: int) -> None:
    """Case B7, spec 8.2a."""
    assert counts(spark({}, executor, **more))["executor"] == count


@pytest.mark.parametrize("size", ["1.5g", "1Gi", "512M i", "", "0x10m", [], True])
def test_c4_a_size_that_is_none_of_sparks_is_told_and_the_object_stays(size: Any) -> None:
    """Case C4: never 0, and what the cache holds is not changed by reading it."""
    job = a_job(SPARK, spec={"driver": {"memory": size}, "executor": {"memory": "1g"}})
    before = copy.deepcopy(job)
    told = unit_of(SPARK, job)["metadata"]["annotations"][keys.DEFECT]
    assert told.startswith("spec.driver.memory is ")
    assert job == before


# -- B8: Ray


@pytest.mark.parametrize(
    "kind", [each for each in KINDS if each.key.startswith("ray")], ids=lambda kind: kind.id
)
def test_b8_groups_by_hosts_bounds_and_suspension(kind: Kind) -> None:
    """Case B8, for RayJob and RayCluster in both versions."""
    gpu = {"template": containers({}, {"nvidia.com/gpu": "8"})}
    groups = [
        {"groupName": "a", "replicas": 2, "numOfHosts": 4},
        {"groupName": "b", "replicas": 0, "minReplicas": 1, "maxReplicas": 3},
        {"groupName": "c", "replicas": 5, "maxReplicas": 3},
        {"groupName": "d", "minReplicas": 2},
        {"groupName": "e", "replicas": 2, "suspend": True},
        {"groupName": "A", "replicas": 1, "numOfHosts": None},
    ]
    cluster = {"headGroupSpec": {}, "workerGroupSpecs": [{**each, **gpu} for each in groups]}
    spec = (
        cluster if kind.key == "raycluster" else {**a_job(kind)["spec"], "rayClusterSpec": cluster}
    )
    unit = unit_of(kind, a_job(kind, spec=spec))
    assert counts(unit) == {"head": 1, "a": 8, "b": 1, "c": 3, "d": 2, "e": 0, "a-2": 1}
    assert unit["spec"]["resource"]["nvidia.com/gpu"] == str(64 + 8 + 24 + 16 + 8)


# -- B9: min-resources


FLOW = BY_ID["Workflow-v1alpha1"]


@pytest.mark.parametrize("key", keys.MIN_RESOURCES)
@pytest.mark.parametrize(
    ("text", "cpu", "memory"),
    [
        ("cpu: 5\nmemory: 5Gi\n", 5000, 5 * 2**30),
        ("cpu: 5\nmemory: 5G\n", 5000, 5 * 10**9),
        ('{"cpu":"500m","memory":"1e9"}', 500, 10**9),
    ],
)
def test_b9_a_workflow_counts_what_it_says(key: str, text: str, cpu: int, memory: int) -> None:
    """Case B9, spec 8.16, 8.17: requests and limits of one container `default`."""
    unit = unit_of(FLOW, stored(FLOW, a_job(FLOW, annotations={key: text})))
    assert (asks(unit, "cpu"), asks(unit, "memory")) == (cpu, memory)
    [pod_set] = unit["spec"]["podSet"]
    [container] = pod_set["template"]["spec"]["containers"]
    assert container["resources"]["requests"] == container["resources"]["limits"]
    assert (container["name"], pod_set["count"]) == ("default", 1)


@pytest.mark.parametrize("text", ["cpu 5", "cpu: -1", "", "[]", "{", "cpu: [1]", "cpu: 1\n---\n"])
def test_b9_c3_a_bad_value_is_held_and_told_and_earns_no_credit(text: str) -> None:
    """Cases B9, C3: its unit names the annotation."""
    job = stored(FLOW, a_job(FLOW, annotations={keys.MIN_RESOURCES[0]: text}))
    unit = unit_of(FLOW, job)
    assert keys.MIN_RESOURCES[0] in unit["metadata"]["annotations"][keys.DEFECT]
    assert asks(unit, "cpu") == 0
    assert job["spec"]["suspend"] is True


# -- B10: elastic jobs


def test_b10_an_elastic_job_counts_its_replicas_as_they_change() -> None:
    """Case B10, spec 8.2a: bounds are for later."""
    kind = BY_ID["PyTorchJob-v1"]
    pod = {"template": containers({"nvidia.com/gpu": "8"})}
    for replicas, gpus in ((4, "32"), (6, "48"), (2, "16")):
        roles = {"Worker": {**pod, "replicas": replicas}}
        policy = {"minReplicas": 2, "maxReplicas": 6}
        spec = {"pytorchReplicaSpecs": roles, "elasticPolicy": policy}
        assert unit_of(kind, a_job(kind, spec=spec))["spec"]["resource"]["nvidia.com/gpu"] == gpus


# -- C1 to C3: quantities in the templates of every kind


TEMPLATED = [each for each in KINDS if each.key not in ("sparkapp", "trainjob")]


def pod_specs(job: Any) -> list[Job]:
    """Every pod spec in it, or the one container of a Workflow's template as one."""
    found: list[Job] = []
    if isinstance(job, dict):
        if isinstance(job.get("containers"), list):
            found.append(job)
        if isinstance(job.get("container"), dict):
            found.append({"containers": [job["container"]]})
        found += [each for value in job.values() for each in pod_specs(value)]
    if isinstance(job, list):
        found += [each for value in job for each in pod_specs(value)]
    return found


def asking(kind: Kind, **requests: Any) -> Job:
    """A job each of whose pods asks for that."""
    job = a_job(kind)
    for pod in pod_specs(job["spec"]):
        pod["containers"][0]["resources"] = {"requests": requests}
    return job


MILLI: list[tuple[Any, int]] = [
    ("1e3", 10**6), ("0.5", 500), (".5", 500), ("5.", 5000), ("+2", 2000), ("100m", 100),
    ("0.1", 100), (1, 1000), (0.5, 500), ("1E", 10**21), ("500k", 5 * 10**8),
]  # fmt: skip


@pytest.mark.parametrize("kind", TEMPLATED, ids=lambda kind: kind.id)
def test_c1_all_legal_spellings_are_exact(kind: Kind) -> None:
    """Case C1."""
    pods = int(kind.cpu)
    for text, milli in MILLI:
        assert asks(unit_of(kind, asking(kind, cpu=text)), "cpu") == pods * milli, text
    for text, whole in (("12E6", 12 * 10**6), ("1.5Gi", 1610612736), ("128974848000m", 128974848)):
        assert asks(unit_of(kind, asking(kind, memory=text)), "memory") == pods * whole, text


@pytest.mark.parametrize("kind", TEMPLATED, ids=lambda kind: kind.id)
def test_c2_another_spelling_is_no_change(kind: Kind) -> None:
    """Case C2: no write for what the API server spells anew."""
    written = asking(kind, cpu="1000m", memory="1.5G")
    unit = as_stored(unit_of(kind, written))
    for job in (written, asking(kind, cpu=1, memory="1500M"), asking(kind, cpu="1", memory="15e8")):
        assert difference(situation_of(view_of(kind, job)), unit) == {}


def as_stored(unit: Job) -> Any:
    """The unit as the manager reads it back."""
    known = {"uid": "q1", "resourceVersion": "1", "creationTimestamp": "2026-03-01T12:00:00Z"}
    meta = {**known, **unit["metadata"]}
    kind = {"apiVersion": QUEUE_UNIT.api_version, "kind": QUEUE_UNIT.kind}
    return views.unit(json.dumps({**kind, **unit, "metadata": meta}).encode())


@pytest.mark.parametrize("kind", TEMPLATED, ids=lambda kind: kind.id)
def test_c3_what_is_negative_or_no_quantity_is_told(kind: Kind) -> None:
    """Case C3, spec 12.7."""
    for text in ("-4", -1, "", "1 Gi", "1gb", "0x1", "\uff11", True, [], {}, "1e-", "NaN"):
        unit = unit_of(kind, asking(kind, cpu=text))
        assert unit["metadata"]["annotations"][keys.DEFECT], text
        assert asks(unit, "cpu") <= 0, text


# -- I7: ends that nobody listed


STATES: list[tuple[str, Job, JobState]] = [
    ("Job-v1", {"conditions": [("FailureTarget", "True")]}, JobState.PENDING),
    ("Job-v1", {"conditions": [("SuccessCriteriaMet", "True")]}, JobState.PENDING),
    ("Job-v1", {"conditions": [("Failed", "True")]}, JobState.FAILED),
    ("Job-v1", {"conditions": [("Failed", "Unknown")]}, JobState.PENDING),
    *[
        (each, {"conditions": [(name, status)]}, state)
        for each in ROLES
        for name, status, state in (
            ("Failed", "True", JobState.FAILED),
            ("Failed", "False", JobState.PENDING),
            ("Succeeded", "True", JobState.SUCCEEDED),
            ("Restarting", "True", JobState.PENDING),
            ("Evaporated", "True", JobState.PENDING),
        )
    ],
    ("MPIJob-v1alpha1", {"launcherStatus": "Failed"}, JobState.FAILED),
    ("MPIJob-v1alpha1", {"launcherStatus": "Evaporated"}, JobState.RUNNING),
    *[
        (f"RayJob-{version}", {"jobDeploymentStatus": text}, state)
        for version in ("v1", "v1alpha1")
        for text, state in (
            ("ValidationFailed", JobState.FAILED),
            ("Failed", JobState.FAILED),
            ("Complete", JobState.SUCCEEDED),
            ("Retrying", JobState.PENDING),
            ("Evaporated", JobState.RUNNING),
        )
    ],
    *[
        ("SparkApplication-v1beta2", {"applicationState": {"state": text}}, state)
        for text, state in (
            ("SUBMISSION_FAILED", JobState.FAILED),
            ("FAILED_SUBMISSION", JobState.FAILED),
            ("FAILED", JobState.FAILED),
            ("COMPLETED", JobState.SUCCEEDED),
            ("PENDING_RERUN", JobState.RUNNING),
            ("UNKNOWN", JobState.RUNNING),
            ("EVAPORATED", JobState.RUNNING),
        )
    ],
    *[
        ("Workflow-v1alpha1", {"phase": text}, state)
        for text, state in (
            ("Error", JobState.FAILED),
            ("Failed", JobState.FAILED),
            ("Succeeded", JobState.SUCCEEDED),
            ("Evaporated", JobState.RUNNING),
        )
    ],
    ("JobSet-v1alpha2", {"terminalState": "Failed"}, JobState.PENDING),
    ("JobSet-v1alpha2", {"conditions": [("Failed", "True")]}, JobState.FAILED),
    ("JobSet-v1alpha2", {"conditions": [("FailurePolicyComplete", "True")]}, JobState.PENDING),
    ("TrainJob-v1alpha1", {"conditions": [("Failed", "True")]}, JobState.FAILED),
    ("TrainJob-v1alpha1", {"conditions": [("Complete", "True")]}, JobState.SUCCEEDED),
    ("TrainJob-v1alpha1", {"conditions": [("Evaporated", "True")]}, JobState.PENDING),
    ("RayCluster-v1", {"state": "failed"}, JobState.PENDING),
    ("RayCluster-v1", {"state": "evaporated"}, JobState.RUNNING),
]


@pytest.mark.parametrize(("id_", "status", "state"), STATES)
def test_i7_ends_are_known_and_what_nobody_knows_is_none(
    id_: str, status: Job, state: JobState
) -> None:
    """Case I7, spec 8.6."""
    kind = BY_ID[id_]
    if "conditions" in status:
        named = [{"type": name, "status": text} for name, text in status["conditions"]]
        status = {"conditions": named}
    job = {**a_job(kind, switch=False), "status": status}
    job["spec"].setdefault("restartPolicy", {"type": "Never"})
    assert view_of(kind, job).state is state


# -- I8: long names


@of_every_kind
def test_i8_long_names_give_legal_units_and_none_is_shared(kind: Kind) -> None:
    """Case I8, spec 2.5: whole names are kept in fields, labels are never cut."""
    for length in (60, 63, 200, 244, 253):
        twins = [f"{'n' * (length - 1)}{last}" for last in "ab"]
        units = [unit_of(kind, stored(kind, a_job(kind, name=each))) for each in twins]
        for name, unit in zip(twins, units, strict=True):
            called = unit["metadata"]["name"]
            assert NAME.fullmatch(called)
            assert len(called) <= 253
            assert unit["spec"]["consumerRef"]["name"] == name
            assert all(len(each) <= 63 for each in unit["metadata"]["labels"].values())
            assert all(len(each) <= 63 for each in counts(unit))
        first, second = (replace(view_of(kind, a_job(kind, name=each)), uid=each) for each in twins)
        assert unit_name(first, kind.suffix) != unit_name(second, kind.suffix)


# -- N4, O3: what is copied


SECRET = "hunter2-hunter2"
EVERYWHERE = {
    "sparkConf": {"spark.ssl.keyPassword": SECRET},
    "hadoopConf": {"fs.s3a.secret.key": SECRET},
    "runtimeEnvYAML": SECRET,
    "entrypoint": SECRET,
    "arguments": {"parameters": [{"name": "password", "value": SECRET}]},
    "trainer": {"env": [{"name": "PASSWORD", "value": SECRET}], "args": [SECRET]},
    "mainApplicationFile": SECRET,
}


@of_every_kind
@pytest.mark.parametrize("size", [1, 4000], ids=["small", "a megabyte"])
def test_n4_o3_a_unit_is_small_and_holds_no_data_of_its_job(kind: Kind, size: int) -> None:
    """Cases N4, O3, spec 2.7, 2.12: no environment, command, argument, mount or conf."""
    text = f"{SECRET}-{'x' * 250}"
    data = {
        "env": [{"name": f"N{n}", "value": text} for n in range(size // 10)],
        "command": [text],
        "args": [text] * 3,
        "volumeMounts": [{"name": "v", "mountPath": f"/{SECRET}"}],
        "livenessProbe": {"exec": {"command": [SECRET]}},
    }
    notes = {keys.LAST_APPLIED: text * size, "argocd.argoproj.io/tracking-id": SECRET}
    tools = {"app.kubernetes.io/managed-by": "argo-cd", "helm.sh/chart": SECRET, "tier": "gold"}
    job = a_job(kind, annotations=notes, labels=tools)
    for pod in pod_specs(job["spec"]):
        pod["containers"][0].update(data)
        pod.setdefault("volumes", []).append({"name": "v", "configMap": {"name": SECRET}})
    for role in ("driver", "executor"):
        if role in job["spec"]:
            job["spec"][role] |= {"env": data["env"], "javaOptions": SECRET}
    job["spec"] |= EVERYWHERE
    unit = unit_of(kind, stored(kind, job))
    told = json.dumps(unit)
    assert SECRET not in told
    assert len(told) < 20_000
    assert set(unit["metadata"]["labels"]) == {"tier", keys.QUOTA_LABEL}
    assert counts(unit) == dict(kind.pods)


def test_o3_a_cluster_of_forty_large_groups_keeps_all_of_them() -> None:
    """Case O3: 1.2 MB of environment."""
    kind = BY_ID["RayCluster-v1"]
    pod = containers({"cpu": "1"})
    pod["spec"]["containers"][0]["env"] = [
        {"name": f"N{n}", "value": "x" * 100} for n in range(250)
    ]
    groups = [{"groupName": f"g{n}", "replicas": 1, "template": pod} for n in range(40)]
    job = a_job(kind, spec={"headGroupSpec": {"template": pod}, "workerGroupSpecs": groups})
    assert len(json.dumps(job)) > 1_200_000
    unit = unit_of(kind, job)
    assert unit["spec"]["resource"] == {"cpu": "41"}
    assert len(json.dumps(unit)) < 20_000


# -- neighbours


@of_every_kind
def test_a_job_let_go_is_as_it_was_written_but_for_what_lets_it_run(kind: Kind) -> None:
    """Spec 6.7, 8.3, 8.5: a release undoes the hold; labels and marks stay."""
    job = a_job(kind)
    done = stored(kind, job)
    freed = let_go(kind, done)
    switch = dict.fromkeys(("suspend", "runPolicy"))
    spec = {key: each for key, each in freed["spec"].items() if key not in switch}
    labelled = copy.deepcopy(job)
    for way in kind.templates:
        at(labelled, (*way, "labels"))[keys.QUOTA_LABEL] = "team-a"
    assert spec == labelled["spec"]
    assert not integration(kind).view(freed).suspended


def test_every_kind_is_here() -> None:
    """Spec 8.1: each kind in each version that is served."""
    made = {key: make(JobOptions()) for key, make in INTEGRATIONS.items()}
    known = {(key, each.api_version) for key, one in made.items() for each in one.kinds}
    assert {(each.key, each.api) for each in KINDS} == known
    for kind in KINDS:
        served = {each.api_version: each for each in made[kind.key].kinds}
        assert (served[kind.api].kind, served[kind.api].plural) == (kind.kind, kind.plural)
