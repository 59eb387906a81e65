"""Kueue's own manifests, for one process on this machine beside the control plane.

Whatever is not named here stays as it is shipped: CRDs, rights, the rules and selectors of the
webhooks, the flags of the process, limits on requests, concurrency, integrations.

- Deployment, Services and what leads API requests to a Service are left out: nobody runs pods.
- Webhooks, those that convert between versions too, are called at a URL on loopback.
- The certificate that Kueue would make for the name of its Service is there beforehand, so that
  it holds for loopback too; Kueue finds it good and keeps it.
- In the configuration: addresses and ports on loopback, where the certificate lies, in which
  namespace the lease is, and no server of pending workloads, whose files would lie in `/`.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from controlplane.components import HOST
from controlplane.pki import Pair

from bench.failure import BenchError
from bench.objects import Object

NAMESPACE = "kueue-system"
SECRET = "kueue-webhook-server-cert"  # noqa: S105
CONFIGURATION = "controller_manager_config.yaml"
CONFIGURATION_FLAG = "--config"
LEFT_OUT = {"APIService", "ConfigMap", "Deployment", "Service"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """What the manifests say."""

    objects: Sequence[Object]
    """All that is applied here too."""
    configuration: Object
    arguments: Sequence[str]
    """Of the process, without where its configuration is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Where Kueue listens, on loopback."""

    webhook: int
    health: int
    metrics: int


def read(text: str) -> Shipped:
    """The manifests out of what kustomize made of them."""
    found = [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]
    deployment = _one(found, "Deployment")
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    configuration = _one(found, "ConfigMap")["data"][CONFIGURATION]
    return Shipped(
        objects=[each for each in found if each["kind"] not in LEFT_OUT],
        configuration=yaml.safe_load(configuration),
        arguments=[each for each in container["args"] if not each.startswith(CONFIGURATION_FLAG)],
    )


def local(objects: Sequence[Object], port: int, pair: Pair) -> list[Object]:
    """The objects with webhooks at that port of loopback, trusted by that certificate."""
    return [_local(each, f"https://{HOST}:{port}", pair) for each in objects]


def configuration(shipped: Object, ports: Ports, certificates: Path) -> Object:
    """The configuration as shipped, but for what a process outside a cluster needs."""
    changes: Object = {
        "health": {"healthProbeBindAddress": f"{HOST}:{ports.health}"},
        "metrics": {"bindAddress": f"{HOST}:{ports.metrics}"},
        "webhook": {"host": HOST, "port": ports.webhook, "certDir": str(certificates)},
        "leaderElection": {"resourceNamespace": NAMESPACE},
        "featureGates": {"VisibilityOnDemand": False},
    }
    return {**shipped, **{key: {**shipped.get(key, {}), **own} for key, own in changes.items()}}


def _one(found: Sequence[Object], kind: str) -> Object:
    of_kind = [each for each in found if each["kind"] == kind]
    if len(of_kind) != 1:
        raise BenchError(f"Kueue's manifests hold {len(of_kind)} objects of kind {kind}, not 1")
    return of_kind[0]


def _local(made: Object, url: str, pair: Pair) -> Object:
    match made:
        case {"kind": "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration"}:
            hooks = [_called_at(hook, url, pair) for hook in made["webhooks"]]
            return {**made, "webhooks": hooks}
        case {"kind": "CustomResourceDefinition", "spec": {"conversion": {"webhook": hook}}}:
            spec = made["spec"]
            conversion = {**spec["conversion"], "webhook": _called_at(hook, url, pair)}
            return {**made, "spec": {**spec, "conversion": conversion}}
        case {"kind": "Secret", "metadata": {"name": name}} if name == SECRET:
            return {**made, "data": _secret(pair)}
    return made


def _called_at(hook: dict[str, Any], url: str, pair: Pair) -> dict[str, Any]:
    path = hook["clientConfig"]["service"]["path"]
    config = {"url": url + path, "caBundle": _encoded(pair.certificate)}
    return {**hook, "clientConfig": config}


def _secret(pair: Pair) -> dict[str, str]:
    certificate, key = _encoded(pair.certificate), _encoded(pair.key)
    return {"ca.crt": certificate, "ca.key": key, "tls.crt": certificate, "tls.key": key}


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
