"""KubeRay: RayJob and RayCluster, with a stand-in for the dashboard of each Ray cluster."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from controlplane import probes
from controlplane.edits import Edit
from controlplane.operators import operator
from controlplane.operators.operator import Operator, Place, Start, Webhooks

CRDS = "config/crd/bases/ray.io_{}.yaml"
DASHBOARD = "ray-dashboard"
SOURCE = "github.com/ray-project/kuberay/ray-operator"
TESTS = Path(__file__).parents[2]
WEBHOOKS = Webhooks(
    folder="config/webhook",
    namespace="ray-system",
    service="kuberay-webhook-service",
    # Its manifests list them, and its program answers at their paths with 404.
    unserved=frozenset({"vrayjob.kb.io", "vrayservice.kb.io"}),
)

PACKAGES = 'metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"\n'
PARSES = "flag.Parse()\n"
OPTION = "HealthProbeBindAddress:  config.ProbeAddr,\n"
SERVES = "WebhookServer: webhook.NewServer(webhook.Options{Port: *webhookPort}),\n"
_edit = partial(Edit, module=SOURCE, file="main.go")
# Its webhook listens on 9443 and has no flag for that: two clusters could not have one each.
EDITS = (
    _edit(old=PACKAGES, new=f'{PACKAGES}\t"sigs.k8s.io/controller-runtime/pkg/webhook"\n'),
    _edit(old=PARSES, new=f'webhookPort := flag.Int("webhook-port", 9443, "")\n\t{PARSES}'),
    _edit(old=OPTION, new=f"{OPTION}\t\t{SERVES}"),
)


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
                f"--webhook-port={place.webhook_port}",
                "--enable-leader-election=false",
                "--log-stdout-encoder=console",
            ),
            environment={
                "ENABLE_WEBHOOKS": "true",
                **operator.link_certificates(place),
                # What the person has set for the way out must not lead past the stand-in.
                **{"HTTP_PROXY": proxy, "http_proxy": proxy, "NO_PROXY": "", "no_proxy": ""},
            },
            is_ready=operator.answers(health, webhook_port=place.webhook_port),
        ),
    ]


OPERATOR = Operator(
    name="ray",
    module="jobset-ray",
    package=SOURCE,
    source=SOURCE,
    edits=EDITS,
    kinds={
        f"/apis/ray.io/v1/{each}": CRDS.format(each)
        for each in ("rayclusters", "rayjobs", "rayservices", "raycronjobs")
    },
    starts=starts,
    helpers=(DASHBOARD,),
    effort="half a minute on two cores after mpi, else 2 minutes",
    webhooks=WEBHOOKS,
    objects=(operator.namespace(WEBHOOKS.namespace),),
)
