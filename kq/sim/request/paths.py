"""Paths and methods as calls: which verb on which kind's objects a request means."""

from collections.abc import Sequence
from urllib.parse import unquote

from kq.errors import KqError
from kq.sim.api.call import JSON, Call, Request, Verb
from kq.sim.api.kinds import Kind, Registry
from kq.sim.api.status import bad_request, method_not_allowed, no_such_path, not_found
from kq.sim.request.options import flag

_ON_COLLECTION = {"GET": Verb.LIST, "POST": Verb.CREATE, "DELETE": Verb.DELETE_COLLECTION}
_ON_OBJECT = {
    "GET": Verb.GET,
    "PUT": Verb.UPDATE,
    "PATCH": Verb.PATCH,
    "DELETE": Verb.DELETE,
}
_NO_COLLECTION_DELETE = ("Namespace",)
_POSTED = ("binding", "eviction", "token")
_OF_CONTAINERS = ("attach", "exec", "log", "portforward")
_PLAYED = "pods of a simulated cluster run no commands and write no logs"


class Unserved(KqError):
    """A path below which nothing is: answered with a line of text, not with a Status."""


def resolve(registry: Registry, request: Request) -> Call:
    """The call that a request means; ApiStatus 404 or 405, or Unserved, if it means none."""
    parts = [unquote(part) for part in request.path.strip("/").split("/")]
    match parts:
        case ["api", version, *rest] if rest:
            return _resolve(registry, request, ("", version), rest)
        case ["apis", group, version, *rest] if rest:
            return _resolve(registry, request, (group, version), rest)
    raise Unserved(request.path)


def _resolve(
    registry: Registry, request: Request, served: tuple[str, str], rest: Sequence[str]
) -> Call:
    namespace = ""
    kind = registry.find(*served, rest[0])
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
        kind = registry.find(*served, rest[0])
    if kind is None or (namespace and not kind.namespaced) or len(rest) > 3:
        raise _nothing(registry, served[0])
    name, subresource = (*rest[1:], "", "")[:2]
    verb = _verb(request, kind, name, subresource)
    if kind.namespaced and not namespace and (name or verb is Verb.CREATE):
        raise method_not_allowed() if not name else no_such_path()
    return Call(
        verb=verb,
        kind=kind,
        namespace=namespace,
        name=name,
        subresource=subresource,
        query=request.query,
        body=request.body,
        content_type=request.content_type or JSON,
        accept=request.accept or JSON,
        user=request.user,
        user_agent=request.user_agent,
    )


def _verb(request: Request, kind: Kind, name: str, subresource: str) -> Verb:
    _check_subresource(kind, name, subresource)
    if request.method == "POST" and subresource in _POSTED:
        return Verb.CREATE
    verb = (_ON_OBJECT if name else _ON_COLLECTION).get(request.method)
    if verb is Verb.DELETE_COLLECTION and kind.kind_key in _NO_COLLECTION_DELETE:
        verb = None
    if kind.is_question and verb is not Verb.CREATE:
        verb = None
    if verb is None or (subresource and verb is Verb.DELETE):
        raise method_not_allowed()
    if verb is Verb.LIST and flag(request.query.get("watch")):
        return Verb.WATCH
    return verb


def _check_subresource(kind: Kind, name: str, subresource: str) -> None:
    if subresource in _OF_CONTAINERS and kind.key == "pods":
        raise bad_request(_PLAYED)
    if subresource and not _serves(kind, subresource):
        raise not_found(kind, name) if kind.custom else no_such_path()
    if kind.is_question and name:
        raise no_such_path()


def _serves(kind: Kind, subresource: str) -> bool:
    return kind.status if subresource == "status" else subresource in kind.subresources


def _nothing(registry: Registry, group: str) -> KqError:
    is_built_in = any(kind.group == group and not kind.custom for kind in registry)
    return no_such_path() if is_built_in else Unserved(group)
