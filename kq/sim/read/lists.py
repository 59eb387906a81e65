"""Lists: at which version, which page of it, and the token for the next one."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from kq.sim.api.call import Call
from kq.sim.api.status import ApiStatus, bad_request, gone, too_large_version
from kq.sim.api.storage import Compacted, Storage, Stored
from kq.sim.request.options import ListOptions

_TOO_OLD = "The provided continue parameter is too old to display a consistent list result."
_INCONSISTENT = (
    f"{_TOO_OLD} You can start a new list without the continue parameter, or use the continue"
    " token in this response to retrieve the remainder of the results. Continuing with the"
    " provided token results in an inconsistent list - objects that were created, modified, or"
    " deleted between the time the first chunk was returned and now may show up in the list."
)
_AT_NEWEST = -1
"""The version of a token that goes on with whatever is there now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A part of a list, of one version of everything."""

    items: Sequence[Stored]
    version: int
    token: str = ""
    remaining: int | None = None


class _Token(msgspec.Struct, frozen=True):
    """Where the next page starts, as the server's own tokens have it."""

    rv: int
    start: str
    v: str = "meta.k8s.io/v1"


def page(storage: Storage, call: Call, options: ListOptions) -> Page:
    """The page that a call asks for; ApiStatus 400, 410 or 504 if there is none."""
    after, version = "", _version(storage, options)
    if options.token:
        token = _decoded(options.token)
        if options.version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        after = token.start
        version = storage.version if token.rv == _AT_NEWEST else token.rv
    try:
        if options.limit and options.selection.takes_all:
            return _part(storage, call, options, after, version)
        found = storage.list(call.kind, call.namespace, at=version)
    except Compacted as err:
        raise _forgotten(after) from err
    chosen = [
        each
        for each in found
        if each.place > after and options.selection.matches(each.labels, each.fields)
    ]
    return _cut(chosen, options, version)


def _part(storage: Storage, call: Call, options: ListOptions, after: str, version: int) -> Page:
    """A page of all objects, which is found without a look at the other pages."""
    shown, remaining = storage.part(
        call.kind, call.namespace, at=version, after=after, most=options.limit
    )
    if not remaining:
        return Page(items=shown, version=version)
    token = _encoded(_Token(version, shown[-1].place))
    return Page(items=shown, version=version, token=token, remaining=remaining)


def _cut(items: list[Stored], options: ListOptions, version: int) -> Page:
    if not options.limit or len(items) <= options.limit:
        return Page(items=items, version=version)
    shown = items[: options.limit]
    # With a selector the real server does not know how many of the rest would match.
    token = _encoded(_Token(version, shown[-1].place))
    return Page(items=shown, version=version, token=token)


def _version(storage: Storage, options: ListOptions) -> int:
    text = options.version
    if text and not text.isdecimal():
        why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
        raise bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text}": {why}'
        )
    asked = int(text or 0)
    if asked > storage.version:
        raise too_large_version(asked, storage.version)
    exact = options.exact or (options.limit and asked and not options.token)
    return asked if exact and asked else storage.version


def _forgotten(after: str) -> ApiStatus:
    if not after:
        return gone("The resourceVersion for the provided list is too old.")
    refusal = gone(_INCONSISTENT)
    refusal.metadata = {"continue": _encoded(_Token(_AT_NEWEST, after))}
    return refusal


def _encoded(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _decoded(text: str) -> _Token:
    padded = text + "=" * (-len(text) % 4)
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Token)
    except (ValueError, msgspec.DecodeError) as err:
        raise bad_request(
            "invalid continue token: continue key is not valid: invalid character 'i' looking for"
            " beginning of value"
        ) from err
