"""What queries and bodies say about how a call is to be done, checked as the server checks it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from kq.sim.api.call import Call, Verb
from kq.sim.api.status import (
    ApiStatus,
    Cause,
    bad_request,
    forbidden_field,
    invalid_as,
    invalid_value,
    required,
    unsupported_value,
)
from kq.sim.read.fields import parse_fields
from kq.sim.read.labels import parse_labels
from kq.sim.read.selectors import Selection

APPLY = "application/apply-patch+yaml"
_META = "meta.k8s.io"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FIELD_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """How to list or watch."""

    selection: Selection
    limit: int = 0
    token: str = ""
    version: str = ""
    exact: bool = False
    timeout: int | None = None
    bookmarks: bool = False
    initial_events: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """How to delete."""

    grace: int | None = None
    policy: str = ""
    orphan: bool | None = None
    """The older way to say the policy."""
    uid: str | None = None
    version: str | None = None
    dry_run: bool = False

    def to_object(self) -> dict[str, Any]:
        """The options as admission reviews carry them."""
        options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": f"{_META}/v1"}
        if self.grace is not None:
            options["gracePeriodSeconds"] = self.grace
        if self.policy:
            options["propagationPolicy"] = self.policy
        if self.dry_run:
            options["dryRun"] = ["All"]
        return options


def flag(text: str | None) -> bool:
    """Whether a query parameter is true: anything but 0 and false, if it is there."""
    return text is not None and text.lower() not in ("false", "0")


def list_options(call: Call) -> ListOptions:
    """The options of a list, watch or deletion of a collection."""
    query = call.query
    limit, timeout = integer(query.get("limit")), integer(query.get("timeoutSeconds"))
    chosen = Selection(
        parse_labels(query.get("labelSelector", "")),
        parse_fields(call.kind, query.get("fieldSelector", "")),
    )
    check = _watch_faults if call.verb is Verb.WATCH else _list_faults
    if faults := check(query):
        raise invalid_as("ListOptions", _META, "", faults)
    return ListOptions(
        selection=chosen,
        limit=max(limit or 0, 0),
        token=query.get("continue", ""),
        version=query.get("resourceVersion", ""),
        exact=query.get("resourceVersionMatch") == "Exact",
        timeout=timeout,
        bookmarks=flag(query.get("allowWatchBookmarks")),
        initial_events=flag(query.get("sendInitialEvents")) or _starts_with_state(query),
    )


def check_write_options(call: Call) -> None:
    """Refuses what may not be said about a create, update or patch."""
    faults = _dry_run_faults(call.query.get("dryRun"))
    called = {Verb.CREATE: "CreateOptions", Verb.UPDATE: "UpdateOptions"}.get(
        call.verb, "PatchOptions"
    )
    validation = call.query.get("fieldValidation", "")
    if validation not in _FIELD_VALIDATIONS:
        faults.append(unsupported_value("fieldValidation", validation, _FIELD_VALIDATIONS))
    if call.verb is Verb.PATCH:
        applies = call.content_type.startswith(APPLY)
        if applies and not call.query.get("fieldManager"):
            faults.append(required("fieldManager", "is required for apply patch"))
        if not applies and "force" in call.query:
            faults.append(forbidden_field("force", "may not be specified for non-apply patch"))
    if faults:
        raise invalid_as(called, _META, "", faults)


def delete_options(call: Call) -> DeleteOptions:
    """The options of a deletion: in the body, or else in the query, never in both."""
    given = _delete_body(call.body) if call.body else _delete_query(call.query)
    dry_run = given.get("dryRun") or []
    faults = _dry_run_faults(dry_run[0] if dry_run else None)
    policy, orphan = given.get("propagationPolicy"), given.get("orphanDependents")
    if policy is not None and orphan is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        faults.append(invalid_value("propagationPolicy", policy, text))
    elif policy is not None and policy not in _POLICIES:
        faults.append(unsupported_value("propagationPolicy", policy, (*_POLICIES, "nil")))
    if faults:
        raise invalid_as("DeleteOptions", _META, "", faults)
    preconditions = given.get("preconditions") or {}
    grace = given.get("gracePeriodSeconds")
    return DeleteOptions(
        grace=1 if grace is not None and grace < 0 else grace,
        policy=policy or "",
        orphan=orphan,
        uid=preconditions.get("uid"),
        version=preconditions.get("resourceVersion"),
        dry_run=bool(dry_run),
    )


def integer(text: str | None) -> int | None:
    """A whole number of a query; ApiStatus 400 if it is none."""
    if not text:
        return None
    if not _INTEGER.fullmatch(text):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def version_number(text: str) -> int:
    """A resourceVersion as the number that it is; 500 as the server has it."""
    if not text:
        return 0
    if not text.isdecimal():
        raise ApiStatus(500, "", f'strconv.ParseUint: parsing "{text}": invalid syntax')
    return int(text)


def read_version(text: str) -> int:
    """The resourceVersion of a read as a number; 500 naming the field if it is none."""
    if text and not text.isdecimal():
        why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
        raise ApiStatus(500, "", f'resourceVersion: Invalid value: "{text}": {why}')
    return int(text or 0)


def _list_faults(query: Mapping[str, str]) -> list[Cause]:
    faults: list[Cause] = []
    version, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    if match:
        if not version:
            faults.append(_match("is forbidden unless resourceVersion is provided"))
        if query.get("continue"):
            faults.append(_match("is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            supported = ("Exact", "NotOlderThan", "")
            faults.append(unsupported_value("resourceVersionMatch", match, supported))
        if match == "Exact" and version == "0":
            faults.append(_match('"exact" is forbidden for resourceVersion "0"'))
    if "sendInitialEvents" in query:
        text = "sendInitialEvents is forbidden for list"
        faults.append(forbidden_field("sendInitialEvents", text))
    return faults


def _watch_faults(query: Mapping[str, str]) -> list[Cause]:
    faults: list[Cause] = []
    match, initial = query.get("resourceVersionMatch", ""), "sendInitialEvents" in query
    if _starts_with_state(query):
        # The server itself asks for initial events then.
        match, initial = "NotOlderThan", True
    if initial and match != "NotOlderThan":
        text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        faults.append(forbidden_field("resourceVersionMatch", text))
    if match:
        if not initial:
            faults.append(_match("is forbidden for watch unless sendInitialEvents is provided"))
        if match != "NotOlderThan":
            faults.append(unsupported_value("resourceVersionMatch", match, ("NotOlderThan",)))
        if query.get("continue"):
            faults.append(_match("is forbidden when continue is provided"))
    return faults


def _starts_with_state(query: Mapping[str, str]) -> bool:
    """Whether a watch names no version to start after, and does not say how it starts instead."""
    says = "sendInitialEvents" in query or query.get("resourceVersionMatch")
    return not says and query.get("resourceVersion", "") in ("", "0")


def _match(text: str) -> Cause:
    return forbidden_field("resourceVersionMatch", f"resourceVersionMatch {text}")


def _dry_run_faults(value: str | None) -> list[Cause]:
    return [] if value in (None, "", "All") else [unsupported_value("dryRun", [value], ("All",))]


def _delete_body(body: bytes) -> dict[str, Any]:
    try:
        given = msgspec.json.decode(body)
    except msgspec.DecodeError:
        text = "couldn't get version/kind; json parse error: unexpected end of JSON input"
        raise bad_request(text) from None
    kind = given.get("kind", "DeleteOptions") if isinstance(given, dict) else ""
    if kind != "DeleteOptions":
        version = given.get("apiVersion", "v1") if isinstance(given, dict) else "v1"
        raise bad_request(
            f'no kind "{kind}" is registered for version "{version}" in scheme'
            ' "pkg/runtime/scheme.go:111"'
        )
    return dict(given)


def _delete_query(query: Mapping[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {
        name: query[name] for name in ("propagationPolicy",) if query.get(name)
    }
    if (grace := integer(query.get("gracePeriodSeconds"))) is not None:
        given["gracePeriodSeconds"] = grace
    if query.get("dryRun"):
        given["dryRun"] = [query["dryRun"]]
    if "orphanDependents" in query:
        given["orphanDependents"] = flag(query["orphanDependents"])
    return given
