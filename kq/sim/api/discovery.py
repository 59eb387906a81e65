"""What a server says of itself: its version, its health, and which kinds it serves where."""

import json
from collections.abc import Sequence
from typing import Any

from kq.sim.api.call import Answer, answer_of
from kq.sim.api.kinds import Kind, Registry
from kq.sim.api.openapi import document, root
from kq.sim.api.status import no_such_path

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
HEALTH = ("/healthz", "/livez", "/readyz")
VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3",
    "gitCommit": "$Format:%H$",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "go1.26.8",
    "compiler": "gc",
    "platform": "linux/amd64",
}
"""The version that the simulated server claims: the one whose ways it copies."""

_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_PART_VERBS = ("get", "patch", "update")
_PART_KINDS = {"binding": ("create",), "eviction": ("create",), "finalize": ("update",)}
Value = dict[str, Any]


def answer(path: str, accept: str, registry: Registry) -> Answer | None:
    """The answer to a GET of such a path; None if the path is about something else."""
    parts = [part for part in path.split("/") if part]
    match parts:
        case ["version"]:
            return _text(json.dumps(VERSION, indent=2), "application/json")
        case [health, *_] if f"/{health}" in HEALTH:
            return _text("ok", "text/plain; charset=utf-8")
        case ["openapi", "v3"]:
            return answer_of(root(registry))
        case ["openapi", "v3", *place]:
            found = document(registry, "/".join(place))
            return answer_of(found) if found else _missing()
        case ["api" | "apis" as tree] if "as=APIGroupDiscoveryList" in accept:
            return _aggregated(registry, core=tree == "api")
        case _:
            return _plain(parts, registry)


def _plain(parts: Sequence[str], registry: Registry) -> Answer | None:
    match parts:
        case []:
            return answer_of({"paths": sorted(_all_paths(registry))})
        case ["api"]:
            addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"}]
            versions = {"kind": "APIVersions", "versions": ["v1"]}
            return answer_of(versions | {"serverAddressByClientCIDRs": addresses})
        case ["apis"]:
            groups = [_group(name, registry) for name in _groups(registry)]
            return answer_of({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        case ["api", version]:
            return _resources("", version, registry)
        case ["apis", group] if group in _groups(registry):
            head = {"kind": "APIGroup", "apiVersion": "v1"}
            return answer_of(head | _group(group, registry))
        case ["apis", group, version]:
            return _resources(group, version, registry)
        case _:
            return None


def _text(content: str, media: str) -> Answer:
    return Answer(body=content.encode(), headers={"Content-Type": media})


def _missing() -> Answer:
    refusal = no_such_path()
    return answer_of(refusal.to_body(), code=refusal.code)


def _groups(registry: Registry) -> list[str]:
    return list(dict.fromkeys(kind.group for kind in registry if kind.group))


def _versions(group: str, registry: Registry) -> list[str]:
    return list(dict.fromkeys(kind.version for kind in registry if kind.group == group))


def _kinds(group: str, version: str, registry: Registry) -> list[Kind]:
    found = [kind for kind in registry if (kind.group, kind.version) == (group, version)]
    return sorted(found, key=lambda kind: kind.plural)


def _all_paths(registry: Registry) -> list[str]:
    paths = ["/api", "/api/v1", "/apis", "/openapi/v3", "/version", *HEALTH]
    for group in _groups(registry):
        paths.append(f"/apis/{group}")
        paths += [f"/apis/{group}/{version}" for version in _versions(group, registry)]
    return paths


def _group(name: str, registry: Registry) -> Value:
    versions = [
        {"groupVersion": f"{name}/{version}", "version": version}
        for version in _versions(name, registry)
    ]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _resources(group: str, version: str, registry: Registry) -> Answer:
    kinds = _kinds(group, version, registry)
    if not kinds:
        return _missing()
    head = {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": kinds[0].api_version,
    }
    return answer_of(head | {"resources": [each for kind in kinds for each in _resource(kind)]})


def _resource(kind: Kind) -> list[Value]:
    whole: Value = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _verbs(kind),
        **_names(kind),
    }
    parts = [
        {
            "name": f"{kind.plural}/{part}",
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": list(_PART_KINDS.get(part, _PART_VERBS)),
        }
        for part in _parts(kind)
    ]
    return [whole, *parts]


def _names(kind: Kind) -> Value:
    names = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
    return {field: values for field, values in names.items() if values}


def _verbs(kind: Kind) -> list[str]:
    if kind.is_question:
        return ["create"]
    verbs = _CUSTOM_VERBS if kind.custom else _VERBS
    # Namespaces are the one kind that cannot be deleted all at once.
    is_namespace = kind.key == "namespaces"
    return [verb for verb in verbs if not (is_namespace and verb == "deletecollection")]


def _parts(kind: Kind) -> list[str]:
    return sorted([*kind.subresources, *(["status"] if kind.status else [])])


def _aggregated(registry: Registry, *, core: bool) -> Answer:
    groups = [""] if core else _groups(registry)
    body = {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group} if group else {},
                "versions": [
                    {
                        "version": version,
                        "resources": [_found(kind) for kind in _kinds(group, version, registry)],
                        "freshness": "Current",
                    }
                    for version in _versions(group, registry)
                ],
            }
            for group in groups
        ],
    }
    plain = answer_of(body)
    return Answer(body=plain.body, headers={"Content-Type": AGGREGATED})


def _found(kind: Kind) -> Value:
    response = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    parts = [
        {
            "subresource": part,
            "responseKind": response,
            "verbs": list(_PART_KINDS.get(part, _PART_VERBS)),
        }
        for part in _parts(kind)
    ]
    return {
        "resource": kind.plural,
        "responseKind": response,
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": _verbs(kind),
        **_names(kind),
        **({"subresources": parts} if parts else {}),
    }
