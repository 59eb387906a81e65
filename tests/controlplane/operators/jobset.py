"""JobSet's controller."""

from collections.abc import Sequence

import yaml

from controlplane import probes
from controlplane.operators import operator
from controlplane.operators.operator import Operator, Place, Start, Webhooks

WEBHOOKS = Webhooks(
    folder="config/components/webhook",
    namespace="jobset-system",
    service="jobset-webhook-service",
    prefix="jobset-",
)


def starts(place: Place) -> Sequence[Start]:
    """The controller, told by file where to listen."""
    (health,) = probes.free_ports(1)
    configuration = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": operator.address(health)},
        "metrics": {"bindAddress": "0"},
        "webhook": {"port": place.webhook_port, "certDir": str(place.certificates)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "clientConnection": {"qps": 100, "burst": 200},
    }
    file = place.folder / "config.yaml"
    file.write_text(yaml.safe_dump(configuration))
    return [
        Start(
            name=OPERATOR.process,
            command=(str(place.program), f"--config={file}"),
            is_ready=operator.answers(health, webhook_port=place.webhook_port),
        )
    ]


OPERATOR = Operator(
    name="jobset",
    module="jobset-ray",
    package="sigs.k8s.io/jobset",
    source="sigs.k8s.io/jobset",
    kinds={
        "/apis/jobset.x-k8s.io/v1alpha2/jobsets": (
            "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"
        )
    },
    starts=starts,
    effort="half a minute on two cores after mpi, else 2 minutes",
    webhooks=WEBHOOKS,
    objects=(operator.namespace(WEBHOOKS.namespace),),
)
