"""What sets the kinds of training-operator apart: fields, roles, and the pods of these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kq.core.kinds import Object
from kq.sim.control.objects import PODS, is_deleted, place_of
from kq.sim.control.writes import Create, Write
from kq.sim.kubeflow.replicas import (
    JOB_NAME,
    JOB_ROLE,
    OPERATOR_NAME,
    REPLICA_INDEX,
    REPLICA_TYPE,
    Role,
    deletion,
    index_of,
    of_role,
    pod_of,
)

WORKER = "Worker"
MASTER = "Master"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trade:
    """One kind of training jobs."""

    name: str
    plural: str
    replicas: str
    """The field of its roles."""
    roles: Sequence[str]
    """All that there may be, in the order in which they are judged."""
    leaders: Sequence[str] = (MASTER,)
    """The roles with which a job ends."""
    container: str
    restart_policy: str = "Never"
    tells_selector: bool = True
    worker_leads: bool = True
    """Whether the first worker is master where no role leads."""

    @property
    def kind(self) -> str:
        """The name of the kind."""
        return f"{self.plural}.kubeflow.org"

    @property
    def controller(self) -> str:
        """Who looks after it."""
        return f"{self.name.lower()}-controller"

    def leads(self, roles: Sequence[Role]) -> bool:
        """Whether one of the roles is there with which a job ends."""
        return any(each.name in self.leaders for each in roles)

    def marks(self, roles: Sequence[Role], role: Role, index: int) -> Mapping[str, str]:
        """The label of a pod that is the master of its job."""
        if self.leads(roles) or not self.worker_leads:
            return {JOB_ROLE: "master"} if role.name in self.leaders else {}
        return {JOB_ROLE: "master"} if role.name == WORKER and index == 0 else {}


TF = Trade(
    name="TFJob",
    plural="tfjobs",
    replicas="tfReplicaSpecs",
    roles=("Chief", "Evaluator", MASTER, "PS", WORKER),
    leaders=("Chief", MASTER),
    container="tensorflow",
    tells_selector=False,
)
PYTORCH = Trade(
    name="PyTorchJob",
    plural="pytorchjobs",
    replicas="pytorchReplicaSpecs",
    roles=(MASTER, WORKER),
    container="pytorch",
    restart_policy="OnFailure",
)
XGBOOST = Trade(
    name="XGBoostJob",
    plural="xgboostjobs",
    replicas="xgbReplicaSpecs",
    roles=(MASTER, WORKER),
    container="xgboost",
    tells_selector=False,
    worker_leads=False,
)
PADDLE = Trade(
    name="PaddleJob",
    plural="paddlejobs",
    replicas="paddleReplicaSpecs",
    roles=(MASTER, WORKER),
    container="paddle",
    restart_policy="OnFailure",
    worker_leads=False,
)


def _waiting_for_master(
    trade: Trade, job: Object, roles: Sequence[Role], role: Role
) -> Mapping[str, Any]:
    """The init container of PyTorch's workers beside a master, which has requests too."""
    if trade is not PYTORCH or role.name != WORKER or not trade.leads(roles):
        return {}
    name = f"{place_of(job)[1]}-master-0"
    loop = f"if nslookup {name}; then err=0 && break; fi;echo waiting for master; sleep 2;"
    container = {
        "name": "init-pytorch",
        "image": "alpine:3.10",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", f"err=1;for i in $(seq 100); do {loop} done; exit $err"],
        "resources": {
            "limits": {"cpu": "100m", "memory": "20Mi"},
            "requests": {"cpu": "50m", "memory": "10Mi"},
        },
    }
    given = (role.template.get("spec") or {}).get("initContainers") or ()
    return {"initContainers": [*given, container]}


def labels_of(trade: Trade, job: Object, role: Role) -> dict[str, str]:
    """The labels that all pods of a role have."""
    return {
        JOB_NAME: place_of(job)[1],
        OPERATOR_NAME: trade.controller,
        REPLICA_TYPE: role.name.lower(),
    }


def changes(
    trade: Trade, job: Object, roles: Sequence[Role], role: Role, pods: Sequence[Object]
) -> list[Write]:
    """The pods that a role lacks are made, those beyond its number deleted.

    A pod that is being deleted is not lacking: its name is taken.
    """
    there = {index_of(each): each for each in of_role(pods, role)}
    surplus = [
        each
        for index, each in there.items()
        if index is not None and index >= role.replicas and not is_deleted(each)
    ]
    lacking = [index for index in range(role.replicas) if index not in there]
    made = [_pod(trade, job, roles, role, index) for index in lacking]
    return [*made, *map(deletion, surplus)]


def _pod(trade: Trade, job: Object, roles: Sequence[Role], role: Role, index: int) -> Create:
    namespace, name = place_of(job)
    labels = {
        **labels_of(trade, job, role),
        REPLICA_INDEX: str(index),
        **trade.marks(roles, role, index),
    }
    more = _waiting_for_master(trade, job, roles, role)
    body = pod_of(job, role, f"{name}-{role.name.lower()}-{index}", labels, more)
    return Create(kind=PODS, namespace=namespace, body=body)
