"""Spark operator: SparkApplication, with a stand-in for spark-submit."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from controlplane import probes
from controlplane.operators import operator
from controlplane.operators.operator import Operator, Place, Start

CRDS = "config/crd/bases/sparkoperator.k8s.io_{}.yaml"
TESTS = Path(__file__).parents[2]
SUBMIT = """#!/bin/sh
PYTHONPATH={tests} exec {python} -m controlplane.operators.spark_submit {kubeconfig} "$@"
"""


def starts(place: Place) -> Sequence[Start]:
    """The controller, for all namespaces, and the command that it calls."""
    (health,) = probes.free_ports(1)
    _write_submit(place)
    api = urlsplit(place.cluster.access.server)
    return [
        Start(
            name=OPERATOR.process,
            command=(
                *(str(place.program), "controller", "start"),
                "--enable-ui-service=false",
                "--leader-election=false",
                f"--health-probe-bind-address={operator.address(health)}",
            ),
            environment={
                "SPARK_HOME": str(place.folder),
                # Without the two there is no argument --master, and no submission.
                "KUBERNETES_SERVICE_HOST": api.hostname or "",
                "KUBERNETES_SERVICE_PORT": str(api.port or 443),
            },
            is_ready=operator.answers(health),
        )
    ]


def _write_submit(place: Place) -> None:
    command = place.folder / "bin" / "spark-submit"
    command.parent.mkdir(exist_ok=True)
    command.write_text(
        SUBMIT.format(
            tests=shlex.quote(str(TESTS)),
            python=shlex.quote(sys.executable),
            kubeconfig=shlex.quote(str(place.cluster.kubeconfig)),
        )
    )
    command.chmod(0o755)


OPERATOR = Operator(
    name="spark",
    module="spark",
    package="github.com/kubeflow/spark-operator/v2/cmd/operator",
    source="github.com/kubeflow/spark-operator/v2",
    kinds={
        "/apis/sparkoperator.k8s.io/v1beta2/sparkapplications": CRDS.format("sparkapplications"),
        "/apis/sparkoperator.k8s.io/v1beta2/scheduledsparkapplications": CRDS.format(
            "scheduledsparkapplications"
        ),
        # The operator ends at once where this kind is not.
        "/apis/sparkoperator.k8s.io/v1alpha1/sparkconnects": CRDS.format("sparkconnects"),
    },
    starts=starts,
    effort="2 minutes on two cores",
)
