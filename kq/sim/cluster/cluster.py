"""All controllers of the simulated cluster, and its nodes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kq.core.codec import format_time
from kq.sim.cluster.collector import Collector
from kq.sim.cluster.cronjobs import cron_controller
from kq.sim.cluster.jobs import JobController, TtlController
from kq.sim.cluster.namespaces import AccountController, NamespaceController
from kq.sim.cluster.plays import Plays, by_annotation
from kq.sim.cluster.pods import Kubelets
from kq.sim.cluster.resourcequota import QuotaController
from kq.sim.cluster.scheduling import Scheduler
from kq.sim.control.controller import Controller

NODE_RESOURCES: Mapping[str, str] = {
    "cpu": "1000",
    "memory": "4Ti",
    "pods": "100k",
    "ephemeral-storage": "100Ti",
    "nvidia.com/gpu": "1000",
}


KUBELET = "simulated"
"""What stands in the column VERSION of nodes."""
_UNKNOWN = (
    "architecture",
    "bootID",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
)


def controllers(plays: Plays = by_annotation) -> list[Controller]:
    """Each controller anew, knowing nothing; `plays` says how pods run."""
    return [
        AccountController(),
        cron_controller(),
        JobController(),
        Scheduler(),
        Kubelets(plays),
        Collector(),
        TtlController(),
        QuotaController(),
        NamespaceController(),
    ]


def node(
    name: str, resources: Mapping[str, str] = NODE_RESOURCES, *, now: datetime | None = None
) -> dict[str, Any]:
    """A node to be made, ready, with so much room; its kubelet says since when and of what kind."""
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    if now is not None:
        since = format_time(now)
        ready |= {"lastHeartbeatTime": since, "lastTransitionTime": since}
        ready["message"] = "the node is simulated"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
        },
        "status": {
            "allocatable": dict(resources),
            "capacity": dict(resources),
            "conditions": [ready],
            "nodeInfo": {**dict.fromkeys(_UNKNOWN, ""), "kubeletVersion": KUBELET},
            "phase": "Running",
        },
    }
