"""A verb and an object's address, as an HTTP request, and how it may be sent; no I/O."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypedDict
from urllib.parse import quote, urlencode

import msgspec

from kq.core.kinds import Object, ResourceKind

FIELD_MANAGER = "koord-queue"
"""The name under which our writes stand in `managedFields`."""

IDLE_TIMEOUT = 150.0
"""Seconds of silence after which a watch is taken for broken (spec 22.3)."""


class Verb(StrEnum):
    """What can be asked of the API server, in the words of its access rules."""

    GET = "get"
    LIST = "list"
    WATCH = "watch"
    CREATE = "create"
    MERGE_PATCH = "merge-patch"
    JSON_PATCH = "json-patch"
    DELETE = "delete"


class PreparedRequest(msgspec.Struct, frozen=True):
    """One request but for its body: ready to be sent below the server's base URL."""

    method: str
    path: str
    query: Mapping[str, str]
    content_type: str | None = None

    @property
    def target(self) -> str:
        """Path and query as they stand in the request line, already encoded."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


class Options(msgspec.Struct, frozen=True):
    """How one request is sent, whatever it says."""

    timeout: float = 30.0
    """Seconds from the start of the request to the end of its answer."""
    priority: bool = False
    """Whether it goes outside the limits and without retries: the lease's own requests."""


class Send(TypedDict, total=False):
    """What every request may say about its sending; see `Options`."""

    timeout: float
    priority: bool


class Write(Send, total=False):
    """What every write may add."""

    field_manager: str


class Patching(Write, total=False):
    """What a patch may add: which part it is for, and which version and object it holds for."""

    subresource: str | None
    resource_version: str | None
    uid: str | None


class ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    """`1`, `36`, `v1.36.3`; texts, because vendors add to them (`36+`)."""

    major: str
    minor: str
    git_version: str


class ServedResource(msgspec.Struct, frozen=True):
    """One kind, or one subresource of it (`jobs/status`), by its plural name."""

    name: str


class ServedResources(msgspec.Struct, frozen=True):
    """What one version of one group serves."""

    resources: list[ServedResource]

    @property
    def plurals(self) -> set[str]:
        """The plural names of the kinds themselves."""
        return {served.name for served in self.resources if "/" not in served.name}


_METHODS = {
    Verb.GET: ("GET", None),
    Verb.LIST: ("GET", None),
    Verb.WATCH: ("GET", None),
    Verb.CREATE: ("POST", "application/json"),
    Verb.MERGE_PATCH: ("PATCH", "application/merge-patch+json"),
    Verb.JSON_PATCH: ("PATCH", "application/json-patch+json"),
    Verb.DELETE: ("DELETE", "application/json"),
}
_NAMELESS = frozenset({Verb.LIST, Verb.WATCH, Verb.CREATE})


def prepare(
    verb: Verb,
    kind: ResourceKind,
    name: str | None = None,
    namespace: str | None = None,
    *,
    subresource: str | None = None,
    query: Mapping[str, str | int | bool | None] | None = None,
) -> PreparedRequest:
    """The request of a verb on one object, or on the objects of a kind; None drops a parameter."""
    path = _collection(verb, kind, namespace)
    if verb not in _NAMELESS:
        # Without a name DELETE and PATCH would speak of the whole collection.
        path += f"/{_segment(name, 'name')}"
        if subresource:
            path += f"/{_segment(subresource, 'subresource')}"
    method, content_type = _METHODS[verb]
    given = {key: _text(value) for key, value in (query or {}).items() if value is not None}
    return PreparedRequest(method, path, given, content_type)


def prepare_path(path: str) -> PreparedRequest:
    """A GET of a path that is no object, such as `/version`."""
    return PreparedRequest("GET", path, {})


def with_preconditions(
    patch: Object, resource_version: str | None, uid: str | None
) -> dict[str, Any]:
    """The merge patch, holding only for that version and that object (409 and 422 otherwise)."""
    stated = _stated(resource_version, uid)
    return {**patch, "metadata": {**patch.get("metadata", {}), **stated}} if stated else {**patch}


def with_precondition_operations(
    operations: Sequence[Object], resource_version: str | None, uid: str | None
) -> list[Object]:
    """The JSON patch, holding only for that version and that object."""
    # `replace` is refused as a conflict (409) like a merge patch; `test` would be 422.
    stated: list[Object] = [
        {"op": "replace", "path": f"/metadata/{field}", "value": value}
        for field, value in _stated(resource_version, uid).items()
    ]
    return [*stated, *operations]


def delete_options(
    *, uid: str | None, resource_version: str | None, propagation: str
) -> dict[str, Any]:
    """The body of a DELETE: what happens to dependents, and which object is meant."""
    options: dict[str, Any] = {"propagationPolicy": propagation}
    if stated := _stated(resource_version, uid):
        options["preconditions"] = stated
    return options


def _stated(resource_version: str | None, uid: str | None) -> dict[str, str]:
    return {
        field: value
        for field, value in (("resourceVersion", resource_version), ("uid", uid))
        if value is not None
    }


def _collection(verb: Verb, kind: ResourceKind, namespace: str | None) -> str:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    if not kind.namespaced:
        return f"{root}/{kind.plural}"
    if namespace is None and verb in (Verb.LIST, Verb.WATCH):
        return f"{root}/{kind.plural}"
    return f"{root}/namespaces/{_segment(namespace, 'namespace')}/{kind.plural}"


def _segment(value: str | None, what: str) -> str:
    if not value or value in (".", ".."):
        raise ValueError(f"a request needs a {what}, not {value!r}")
    return quote(value, safe=":")


def _text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
