"""mpi-operator: MPIJob v2beta1."""

from collections.abc import Sequence

from controlplane.edits import Edit
from controlplane.errors import Refused
from controlplane.operators import operator
from controlplane.operators.operator import Operator, Place, Start

NAMESPACE = "mpi-operator"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/mpi-operator"
SOURCE = "github.com/kubeflow/mpi-operator"


def starts(place: Place) -> Sequence[Start]:
    """The operator, with nobody before it whose lease would have to run out."""
    try:
        place.cluster.api("DELETE", LEASE)
    except Refused as err:
        if err.status != 404:
            raise
    command = (
        str(place.program),
        f"-kubeConfig={place.cluster.kubeconfig}",
        f"-lock-namespace={NAMESPACE}",
        "-kube-api-qps=100",
        "-kube-api-burst=200",
    )
    return [
        Start(name=OPERATOR.process, command=command, is_ready=operator.says("Started workers"))
    ]


OPERATOR = Operator(
    name="mpi",
    module="mpi-trainer",
    package=f"{SOURCE}/cmd/mpi-operator",
    source=SOURCE,
    # Its port for health is fixed, and many other things live on 8080.
    edits=(
        Edit(
            module=SOURCE,
            file="cmd/mpi-operator/app/server.go",
            old="healthCheckPort = 8080",
            new="healthCheckPort = 0",
        ),
    ),
    kinds={"/apis/kubeflow.org/v2beta1/mpijobs": "manifests/base/kubeflow.org_mpijobs.yaml"},
    starts=starts,
    effort="2 minutes on two cores",
    objects=(operator.namespace(NAMESPACE),),
)
