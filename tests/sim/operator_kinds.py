"""Kinds of jobs by the CRDs that their operators publish, and what to ask about a job of each."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml
from controlplane import build, cli
from controlplane.operators import OPERATORS, examples, program
from odd_requests import Ask

Object = dict[str, Any]

JOBS: Mapping[str, Object] = {
    "tfjobs": examples.training_job("TFJob", "a"),
    "pytorchjobs": examples.training_job("PyTorchJob", "a"),
    "xgboostjobs": examples.training_job("XGBoostJob", "a"),
    "paddlejobs": examples.training_job("PaddleJob", "a"),
    "mpijobs": examples.mpi_job("a"),
    "jobsets": examples.job_set("a"),
    "trainjobs": examples.train_job("a", runtime="r"),
    "rayjobs": examples.ray_job("a"),
    "rayclusters": examples.ray_cluster("a"),
    "workflows": examples.workflow("a"),
    "sparkapplications": examples.spark_application("a"),
}
"""A held job of each kind, by plural."""
CONDITION = {
    "type": "Queuing",
    "status": "True",
    "reason": "JobQueuing",
    "message": "Job Enqueued",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "lastUpdateTime": "2026-01-01T00:00:00Z",
}


def published(plural: str, version: str = "") -> Object:
    """The CRD of a kind that its operator brings; of MPIJob there are several."""
    for operator in OPERATORS.values():
        for path, file in operator.kinds.items():
            *_, served, name = path.split("/")
            if name == plural and served == (version or served_version(plural)):
                module = program.module(operator)
                source = build.source_folder(module, operator.source, os.environ, cli.tell)
                definition: Object = yaml.load((source / file).read_text(), yaml.CSafeLoader)
                return definition
    raise LookupError(f"no operator brings {plural} {version}")


def served_version(plural: str) -> str:
    return str(JOBS[plural]["apiVersion"]).partition("/")[2]


@dataclass(frozen=True, kw_only=True)
class Renamed:
    """A published kind in a group of the test's own, so that it is in nobody's way."""

    crd: Object
    job: Object
    namespace: str

    @property
    def base(self) -> str:
        plural = self.crd["spec"]["names"]["plural"]
        return f"/apis/{self.job['apiVersion']}/namespaces/{self.namespace}/{plural}"


def renamed(plural: str, namespace: str) -> Renamed:
    crd, job = published(plural), JOBS[plural]
    group = f"{crd['spec']['group']}.{namespace}.example"
    return Renamed(
        crd={
            **crd,
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {**crd["spec"], "group": group},
            "status": None,
        },
        job={**job, "apiVersion": f"{group}/{served_version(plural)}"},
        namespace=namespace,
    )


def asks(kind: Renamed) -> Iterator[Ask]:
    """What users, kq and operators ask about a job of a kind, and what goes wrong with that."""
    base, job = kind.base, kind.job
    head = {key: job[key] for key in ("apiVersion", "kind")}

    def other(name: str, **spec: Any) -> Object:
        return {**head, "metadata": {"name": name}, "spec": {**job["spec"], **spec}}

    def spoilt(name: str, spoil: Callable[[Any], Any]) -> Object:
        made = other(name)
        return {**made, "spec": each_leaf(made["spec"], spoil)}

    def post(what: str, body: Object, **query: str) -> Ask:
        return Ask(what=what, method="POST", path=base, body=body, query=query)

    def patch(what: str, body: Object, tail: str = "", **query: str) -> Ask:
        return Ask(what=what, method="PATCH", path=f"{base}/a{tail}", body=body, query=query)

    yield post("a job", job)
    yield post("a field that nobody knows", other("b", nonsense={"a": 1}))
    strict = other("c", nonsense={"a": 1})
    yield post("strictly", strict, fieldValidation="Strict")
    yield post("nothing said", {**head, "metadata": {"name": "d"}, "spec": {}})
    yield post("texts for numbers", spoilt("e", lambda leaf: "7" if is_count(leaf) else leaf))
    yield post("less than none", spoilt("f", lambda leaf: -leaf if is_count(leaf) else leaf))
    yield post("odd words", spoilt("g", lambda leaf: f"?{leaf}" if leaf == "Never" else leaf))
    yield post("nulls", spoilt("h", lambda leaf: None if isinstance(leaf, bool) else leaf))
    released = {"suspend": False, "runPolicy": {"suspend": False}}
    yield patch("released", {"spec": released, "metadata": {"annotations": {"x": "y"}}})
    yield patch("queuing", {"status": {"conditions": [CONDITION]}}, "/status")
    whole = {"conditions": [CONDITION], "replicaStatuses": {}}
    yield patch("queuing, with all that is asked for", {"status": whole}, "/status")
    yield Ask(what="what came of it", method="GET", path=f"{base}/a")


def is_count(leaf: Any) -> bool:
    return isinstance(leaf, int) and not isinstance(leaf, bool)


def each_leaf(value: Any, spoil: Callable[[Any], Any]) -> Any:
    match value:
        case dict():
            return {key: each_leaf(each, spoil) for key, each in value.items()}
        case list():
            return [each_leaf(each, spoil) for each in value]
        case _:
            return spoil(value)


def in_order(shown: Object) -> Object:
    """An answer with the causes of a refusal in an order: those of a real server have none."""
    copy: Object = json.loads(json.dumps(shown))
    body = copy["body"]
    causes = (body.get("details") or {}).get("causes") or []
    if len(causes) > 1:
        causes.sort(key=lambda each: (each["field"], each["message"]))
        body["message"] = ""
    return copy
