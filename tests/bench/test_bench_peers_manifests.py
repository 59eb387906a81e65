"""Kueue's manifests for one process on this machine."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from controlplane.pki import Pair

from bench.failure import BenchError
from bench.peers import manifests
from bench.peers.manifests import Ports

CONFIGURATION = """\
health: {healthProbeBindAddress: ':8081'}
metrics: {bindAddress: ':8443'}
webhook: {port: 9443}
leaderElection: {leaderElect: true, resourceName: lease}
clientConnection: {qps: 50, burst: 100}
integrations: {frameworks: [batch/job, pod]}
"""
SERVICE = {"name": "webhook-service", "namespace": "kueue-system"}
RULES = [{"apiGroups": ["batch"], "resources": ["jobs"], "operations": ["CREATE"]}]
SELECTOR = {"matchLabels": {"managed": "yes"}}
PAIR = Pair(certificate=b"certificate", key=b"key")
PORTS = Ports(webhook=1, health=2, metrics=3)


def named(kind: str, name: str = "some", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name}, **more}


def hook(path: str) -> dict[str, Any]:
    return {
        "name": "mjob.kb.io",
        "clientConfig": {"service": {**SERVICE, "path": path}},
        "failurePolicy": "Fail",
        "namespaceSelector": SELECTOR,
        "rules": RULES,
    }


def crd(conversion: dict[str, Any] | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"group": "kueue.x-k8s.io"}
    return named(
        "CustomResourceDefinition",
        spec={**spec, **({"conversion": conversion} if conversion else {})},
    )


@pytest.fixture
def text() -> str:
    """As kustomize prints it."""
    container = {"args": ["--config=/config.yaml", "--zap-log-level=2"]}
    spec = {"template": {"spec": {"containers": [container]}}}
    return yaml.safe_dump_all(
        [
            named("Namespace", "kueue-system"),
            crd(),
            named("ConfigMap", data={"controller_manager_config.yaml": CONFIGURATION}),
            named("Deployment", spec=spec),
            named("Service"),
            named("APIService"),
            named("ClusterRole", rules=[]),
        ]
    )


def test_what_nobody_serves_here_is_left_out_and_all_else_is_applied(text: str) -> None:
    kinds = [each["kind"] for each in manifests.read(text).objects]
    assert kinds == ["Namespace", "CustomResourceDefinition", "ClusterRole"]


def test_flags_and_configuration_are_those_of_the_deployment(text: str) -> None:
    shipped = manifests.read(text)
    assert shipped.arguments == ["--zap-log-level=2"]
    assert shipped.configuration == yaml.safe_load(CONFIGURATION)


def test_manifests_of_another_shape_are_refused(text: str) -> None:
    with pytest.raises(BenchError, match="2 objects of kind Deployment, not 1"):
        manifests.read(f"{text}\n---\n{yaml.safe_dump(named('Deployment'))}")


def test_the_configuration_differs_in_addresses_certificates_namespace_and_one_server() -> None:
    shipped = yaml.safe_load(CONFIGURATION)
    assert manifests.configuration(shipped, PORTS, Path("/tls")) == {
        **shipped,
        "health": {"healthProbeBindAddress": "127.0.0.1:2"},
        "metrics": {"bindAddress": "127.0.0.1:3"},
        "webhook": {"host": "127.0.0.1", "port": 1, "certDir": "/tls"},
        "leaderElection": {**shipped["leaderElection"], "resourceNamespace": "kueue-system"},
        "featureGates": {"VisibilityOnDemand": False},
    }


@pytest.mark.parametrize("kind", ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"])
def test_a_webhook_is_called_on_loopback_and_otherwise_as_shipped(kind: str) -> None:
    shipped = named(kind, webhooks=[hook("/mutate-batch-v1-job"), hook("/mutate--v1-pod")])
    (made,) = manifests.local([shipped], 9999, PAIR)
    assert [each["clientConfig"] for each in made["webhooks"]] == [
        {"url": "https://127.0.0.1:9999/mutate-batch-v1-job", "caBundle": "Y2VydGlmaWNhdGU="},
        {"url": "https://127.0.0.1:9999/mutate--v1-pod", "caBundle": "Y2VydGlmaWNhdGU="},
    ]
    for before, after in zip(shipped["webhooks"], made["webhooks"], strict=True):
        assert {**after, "clientConfig": None} == {**before, "clientConfig": None}


def test_a_conversion_between_versions_is_asked_for_on_loopback_too() -> None:
    config = {"service": {**SERVICE, "path": "/convert"}}
    webhook = {"clientConfig": config, "conversionReviewVersions": ["v1"]}
    (made,) = manifests.local([crd({"strategy": "Webhook", "webhook": webhook})], 9999, PAIR)
    assert made["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {
                "url": "https://127.0.0.1:9999/convert",
                "caBundle": "Y2VydGlmaWNhdGU=",
            },
            "conversionReviewVersions": ["v1"],
        },
    }


def test_the_secret_holds_the_certificate_as_authority_and_as_server() -> None:
    (made,) = manifests.local([named("Secret", "kueue-webhook-server-cert")], 1, PAIR)
    assert made["data"] == {
        "ca.crt": "Y2VydGlmaWNhdGU=",
        "ca.key": "a2V5",
        "tls.crt": "Y2VydGlmaWNhdGU=",
        "tls.key": "a2V5",
    }


@pytest.mark.parametrize(
    "shipped",
    [
        pytest.param(crd(), id="kind without conversion"),
        pytest.param(named("Secret", "another"), id="another secret"),
        pytest.param(named("ClusterRole", rules=RULES), id="rights"),
    ],
)
def test_everything_else_is_applied_as_shipped(shipped: dict[str, Any]) -> None:
    assert manifests.local([shipped], 1, PAIR) == [shipped]
