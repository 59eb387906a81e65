"""Small parts of objects on the wire: times, metadata, pod templates, conditions.

Whole objects are read in `kq.core.views` and written in `kq.core.wire`.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from kq.core import keys
from kq.core.kinds import Object
from kq.core.model import Condition, Owner, Template
from kq.core.podrequests import fill_from_limit_ranges, pod_request
from kq.core.podtemplate import bare_template, canonical, slim_template
from kq.core.resources import Resources
from kq.core.shared import Texts, share, shared_texts
from kq.errors import DecodeError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZERO = Resources.of({})

_GO_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,9})?) ([+-]\d{4}) \S{1,20}(?: m=\S+)?", re.ASCII
)


def parse_time(text: object) -> datetime | None:
    """The time of an RFC 3339 text, or of Go's default form (spec 21.2); None if it is neither."""
    return _time(text) if isinstance(text, str) and text else None


@lru_cache(4096)
def _time(text: str) -> datetime | None:
    match = _GO_TIME.fullmatch(text)
    if match is not None:
        text = f"{match[1]}T{match[2][:15]}{match[3]}"
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else None


@lru_cache(4096)
def format_time(time: datetime) -> str:
    """RFC 3339 in UTC, whole seconds, as metav1.Time."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_millis(time: datetime) -> str:
    """RFC 3339 in UTC with milliseconds, for annotations whose order matters."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03}Z"


def released_at(annotations: object) -> datetime | None:
    """When the manager released the job (koord-queue/job-dequeue-timestamp); None if it is held."""
    values = strings(annotations)
    return next(
        (parse_time(values[key]) for key in keys.DEQUEUE_TIMESTAMPS if values.get(key)), None
    )


def strings(value: object) -> dict[str, str]:
    """A map of strings, whatever stands there: null and wrong types read as nothing (spec 22.1)."""
    if not value or not (type(value) is dict or isinstance(value, Mapping)):
        return {}
    return {str(key): each for key, each in value.items() if isinstance(each, str)}


def mapping(parent: Object, key: str) -> Mapping[str, Any]:
    """The map at a key; an empty one if there is none."""
    value = parent.get(key)
    # None and an exact dict are by far the most frequent, and isinstance of a protocol is slow.
    if value is None:
        return {}
    return value if type(value) is dict or isinstance(value, Mapping) else {}


def listed(parent: Object, key: str) -> list[Any]:
    """The list at a key; an empty one if there is none."""
    value = parent.get(key)
    return value if isinstance(value, list) else []


def integer(value: object) -> int | None:
    """The whole number; None if it is none (true is none)."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def own_annotations(value: object, also: Sequence[str] = ()) -> Texts:
    """The annotations in our domains (spec 2.7); all others stay with their object."""
    prefixes = (*keys.OWN_DOMAINS, *also)
    texts = strings(value)
    return shared_texts({key: texts[key] for key in texts if key.startswith(prefixes)})


def kept_annotations(value: object, own: dict[str, str] | None = None) -> Texts:
    """The annotations of a unit: all that were copied to it, whatever their domain.

    `own` are texts that the unit has elsewhere.
    """
    texts = strings(value)
    texts.pop(keys.LAST_APPLIED, None)
    return shared_texts(texts, own)


def owners(meta: Object) -> tuple[Owner, ...]:
    """The owner references that name something."""
    return tuple(
        Owner(
            api_version=str(each.get("apiVersion") or ""),
            kind=str(each.get("kind") or ""),
            name=str(each.get("name") or ""),
            uid=str(each.get("uid") or ""),
            controller=each.get("controller") is True,
        )
        for each in listed(meta, "ownerReferences")
        if isinstance(each, Mapping)
    )


def metadata(meta: Object) -> dict[str, Any]:
    """What every view has of its object; raises DecodeError without a name."""
    name = meta.get("name")
    if not isinstance(name, str):
        raise DecodeError(f"metadata.name is {name!r}, not a name")
    return {
        "namespace": share(str(meta.get("namespace") or "")),
        "name": name,
        "uid": meta.get("uid") or "",
        "resource_version": meta.get("resourceVersion") or "",
    }


def job_metadata(meta: Object) -> dict[str, Any]:
    """What every JobView has of its job. A job that is being created may have no name yet."""
    return {
        **metadata(meta if isinstance(meta.get("name"), str) else {**meta, "name": ""}),
        "created": parse_time(meta.get("creationTimestamp")) or EPOCH,
        "deleting": bool(meta.get("deletionTimestamp")),
        "labels": share(strings(meta.get("labels"))),
        "annotations": own_annotations(meta.get("annotations")),
        "owners": owners(meta),
    }


def template_of(template: Object) -> Template:
    """The slim form of a pod template, with the request of one of its pods."""
    return template_of_json(msgspec.json.encode(bare_template(template)))


@lru_cache(2048)
def template_of_json(wire: bytes) -> Template:
    """The same of its JSON: an object comes many times with the very same template."""
    body = msgspec.json.decode(wire)
    return interned_template(canonical(slim_template(body if isinstance(body, dict) else {})))


@lru_cache(8192)
def interned_template(wire: bytes) -> Template:
    """The template with that canonical JSON; equal ones are one object."""
    spec = msgspec.json.decode(wire, type=dict[str, Any]).get("spec")
    spec = spec if isinstance(spec, dict) else {}
    number = spec.get("priority")
    try:
        request, defect = pod_request(spec), None
    except DecodeError as err:
        request, defect = ZERO, str(err)
    return Template(
        wire,
        request,
        defect,
        runtime_class=str(spec.get("runtimeClassName") or ""),
        priority_class=str(spec.get("priorityClassName") or ""),
        priority=number if isinstance(number, int) and not isinstance(number, bool) else None,
        preemption_policy=str(spec.get("preemptionPolicy") or ""),
    )


@lru_cache(4096)
def template_labels(wire: bytes) -> Mapping[str, str]:
    """The labels in a template's canonical JSON; nobody changes this map."""
    body = msgspec.json.decode(wire, type=dict[str, Any])
    return strings(mapping(mapping(body, "metadata"), "labels"))


def filled_template(
    template: Template, limit_ranges: Sequence[Object], overhead: Mapping[str, Any] | None
) -> Template:
    """The template as its pods will be: with the namespace's defaults (spec 12.3a), and the
    overhead of its runtime class if it has none of its own (spec 12.1)."""
    if not limit_ranges and not overhead:
        return template
    body = msgspec.json.decode(template.wire, type=dict[str, Any])
    spec = body.get("spec") or {}
    try:
        spec = fill_from_limit_ranges(spec, limit_ranges)
    except DecodeError as err:
        return msgspec.structs.replace(template, request=ZERO, defect=str(err))
    if overhead and not spec.get("overhead"):
        spec = {**spec, "overhead": dict(overhead)}
    # Slim as units are read back: an empty map more would be written anew for ever.
    return interned_template(canonical(slim_template({**body, "spec": spec})))


def conditions(value: object) -> tuple[Condition, ...]:
    """metav1 conditions; those without a type are dropped."""
    if not isinstance(value, list):
        return ()
    return tuple(
        Condition(
            type=str(each["type"]),
            status=each.get("status") == "True",
            reason=str(each.get("reason") or ""),
            message=str(each.get("message") or ""),
            since=str(each.get("lastTransitionTime") or ""),
        )
        for each in value
        if isinstance(each, Mapping) and each.get("type")
    )


def with_condition(
    conditions: Sequence[Condition], new: Condition, now: datetime
) -> tuple[Condition, ...]:
    """The conditions with that one set; its time moves only with its status (spec 9.9)."""
    old = next((each for each in conditions if each.type == new.type), None)
    since = old.since if old and old.status == new.status and old.since else format_time(now)
    placed = Condition(new.type, new.status, new.reason, new.message, since)
    if old is None:
        return (*conditions, placed)
    return tuple(placed if each.type == new.type else each for each in conditions)


def conditions_to_wire(conditions: Sequence[Condition]) -> list[dict[str, str]]:
    """The list as status patches carry it."""
    return [
        {
            "type": each.type,
            "status": "True" if each.status else "False",
            "reason": each.reason,
            "message": each.message,
            "lastTransitionTime": each.since,
        }
        for each in conditions
    ]
