"""What can be asked of the API server, one method a verb."""

import random
from collections.abc import AsyncGenerator, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

import msgspec

from kq.core.kinds import Object, ResourceKind
from kq.core.nesting import shallow
from kq.errors import DecodeError
from kq.kube.connection import Connection
from kq.kube.errors import Indeterminate, NotFound, Unserved
from kq.kube.lane import Lane, Uniform
from kq.kube.requests import (
    FIELD_MANAGER,
    IDLE_TIMEOUT,
    Options,
    Patching,
    PreparedRequest,
    Send,
    ServedResources,
    ServerVersion,
    Verb,
    Write,
    delete_options,
    prepare,
    prepare_path,
    with_precondition_operations,
    with_preconditions,
)
from kq.kube.telemetry import ClientMetrics, Uncounted
from kq.kube.transport import Transport, Wire

T = TypeVar("T")


class Client:
    """One API server, used inside `async with`; every method raises `ApiError`s only.

    Answers are decoded into the type `into`: a dict if not given, the raw JSON for `bytes`.
    A write that was sent but not answered raises Indeterminate and is never sent again here.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        max_in_flight: int = 64,
        qps: float = 0,
        burst: int = 0,
        metrics: ClientMetrics | None = None,
        uniform: Uniform = random.uniform,  # noqa: S311 - jitter is no secret
        transport: Wire | None = None,
    ) -> None:
        self._transport: Wire = transport or Transport(
            connection,
            lane=Lane(max_in_flight=max_in_flight, qps=qps, burst=burst),
            metrics=metrics or Uncounted(),
            uniform=uniform,
        )

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._transport.__aexit__(kind, error, trace)

    @overload
    async def get(
        self, kind: ResourceKind, name: str, namespace: str | None = None, **options: Unpack[Send]
    ) -> dict[str, Any]: ...
    @overload
    async def get(
        self,
        kind: ResourceKind,
        name: str,
        namespace: str | None = None,
        *,
        into: type[T],
        **options: Unpack[Send],
    ) -> T: ...
    async def get(
        self,
        kind: ResourceKind,
        name: str,
        namespace: str | None = None,
        *,
        into: Any = dict[str, Any],
        **options: Unpack[Send],
    ) -> Any:
        """The object as it is now."""
        request = prepare(Verb.GET, kind, name, namespace)
        return await self._ask(request, None, into, options)

    async def list_page(
        self,
        kind: ResourceKind,
        namespace: str | None = None,
        *,
        limit: int | None = None,
        continue_: str | None = None,
        resource_version: str | None = None,
        resource_version_match: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        **options: Unpack[Send],
    ) -> bytes:
        """One page of a list as JSON; no limit gives it whole."""
        query = {
            "limit": limit or None,
            "continue": continue_ or None,
            "resourceVersion": resource_version,
            "resourceVersionMatch": resource_version_match,
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
        }
        request = prepare(Verb.LIST, kind, namespace=namespace, query=query)
        return await self._transport.send(request, None, Options(**options))

    def watch(
        self,
        kind: ResourceKind,
        namespace: str | None = None,
        *,
        resource_version: str,
        timeout_seconds: int,
        label_selector: str | None = None,
        field_selector: str | None = None,
        idle_timeout: float = IDLE_TIMEOUT,
    ) -> AsyncGenerator[bytes, None]:
        """The lines of a watch with bookmarks, until the server ends it; close it with `aclosing`.

        ApiError if it cannot be opened; Indeterminate if it breaks, or if nothing comes for
        `idle_timeout` seconds.
        """
        query: dict[str, str | int | bool | None] = {
            "watch": True,
            "allowWatchBookmarks": True,
            "resourceVersion": resource_version,
            "timeoutSeconds": timeout_seconds,
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
        }
        request = prepare(Verb.WATCH, kind, namespace=namespace, query=query)
        return self._transport.lines(request, idle=idle_timeout)

    @overload
    async def create(
        self,
        kind: ResourceKind,
        obj: Object,
        namespace: str | None = None,
        **options: Unpack[Write],
    ) -> dict[str, Any]: ...
    @overload
    async def create(
        self,
        kind: ResourceKind,
        obj: Object,
        namespace: str | None = None,
        *,
        into: type[T],
        **options: Unpack[Write],
    ) -> T: ...
    async def create(
        self,
        kind: ResourceKind,
        obj: Object,
        namespace: str | None = None,
        *,
        into: Any = dict[str, Any],
        field_manager: str = FIELD_MANAGER,
        **options: Unpack[Send],
    ) -> Any:
        """The object as it was created."""
        query = {"fieldManager": field_manager}
        request = prepare(Verb.CREATE, kind, namespace=namespace, query=query)
        return await self._ask(request, obj, into, options)

    @overload
    async def merge_patch(
        self,
        kind: ResourceKind,
        name: str,
        namespace: str | None,
        patch: Object,
        **options: Unpack[Patching],
    ) -> dict[str, Any]: ...
    @overload
    async def merge_patch(
        self,
        kind: ResourceKind,
        name: str,
        namespace: str | None,
        patch: Object,
        *,
        into: type[T],
        **options: Unpack[Patching],
    ) -> T: ...
    async def merge_patch(
        self,
        kind: ResourceKind,
        name: str,
        namespace: str | None,
        patch: Object,
        *,
        into: Any = dict[str, Any],
        **options: Unpack[Patching],
    ) -> Any:
        """The object as the merge patch (RFC 7386) left it."""
        precondition = options.pop("resource_version", None), options.pop("uid", None)
        body = with_preconditions(patch, *precondition)
        return await self._patch(Verb.MERGE_PATCH, (kind, name, namespace), body, into, options)

    async def json_patch(
        self,
        kind: ResourceKind,
        name: str,
        namespace: str | None,
        patch: Sequence[Object],
        **options: Unpack[Patching],
    ) -> dict[str, Any]:
        """The object as the JSON patch (RFC 6902) left it."""
        precondition = options.pop("resource_version", None), options.pop("uid", None)
        body = with_precondition_operations(patch, *precondition)
        target = kind, name, namespace
        patched: dict[str, Any] = await self._patch(Verb.JSON_PATCH, target, body, dict, options)
        return patched

    async def delete(
        self,
        kind: ResourceKind,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str = "Background",
        **options: Unpack[Send],
    ) -> None:
        """Deletes that object; NotFound if it is gone already."""
        body = delete_options(uid=uid, resource_version=resource_version, propagation=propagation)
        await self._ask(prepare(Verb.DELETE, kind, name, namespace), body, bytes, options)

    async def discover(self, group: str, version: str) -> set[str]:
        """The plural names of the kinds served in a group's version; none if it is not served."""
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            served = await self._ask(prepare_path(path), None, ServedResources, {})
        except NotFound:
            return set()
        return served.plurals

    async def server_version(self) -> ServerVersion:
        """The version of the API server."""
        return await self._ask(prepare_path("/version"), None, ServerVersion, {})

    def server_date(self) -> datetime | None:
        """The API server's clock at its newest answer, in whole seconds; None before the first."""
        try:
            return parsedate_to_datetime(self._transport.last_date or "")
        except ValueError:
            return None

    async def _patch(
        self,
        verb: Verb,
        target: tuple[ResourceKind, str, str | None],
        body: object,
        into: Any,
        options: Patching,
    ) -> Any:
        subresource = options.pop("subresource", None)
        query = {"fieldManager": options.pop("field_manager", FIELD_MANAGER)}
        request = prepare(verb, *target, subresource=subresource, query=query)
        return await self._ask(request, body, into, options)

    async def _ask(self, request: PreparedRequest, body: object, into: type[T], options: Send) -> T:
        content = None if body is None else msgspec.json.encode(body)
        try:
            answer = await self._transport.send(request, content, Options(**options))
        except NotFound as err:
            if request.method == "GET" or err.details.get("name"):
                raise
            # Kinds of CRDs are answered so while the API server starts: nothing is gone.
            raise Unserved(err.message, code=err.code, reason=err.reason) from err
        return _decode(request, answer, into)


def _decode(request: PreparedRequest, answer: bytes, into: type[T]) -> T:
    try:
        if into is bytes:
            _check_whole(answer)
            return answer  # type: ignore[return-value]
        return msgspec.json.decode(answer, type=into)
    except msgspec.ValidationError as err:
        raise DecodeError(f"{request.path}: {err}") from err
    except msgspec.DecodeError as err:
        # Something between us and the API server answered in its place.
        raise Indeterminate(f"{request.method} {request.path}: the answer is no JSON") from err


def _check_whole(answer: bytes) -> None:
    """Raises DecodeError for an answer that was cut off, however deeply it is nested."""
    try:
        msgspec.json.decode(answer, type=msgspec.Raw)
    except RecursionError:
        msgspec.json.decode(shallow(answer), type=msgspec.Raw)
