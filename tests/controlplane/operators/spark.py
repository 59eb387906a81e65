"""Spark operator: SparkApplication, with a stand-in for spark-submit."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from controlplane import probes
from controlplane.operators import operator
from controlplane.operators.operator import Operator, Place, Start, Webhooks

CRDS = "config/crd/bases/sparkoperator.k8s.io_{}.yaml"
TESTS = Path(__file__).parents[2]
SUBMIT = """#!/bin/sh
PYTHONPATH={tests} exec {python} -m controlplane.operators.spark_submit {kubeconfig} "$@"
"""
WEBHOOK = "spark-webhook"
WEBHOOKS = Webhooks(
    folder="config/webhook",
    namespace="spark-operator",
    service="spark-operator-webhook-svc",
    prefix="spark-operator-",
    # It would have ScheduledSparkApplications looked at as if they were SparkApplications.
    unserved=frozenset({"mutate-scheduledsparkapplication.sparkoperator.k8s.io"}),
    # As its chart has it: of its manifests every change of every pod would go there.
    set_of={
        "mutate-pod.sparkoperator.k8s.io": {
            "objectSelector": {
                "matchLabels": {"sparkoperator.k8s.io/launched-by-spark-operator": "true"}
            },
            "rules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "resources": ["pods"],
                    "operations": ["CREATE"],
                }
            ],
        }
    },
)


def starts(place: Place) -> Sequence[Start]:
    """Its webhooks, and the controller, for all namespaces, with the command that it calls."""
    return [_webhook(place), _controller(place)]


def _webhook(place: Place) -> Start:
    """With our certificate, as if cert-manager had issued it: its own it would make anew."""
    operator.write_secret(place, WEBHOOKS, WEBHOOK, ("ca.crt", "tls.crt", "tls.key"))
    (health,) = probes.free_ports(1)
    return Start(
        name=WEBHOOK,
        command=(
            *(str(place.program), "webhook", "start", "--enable-cert-manager"),
            f"--webhook-secret-name={WEBHOOK}",
            f"--webhook-secret-namespace={WEBHOOKS.namespace}",
            f"--webhook-cert-dir={place.folder / 'certificates'}",
            f"--webhook-port={place.webhook_port}",
            f"--health-probe-bind-address={operator.address(health)}",
        ),
        is_ready=operator.answers(health, webhook_port=place.webhook_port),
    )


def _controller(place: Place) -> Start:
    (health,) = probes.free_ports(1)
    _write_submit(place)
    api = urlsplit(place.cluster.access.server)
    return Start(
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
    helpers=(WEBHOOK,),
    effort="2 minutes on two cores",
    webhooks=WEBHOOKS,
    objects=(operator.namespace(WEBHOOKS.namespace),),
)
