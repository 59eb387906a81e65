"""Argo's workflow-controller, without its executor: KWOK ends the pods and nothing is put out."""

from collections.abc import Sequence

from controlplane.operators import operator
from controlplane.operators.operator import Operator, Place, Start

NAMESPACE = "argo"
CONFIGURATION = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "workflow-controller-configmap", "namespace": NAMESPACE},
    "data": {"metricsConfig": "{enabled: false}", "telemetryConfig": "{enabled: false}"},
}
CRDS = "manifests/base/crds/minimal/argoproj.io_{}.yaml"
KINDS = (
    "clusterworkflowtemplates",
    "cronworkflows",
    "workflowartifactgctasks",
    "workfloweventbindings",
    "workflows",
    "workflowtaskresults",
    "workflowtasksets",
    "workflowtemplates",
)


def starts(place: Place) -> Sequence[Start]:
    """The controller; its health is on a fixed port, so another one's might be asked: it is not."""
    command = (
        str(place.program),
        f"--kubeconfig={place.cluster.kubeconfig}",
        f"--namespace={NAMESPACE}",
        "--managed-namespace=",
        "--executor-image=example.com/none",
        "--qps=100",
        "--burst=200",
    )
    return [
        Start(
            name=OPERATOR.process,
            command=command,
            environment={"LEADER_ELECTION_DISABLE": "true", "DEFAULT_REQUEUE_TIME": "1s"},
            is_ready=operator.says("Current Worker Numbers"),
        )
    ]


OPERATOR = Operator(
    name="argo",
    module="argo",
    package="github.com/argoproj/argo-workflows/v4/cmd/workflow-controller",
    source="github.com/argoproj/argo-workflows/v4",
    kinds={f"/apis/argoproj.io/v1alpha1/{each}": CRDS.format(each) for each in KINDS},
    starts=starts,
    effort="3 minutes on two cores",
    objects=(operator.namespace(NAMESPACE), CONFIGURATION),
)
