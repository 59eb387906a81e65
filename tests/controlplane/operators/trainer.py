"""Kubeflow Trainer v2: TrainJob, which it turns into a JobSet."""

from collections.abc import Sequence

import yaml

from controlplane import probes
from controlplane.operators import operator
from controlplane.operators.operator import Operator, Place, Start, Webhooks

WEBHOOKS = Webhooks(
    folder="manifests/base/webhook",
    namespace="kubeflow-system",
    service="kubeflow-trainer-controller-manager",
)
CRDS = "manifests/base/crds/trainer.kubeflow.org_{}.yaml"


def starts(place: Place) -> Sequence[Start]:
    """The controller, told by file where to listen, and by TMPDIR where its certificates are."""
    health, status = probes.free_ports(2)
    configuration = {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": operator.address(health)},
        "metrics": {"bindAddress": "0", "secureServing": False},
        "webhook": {"port": place.webhook_port},
        "leaderElection": {"leaderElect": False},
        "certManagement": {"enable": False},
        "clientConnection": {"qps": 100, "burst": 200},
        "statusServer": {"port": status},
    }
    file = place.folder / "config.yaml"
    file.write_text(yaml.safe_dump(configuration))
    return [
        Start(
            name=OPERATOR.process,
            command=(str(place.program), f"--config={file}"),
            environment=operator.link_certificates(place),
            is_ready=operator.answers(health, webhook_port=place.webhook_port),
        )
    ]


OPERATOR = Operator(
    name="trainer",
    module="mpi-trainer",
    package="github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager",
    source="github.com/kubeflow/trainer/v2",
    kinds={
        f"/apis/trainer.kubeflow.org/v1alpha1/{each}": CRDS.format(each)
        for each in ("trainjobs", "trainingruntimes", "clustertrainingruntimes")
    },
    starts=starts,
    effort="half a minute on two cores after mpi, else 2 minutes",
    webhooks=WEBHOOKS,
    objects=(operator.namespace(WEBHOOKS.namespace),),
    needs=("jobset",),
)
