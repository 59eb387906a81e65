"""The pods of a SparkApplication: the driver, as it is submitted, and the executors it makes."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from kq.core.kinds import Object
from kq.sim.control.objects import PODS, controller_reference, place_of, uid_of
from kq.sim.control.writes import Create

APPLICATION: Final = "sparkoperator.k8s.io/app-name"
SELECTOR: Final = "spark-app-selector"
SUBMISSION: Final = "sparkoperator.k8s.io/submission-id"
PLACED_BY: Final = ("nodeSelector", "tolerations", "affinity", "priorityClassName", "hostNetwork")

LEAST_OVERHEAD: Final = 384
OVERHEAD: Final = {"Python": 0.4, "R": 0.4}
USUAL_OVERHEAD: Final = 0.1

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmgt]?)(?:i?b)?")
_MEBIBYTES = {"": 2.0**-20, "k": 2.0**-10, "m": 1.0, "g": 2.0**10, "t": 2.0**20}


def driver_name(app: Object) -> str:
    """The name of the driver's pod."""
    name = place_of(app)[1]
    return (app["spec"]["driver"].get("podName")) or f"{name}-driver"


def submission_of(app: Object) -> str:
    """The id of the submission that is made of this version of an application."""
    seed = f"{uid_of(app)}/{app['metadata']['resourceVersion']}"
    return str(UUID(bytes=hashlib.sha256(seed.encode()).digest()[:16], version=4))


def driver_of(app: Object) -> Create:
    """The driver of one submission."""
    submission = submission_of(app)
    labels = {SELECTOR: f"spark-{submission.replace('-', '')}", SUBMISSION: submission}
    return _pod(app, "driver", driver_name(app), owner=app, labels=labels)


def executors_of(app: Object, driver: Object) -> Sequence[Create]:
    """The executors that a driver makes first."""
    known = {key: driver["metadata"]["labels"][key] for key in (SELECTOR, SUBMISSION)}
    selector = known[SELECTOR]
    prefix = f"{place_of(app)[1]}-{selector[-8:]}-exec"
    return [
        _pod(
            app,
            "executor",
            f"{prefix}-{number}",
            owner=driver,
            labels={**known, "spark-exec-id": str(number)},
        )
        for number in range(1, _instances(app["spec"]) + 1)
    ]


def _instances(spec: Object) -> int:
    given = [spec["executor"].get("instances")]
    dynamic = spec.get("dynamicAllocation") or {}
    if dynamic.get("enabled"):
        given += [dynamic.get("initialExecutors"), dynamic.get("minExecutors")]
    return max((each for each in given if each is not None), default=1)


def _pod(app: Object, role: str, name: str, *, owner: Object, labels: Mapping[str, str]) -> Create:
    spec, said = app["spec"], app["spec"][role]
    namespace, app_name = place_of(app)
    own = {
        "spark-role": role,
        APPLICATION: app_name,
        "sparkoperator.k8s.io/launched-by-spark-operator": "true",
        "sparkoperator.k8s.io/mutated-by-spark-operator": "true",
    }
    given: Mapping[str, Any] = (said.get("template") or {}).get("spec") or {}
    placed = {field: said[field] for field in PLACED_BY if said.get(field)}
    if selector := {**(spec.get("nodeSelector") or {}), **(said.get("nodeSelector") or {})}:
        placed["nodeSelector"] = selector
    container = {
        "name": f"spark-kubernetes-{role}",
        "image": said.get("image") or spec.get("image") or "spark",
        "resources": _resources(spec, said),
    }
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {
                **(app["metadata"].get("labels") or {}),
                **(said.get("labels") or {}),
                **own,
                **labels,
            },
            "annotations": dict(said.get("annotations") or {}),
            "ownerReferences": [controller_reference(owner)],
        },
        "spec": {**given, **placed, "restartPolicy": "Never", "containers": [container]},
    }
    return Create(kind=PODS, namespace=namespace, body=body)


def _resources(spec: Object, said: Object) -> dict[str, Any]:
    requests = {
        "cpu": str(said.get("coreRequest") or said.get("cores") or 1),
        "memory": f"{_memory(spec, said)}Mi",
    }
    limits = {"memory": requests["memory"]}
    if said.get("coreLimit"):
        limits["cpu"] = said["coreLimit"]
    if gpu := said.get("gpu"):
        limits[gpu["name"]] = str(gpu["quantity"])
    return {"requests": requests, "limits": limits}


def _memory(spec: Object, said: Object) -> int:
    """The heap and what is beside it, in mebibytes."""
    heap = _mebibytes(said.get("memory") or "1g")
    if said.get("memoryOverhead"):
        return int(heap + _mebibytes(said["memoryOverhead"]))
    usual = OVERHEAD.get(spec["type"], USUAL_OVERHEAD)
    return int(heap + max(heap * float(spec.get("memoryOverheadFactor") or usual), LEAST_OVERHEAD))


def _mebibytes(text: str) -> float:
    size = _SIZE.fullmatch(text.strip().lower())
    return float(size[1]) * _MEBIBYTES[size[2]] if size else 0.0
