"""All controllers of the simulated cluster, and its nodes."""

from collections.abc import Mapping
from typing import Any

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


def node(name: str, resources: Mapping[str, str] = NODE_RESOURCES) -> dict[str, Any]:
    """A node to be made, ready, with so much room."""
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
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "phase": "Running",
        },
    }
