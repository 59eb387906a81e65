"""What a pod costs that the manager keeps: at most 600 bytes, its place in the store included."""

import sys
from typing import Any

import msgspec
import pytest

from kq.core.model import PodView
from kq.core.podviews import pod_decoder
from kq.kube.replica import Replica

PODS = 3_000
MOST_BYTES = 600
JOBS = {
    "Job": ("batch/v1", "llm-finetune-7b-stage-2", "", 1),
    "TFJob": ("kubeflow.org/v1", "recommender-nightly-train", "worker", 16),
    "PyTorchJob": ("kubeflow.org/v1", "llm-pretrain-13b-run-0042", "worker", 64),
    "MPIJob": ("kubeflow.org/v2beta1", "weather-sim-ensemble", "worker", 32),
    "RayCluster": ("ray.io/v1", "tune-hyperparams-x7k2p-raycluster-q9z4d", "small-group", 12),
    "Workflow": ("argoproj.io/v1alpha1", "etl-hourly-1764465600", "", 3),
}
"""apiVersion, name, role, and pods of each job."""


def pod(number: int, kind: str) -> dict[str, Any]:
    version, name, role, size = JOBS[kind]
    job = number // size
    owner = {
        "apiVersion": version,
        "kind": kind,
        "name": f"{name}-{job}",
        "uid": f"5c3f8f9e-1d0b-4a52-9a2c-{job:012x}",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    requests = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"}
    container = {
        "name": "train",
        "image": "registry.example/train:1",
        "env": [{"name": f"SETTING_{each}", "value": "x" * 40} for each in range(10)],
        "resources": {"requests": requests, "limits": requests},
    }
    return {
        "metadata": {
            "name": f"{name}-{job}-{role or 'main'}-{number % size}",
            "namespace": "team-research",
            "uid": f"aaaaaaaa-1d0b-4a52-9a2c-{number:012x}",
            "resourceVersion": str(70_000_000 + number),
            "labels": {"replica-type": role, "app": "train", "number": str(number)},
            "annotations": {"note": "y" * 100},
            "ownerReferences": [owner],
        },
        "spec": {"nodeName": f"node-{number % 100}", "containers": [container]},
        "status": {"phase": "Running", "podIP": "10.1.2.3"},
    }


def size_of(replica: Replica[PodView]) -> int:
    """The bytes of all that a store leads to, each object once."""
    objects: list[Any] = [vars(replica.store)]
    seen: dict[int, object] = {}
    size = 0
    while objects:
        each = objects.pop()
        if id(each) in seen or isinstance(each, type) or callable(each):
            continue
        seen[id(each)] = each
        size += sys.getsizeof(each)
        match each:
            case dict():
                objects.extend(each.keys())
                objects.extend(each.values())
            case list() | tuple() | set():
                objects.extend(each)
            case msgspec.Struct():
                objects.extend(getattr(each, field) for field in each.__struct_fields__)
            case _ if hasattr(each, "__dict__"):
                objects.append(vars(each))
            case _:
                slots = [name for name in getattr(each, "__slots__", ()) if hasattr(each, name)]
                objects.extend(getattr(each, name) for name in slots)
    return size


@pytest.mark.parametrize("kind", JOBS)
def test_a_pod_that_is_kept_costs_at_most_600_bytes(kind: str) -> None:
    """Issue 6: a pod kept costs at most 600 bytes (spec 8.23, 11.7)."""
    replica = Replica(pod_decoder(JOBS, counts_foreign=False))
    for number in range(PODS):
        replica.list_item(msgspec.Raw(msgspec.json.encode(pod(number, kind))), initial=True)
    replica.end_list()
    assert len(replica.store) == PODS
    each = size_of(replica) / PODS
    assert each <= MOST_BYTES


def test_pods_of_others_cost_nothing() -> None:
    """Pods whose owner leads to no kind of jobs are dropped at decoding (spec 11.9)."""
    replica = Replica(pod_decoder(["TFJob"], counts_foreign=False))
    for number in range(100):
        replica.list_item(msgspec.Raw(msgspec.json.encode(pod(number, "Job"))), initial=True)
    replica.end_list()
    assert len(replica.store) == 0
    assert size_of(replica) < 4 * MOST_BYTES
