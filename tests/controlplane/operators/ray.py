"""KubeRay: RayJob and RayCluster, with a stand-in for the dashboard of each Ray cluster."""

import sys
from collections.abc import Sequence
from pathlib import Path

from controlplane import probes
from controlplane.operators import operator
from controlplane.operators.operator import Operator, Place, Start

CRDS = "config/crd/bases/ray.io_{}.yaml"
DASHBOARD = "ray-dashboard"
TESTS = Path(__file__).parents[2]


def starts(place: Place) -> Sequence[Start]:
    """The dashboard, and the operator that takes it for its proxy on the way to every cluster."""
    dashboard, metrics, health = probes.free_ports(3)
    proxy = f"http://{operator.address(dashboard)}"
    return [
        Start(
            name=DASHBOARD,
            command=(
                *(sys.executable, "-m", "controlplane.operators.ray_dashboard"),
                *(str(dashboard), str(place.cluster.kubeconfig)),
            ),
            environment={"PYTHONPATH": str(TESTS)},
            is_ready=lambda process: probes.accepts(dashboard),
        ),
        Start(
            name=OPERATOR.process,
            command=(
                str(place.program),
                f"--metrics-addr={operator.address(metrics)}",
                f"--health-probe-bind-address={operator.address(health)}",
                "--enable-leader-election=false",
                "--log-stdout-encoder=console",
            ),
            # What the person has set for the way out must not lead past the stand-in.
            environment={"HTTP_PROXY": proxy, "http_proxy": proxy, "NO_PROXY": "", "no_proxy": ""},
            is_ready=operator.answers(health),
        ),
    ]


OPERATOR = Operator(
    name="ray",
    module="jobset-ray",
    package="github.com/ray-project/kuberay/ray-operator",
    source="github.com/ray-project/kuberay/ray-operator",
    kinds={
        f"/apis/ray.io/v1/{each}": CRDS.format(each)
        for each in ("rayclusters", "rayjobs", "rayservices", "raycronjobs")
    },
    starts=starts,
    helpers=(DASHBOARD,),
    effort="half a minute on two cores after mpi, else 2 minutes",
)
