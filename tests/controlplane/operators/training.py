"""training-operator: TFJob, PyTorchJob, XGBoostJob, PaddleJob, and MPIJob v1 where mpi is not."""

from collections.abc import Sequence
from pathlib import Path

from controlplane import probes
from controlplane.operators import operator
from controlplane.operators.operator import Operator, Place, Start, Webhooks

SCHEMES = ("tfjob", "pytorchjob", "xgboostjob", "paddlejob")
CRDS = "manifests/base/crds/kubeflow.org_{}.yaml"
MOUNT = Path("/tmp/k8s-webhook-server/serving-certs/tls.crt")
"""The operator looks for a certificate here, whatever it is told, and reads one elsewhere."""
WEBHOOKS = Webhooks(
    folder="manifests/base/webhook", namespace="kubeflow", service="training-operator"
)
SECRET = "training-operator-webhook-cert"


def starts(place: Place) -> Sequence[Start]:
    """The operator, with certificates that it need not make."""
    metrics, health = probes.free_ports(2)
    # It makes others if one of these does not please it.
    operator.write_secret(place, WEBHOOKS, SECRET, ("ca.crt", "ca.key", "tls.crt", "tls.key"))
    # It only has to exist: the content that counts is in the folder for temporary files.
    if not MOUNT.exists():
        MOUNT.parent.mkdir(parents=True, exist_ok=True)
        MOUNT.touch()
    schemes = SCHEMES if "mpi" in place.beside else (*SCHEMES, "mpijob")
    command = (
        str(place.program),
        f"--metrics-bind-address={operator.address(metrics)}",
        f"--health-probe-bind-address={operator.address(health)}",
        f"--webhook-server-port={place.webhook_port}",
        *(f"--enable-scheme={scheme}" for scheme in schemes),
    )
    return [
        Start(
            name=OPERATOR.process,
            command=command,
            environment=operator.link_certificates(place),
            is_ready=operator.answers(health, webhook_port=place.webhook_port),
        )
    ]


OPERATOR = Operator(
    name="training",
    module="training",
    package="github.com/kubeflow/training-operator/cmd/training-operator.v1",
    source="github.com/kubeflow/training-operator",
    kinds={
        f"/apis/kubeflow.org/v1/{each}": CRDS.format(each)
        for each in ("tfjobs", "pytorchjobs", "xgboostjobs", "paddlejobs", "mpijobs")
    },
    starts=starts,
    effort="a good minute on two cores",
    webhooks=WEBHOOKS,
    objects=(operator.namespace(WEBHOOKS.namespace),),
    leaves={"mpi": "/apis/kubeflow.org/v1/mpijobs"},
)
