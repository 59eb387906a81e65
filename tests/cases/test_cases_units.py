"""What a unit takes over from its job, and that counting costs nothing: cases N4 and O1."""

import json
import time
from typing import Any

import pytest
from builders import job as a_job
from case_stage import Stage

from kq.core import keys
from kq.jobs.batch import BatchJob
from kq.jobs.options import JobOptions

CLUSTER = [
    pytest.mark.looptime(noop_cycles=2),
    pytest.mark.usefixtures("same_jitter", "logs"),
]
TRAIN = "team-a/train"
SECRET = "hunter2"
LIMIT_SECONDS = 0.01

# -- N4


NOT_COPIED = {
    "annotations": {
        keys.LAST_APPLIED: json.dumps({"password": SECRET, "filler": "x" * 300_000}),
        "argocd.argoproj.io/tracking-id": "app:batch/Job:team-a/train",
        "argocd.argoproj.io/sync-options": "Prune=false",
        "meta.helm.sh/release-name": "train",
        "kustomize.toolkit.fluxcd.io/checksum": "abc",
        "deployment.kubernetes.io/revision": "3",
        "example.com/notes": "y" * 50_000,
        "fake.koord-queue/x": "1",
        keys.DEQUEUE_TIMESTAMP: "",
    },
    "labels": {
        "app.kubernetes.io/managed-by": "argo-cd",
        "app.kubernetes.io/instance": "train",
        "argocd.argoproj.io/instance": "train",
        "kustomize.toolkit.fluxcd.io/name": "apps",
        "helm.toolkit.fluxcd.io/name": "train",
        "helm.sh/chart": "train-1.0",
        "applyset.kubernetes.io/part-of": "applyset-1",
    },
}
COPIED = {
    "annotations": {
        "koord-queue/queue-name": "team-a",
        "scheduling.x-k8s.io/priority": "7",
        "kube-queue/job-enqueue-timestamp": "2026-03-01T12:00:00Z",
        "provreq.kueue.x-k8s.io/maxRunDurationSeconds": "600",
        "quota.scheduling.koordinator.sh/note": "x",
    },
    "labels": {
        "tier": "gold",
        "app.kubernetes.io/name": "train",
        "app.kubernetes.io/part-of": "research",
        "example.com/team": "a",
        "kueue.x-k8s.io/queue-name": "q",
    },
}


def with_secrets() -> dict[str, Any]:
    """A pod template that carries data in every place that can hold some."""
    container = {
        "name": "main",
        "image": "busybox",
        "command": ["run", SECRET],
        "args": [SECRET],
        "env": [{"name": "PASSWORD", "value": SECRET}],
        "envFrom": [{"secretRef": {"name": SECRET}}],
        "livenessProbe": {"exec": {"command": [SECRET]}},
        "lifecycle": {"preStop": {"exec": {"command": [SECRET]}}},
        "volumeMounts": [{"name": "v", "mountPath": f"/{SECRET}"}],
        "workingDir": f"/{SECRET}",
        "resources": {"requests": {"cpu": "1"}},
    }
    return {
        "metadata": {"annotations": {"example.com/token": SECRET}, "labels": {"a": "b"}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [container],
            "initContainers": [{**container, "name": "init"}],
            "volumes": [{"name": "v", "configMap": {"name": SECRET}}],
            "imagePullSecrets": [{"name": SECRET}],
            "hostAliases": [{"ip": "10.0.0.1", "hostnames": [SECRET]}],
            "nodeSelector": {"pool": "x"},
        },
    }


class TestN4:
    pytestmark = CLUSTER

    async def test_n4_only_what_decides_is_copied_into_the_unit(self) -> None:
        stage = Stage(cpu=4)
        labels = NOT_COPIED["labels"] | COPIED["labels"]
        annotations = NOT_COPIED["annotations"] | COPIED["annotations"]
        stage.submit(
            "train",
            template=with_secrets(),
            metadata={"labels": labels, "annotations": annotations},
        )
        async with stage.runs():
            meta = stage.unit(TRAIN)["metadata"]
            assert meta["labels"].keys() == COPIED["labels"].keys() | {keys.QUOTA_LABEL}
            own = {keys.JOB_CREATION, keys.DERIVED_PRIORITY, keys.HAS_ENQUEUED}
            assert meta["annotations"].keys() == COPIED["annotations"].keys() | own
            assert stage.unit(TRAIN)["spec"]["podSet"][0]["template"]["spec"]["nodeSelector"]
            text = json.dumps(stage.unit(TRAIN))
            assert SECRET not in text
            assert len(text) < 20_000
            assert stage.phase(TRAIN) == "Running"

    @pytest.mark.parametrize("part", ["labels", "annotations"])
    async def test_n4_what_is_added_later_is_not_copied_either(self, part: str) -> None:
        stage = Stage(cpu=4)
        stage.submit("train", cpu=5)
        async with stage.runs():
            before = stage.unit(TRAIN)
            stage.api.asked.clear()
            for name, text in NOT_COPIED[part].items():
                stage.api.edit(_job(), TRAIN, {"metadata": {part: {name: text}}})
                await stage.settled(2)
            assert [each.short for each in stage.api.writes] == []
            assert stage.unit(TRAIN) == before

    @pytest.mark.parametrize("part", ["labels", "annotations"])
    async def test_n4_what_decides_is_copied_later_too(self, part: str) -> None:
        stage = Stage(cpu=4)
        stage.submit("train", cpu=5)
        async with stage.runs():
            stage.api.edit(_job(), TRAIN, {"metadata": {part: COPIED[part]}})
            await stage.settled()
            assert COPIED[part].items() <= stage.unit(TRAIN)["metadata"][part].items()

    async def test_n4_deployment_tools_find_no_object_of_theirs(self) -> None:
        """The unit is owned by the job, and says so; nobody's controller, no finalizer."""
        stage = Stage(cpu=4)
        stage.submit("train", metadata={"finalizers": ["example.com/x"]})
        async with stage.runs():
            meta = stage.unit(TRAIN)["metadata"]
            [owner] = meta["ownerReferences"]
            assert owner == {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": "train",
                "uid": "job-train",
                "controller": False,
            }
            assert "finalizers" not in meta
            assert "managedFields" not in meta


def _job() -> Any:
    return BatchJob(JobOptions()).kinds[0]


# -- O1


COUNTS = [
    pytest.param({"parallelism": 1_000_000, "completions": 1_000_000}, 1_000_000, id="a million"),
    pytest.param({"parallelism": 1_000_000}, 1_000_000, id="without completions"),
    pytest.param({"parallelism": 1_000_000, "completions": 3}, 3, id="three to complete"),
    pytest.param({"completions": 1_000_000}, 1, id="one after the other"),
    pytest.param({"parallelism": 999_999, "completions": 1_000_000}, 999_999, id="one less"),
    pytest.param({"parallelism": 0, "completions": 1_000_000}, 0, id="none yet"),
]


@pytest.mark.parametrize(("counts", "pods"), COUNTS)
def test_o1_a_million_pods_are_counted_exactly_and_at_once(
    counts: dict[str, int], pods: int
) -> None:
    body = a_job(cpu="1m", **counts)
    BatchJob(JobOptions()).view(a_job(cpu="1m"))
    started = time.perf_counter()
    [pod_set] = BatchJob(JobOptions()).view(body).pod_sets
    total = pod_set.template.request.times(pod_set.count)
    assert time.perf_counter() - started < LIMIT_SECONDS
    assert pod_set.count == pods
    assert total["cpu"] == pods


@pytest.mark.parametrize(
    ("failed", "left"),
    [("0-999998", 1), ("0-499999", 500_000), ("0", 999_999), ("0-999999", 0), ("", 1_000_000)],
)
def test_o1_a_million_failed_indexes_are_counted_without_a_list(failed: str, left: int) -> None:
    body = a_job(parallelism=1_000_000, completions=1_000_000, completionMode="Indexed")
    body["status"] = {"failedIndexes": failed}
    started = time.perf_counter()
    [pod_set] = BatchJob(JobOptions()).view(body).pod_sets
    assert time.perf_counter() - started < LIMIT_SECONDS
    assert pod_set.count == left


class TestO1:
    pytestmark = CLUSTER

    @pytest.mark.parametrize(
        ("limit", "message"),
        [
            pytest.param(10**6, "Dequeued because schedule successfully", id="fits exactly"),
            pytest.param(
                10**6 - 1,
                "cannot start: 1M cpu requested, but max of quota team-a is 999999",
                id="one too many",
            ),
        ],
    )
    async def test_o1_a_job_of_a_million_pods_is_queued_and_let_go(
        self, limit: int, message: str
    ) -> None:
        stage = Stage(cpu=limit)
        stage.played.reacts = 1e9
        stage.submit("train", cpu=1, parallelism=1_000_000, completions=1_000_000)
        stage.start()
        started = time.perf_counter()
        await stage.settled()
        assert time.perf_counter() - started < 1.0
        assert stage.unit(TRAIN)["spec"]["resource"] == {"cpu": "1M"}
        assert stage.message(TRAIN) == message
        await stage.stop()
