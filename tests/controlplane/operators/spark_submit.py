"""Stands in for spark-submit in cluster mode: makes the driver's pod, and those of its executors.

python -m controlplane.operators.spark_submit <kubeconfig> <argument of spark-submit>...

The executors come at once and belong to the driver, as if it had made them. That the driver belongs
to its SparkApplication is for the operator's webhook to say.
"""

import itertools
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from controlplane.cluster import Cluster, Object

APPLICATION_LABEL = "sparkoperator.k8s.io/app-name"


def main(arguments: Sequence[str]) -> None:
    """Makes all pods of one application."""
    kubeconfig, *rest = arguments
    cluster, asked = Cluster.of(Path(kubeconfig)), configuration(rest)
    namespace = asked.get("spark.kubernetes.namespace", "default")
    pods = f"/api/v1/namespaces/{namespace}/pods"
    selector = f"spark-{secrets.token_hex(16)}"
    name = asked["spark.kubernetes.driver.label." + APPLICATION_LABEL]
    driver_name = asked.get("spark.kubernetes.driver.pod.name", f"{name}-driver")
    driver = cluster.api("POST", pods, pod("driver", driver_name, asked, selector=selector))
    for number in range(1, int(asked.get("spark.executor.instances", "1")) + 1):
        executor_name = f"{name}-{selector[-8:]}-exec-{number}"
        made = pod("executor", executor_name, asked, owner=driver, selector=selector)
        made["metadata"]["labels"]["spark-exec-id"] = str(number)
        cluster.api("POST", pods, made)


def configuration(arguments: Sequence[str]) -> dict[str, str]:
    """What the --conf arguments say."""
    pairs = (
        value.partition("=") for flag, value in itertools.pairwise(arguments) if flag == "--conf"
    )
    return {key: value for key, _, value in pairs}


def pod(
    role: str,
    name: str,
    asked: Mapping[str, str],
    *,
    selector: str,
    owner: Object | None = None,
) -> Object:
    """The pod of a driver or an executor, as far as a scheduler is concerned."""
    prefix = f"spark.kubernetes.{role}."
    cores = asked.get(f"spark.{role}.cores", "1")
    requests = {"cpu": asked.get(f"{prefix}request.cores", cores), "memory": memory(role, asked)}
    container = {
        "name": f"spark-kubernetes-{role}",
        "image": asked.get("spark.kubernetes.container.image", "example.com/none"),
        "resources": {"requests": requests},
    }
    labels = {"spark-role": role, "spark-app-selector": selector}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {**part(asked, f"{prefix}label."), **labels},
            "annotations": part(asked, f"{prefix}annotation."),
            "ownerReferences": [reference(owner)] if owner else [],
        },
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


def memory(role: str, asked: Mapping[str, str]) -> str:
    """What Spark asks for: the heap, with a tenth of it or 384 MiB for all else."""
    text = asked.get(f"spark.{role}.memory", "1g").lower().removesuffix("b")
    heap = float(text[:-1]) * {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1 << 20}[text[-1]]
    return f"{heap + max(heap * 0.1, 384):.0f}Mi"


def part(asked: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The values under a prefix, by the rest of their keys."""
    return {
        key.removeprefix(prefix): value for key, value in asked.items() if key.startswith(prefix)
    }


def reference(owner: Object) -> Object:
    """A reference to the owner that is its controller."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }


if __name__ == "__main__":
    main(sys.argv[1:])
