"""What an operator brings, made to fit a cluster whose webhooks are processes on loopback."""

import base64
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import yaml

from controlplane.cluster import Object
from controlplane.operators.operator import Webhooks

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"


def configurations(rendered: str, webhooks: Webhooks, port: int, ca: bytes) -> list[Object]:
    """The webhook configurations among rendered manifests, calling a port on loopback."""
    return [
        _fitted(each, webhooks, port, ca)
        for each in yaml.load_all(rendered, yaml.CSafeLoader)
        if each and each["kind"].endswith("WebhookConfiguration")
    ]


def service(webhooks: Webhooks) -> Object:
    """The Service that they call: the API server takes it for another name of this machine."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": webhooks.service, "namespace": webhooks.namespace},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }


def path_of(made: Object) -> str:
    """Where an object is, among the few kinds that operators bring."""
    metadata = made["metadata"]
    if made["kind"].endswith("WebhookConfiguration"):
        return f"{CONFIGURATIONS}/{made['kind'].lower()}s/{metadata['name']}"
    if "namespace" in metadata:
        folder = f"/api/v1/namespaces/{metadata['namespace']}"
        return f"{folder}/{made['kind'].lower()}s/{metadata['name']}"
    return f"/api/v1/{made['kind'].lower()}s/{metadata['name']}"


def definition_name(path: str) -> str:
    """The name of the CRD of the kind that is listed at a path."""
    _, _, group, _, plural = path.split("/")
    return f"{plural}.{group}"


def has_version(definition: Mapping[str, Any], path: str) -> bool:
    """Whether a CRD serves its kind in the version of a path."""
    return path.split("/")[3] in set(_served(definition))


def _served(definition: Mapping[str, Any]) -> Iterator[str]:
    for version in definition["spec"]["versions"]:
        if version["served"]:
            yield version["name"]


def _fitted(configuration: Object, webhooks: Webhooks, port: int, ca: bytes) -> Object:
    made = deepcopy(configuration)
    name = webhooks.prefix + configuration["metadata"]["name"]
    made["metadata"] = {"name": name}
    made["webhooks"] = [each for each in made["webhooks"] if each["name"] not in webhooks.unserved]
    for webhook in made["webhooks"]:
        webhook |= webhooks.set_of.get(webhook["name"], {})
        called = webhook["clientConfig"]["service"]
        called |= {"namespace": webhooks.namespace, "name": webhooks.service, "port": port}
        webhook["clientConfig"]["caBundle"] = base64.b64encode(ca).decode()
    return made
