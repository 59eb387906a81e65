"""Quotas read into views; a limit that cannot be read never counts as no limit."""

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime

import msgspec

from kq.core import codec, keys
from kq.core.codec import listed, mapping
from kq.core.model import Quota
from kq.core.resources import Resources, amount_of, format_amount, in_order, parse_exact
from kq.core.views import decode_object
from kq.errors import DecodeError

MAX_ANNOTATION = 16 * 1024
MAX_NAME = 253


class QuotaTree(msgspec.Struct, frozen=True, kw_only=True):
    """An ElasticQuotaTree: its nodes in document order, each a quota that has its path as name."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    created: datetime
    nodes: tuple[Quota, ...]
    defects: tuple[str, ...] = ()


class Scope(msgspec.Struct, frozen=True):
    """What a pod must be for a ResourceQuota to be about it (spec 11.15)."""

    name: str
    operator: str = "Exists"
    values: tuple[str, ...] = ()


class ResourceQuota(msgspec.Struct, frozen=True, kw_only=True):
    """A limit for the pods of its namespace that all its scopes match."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    created: datetime
    limit: Resources
    scopes: tuple[Scope, ...] = ()
    defects: tuple[str, ...] = ()


QuotaView = Quota | QuotaTree | ResourceQuota
"""The objects that quotas are read from, one kind in each mode (spec 11.1)."""


class Bounds(msgspec.Struct, frozen=True):
    """What a quota may use, what it is guaranteed, and what of that cannot be meant."""

    limit: Resources
    minimum: Resources
    defects: tuple[str, ...]


def quota(raw: bytes) -> Quota:
    """An ElasticQuota; a limit that cannot be read counts as 0, a min that cannot as none."""
    body = decode_object(raw)
    meta = mapping(body, "metadata")
    labels, annotations = (codec.strings(meta.get(key)) for key in ("labels", "annotations"))
    bounds = bounds_of(mapping(body, "spec"))
    mapped, bad_mapping = mapped_namespaces(annotations)
    return Quota(
        **codec.metadata(meta),
        created=codec.parse_time(meta.get("creationTimestamp")) or codec.EPOCH,
        labels=labels,
        annotations=annotations,
        parent=labels.get(keys.PARENT_LABEL, ""),
        is_parent=labels.get(keys.IS_PARENT_LABEL, "").lower() == "true",
        limit=bounds.limit,
        minimum=bounds.minimum,
        namespaces=mapped,
        defects=(*bounds.defects, *bad_mapping),
    )


def bounds_of(spec: Mapping[str, object]) -> Bounds:
    """Max and min; a max below its min counts as 0 (spec 22.1)."""
    limit, bad_limits = _limits(spec.get("max"), "max", unreadable=0)
    minimum, bad_minimums = _limits(spec.get("min"), "min", unreadable=None)
    below = {
        name: f"max of {name} is {format_amount(name, amount)}, below its min "
        f"{format_amount(name, minimum.get(name))}: it counts as 0; raise max or lower min"
        for name, amount in limit.items()
        if amount < minimum.get(name) and name not in bad_limits
    }
    if below:
        limit = Resources.of({k: 0 if k in below else v for k, v in limit.items()})
    return Bounds(limit, minimum, (*bad_limits.values(), *bad_minimums.values(), *below.values()))


def resource_quota(raw: bytes) -> ResourceQuota:
    """A ResourceQuota, with the smaller of what it says and what its controller enforces (11.14).

    What is in use is not read: it lags behind, and lacks what was just granted (spec 11.16).
    """
    body = decode_object(raw)
    meta, spec = mapping(body, "metadata"), mapping(body, "spec")
    said, bad = _limits(spec.get("hard"), "hard", unreadable=0)
    enforced, bad_status = _limits(mapping(body, "status").get("hard"), "hard", unreadable=0)
    both = {
        name: min(said.get(name, enforced.get(name)), enforced.get(name, said.get(name)))
        for name in in_order({*said, *enforced})
    }
    plain = [Scope(str(each)) for each in listed(spec, "scopes")]
    selected = listed(mapping(spec, "scopeSelector"), "matchExpressions")
    return ResourceQuota(
        **codec.metadata(meta),
        created=codec.parse_time(meta.get("creationTimestamp")) or codec.EPOCH,
        limit=Resources.of(both),
        scopes=(*plain, *(_scope(each) for each in selected if isinstance(each, Mapping))),
        defects=tuple(dict.fromkeys((*bad.values(), *bad_status.values()))),
    )


def _scope(expression: Mapping[str, object]) -> Scope:
    values = expression.get("values")
    return Scope(
        str(expression.get("scopeName") or ""),
        str(expression.get("operator") or "Exists"),
        tuple(str(each) for each in values) if isinstance(values, list) else (),
    )


def mapped_namespaces(annotations: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The namespaces that the annotation lists; what is wrong with it (spec 5.3, 21.2)."""
    text = annotations.get(keys.QUOTA_NAMESPACES)
    if not text:
        return (), ()
    try:
        listed = msgspec.json.decode(text, type=list[str]) if len(text) <= MAX_ANNOTATION else None
    except (msgspec.DecodeError, RecursionError):
        listed = None
    if listed is None:
        return (), (f"{keys.QUOTA_NAMESPACES} is {text:.100}, not a JSON list of namespaces",)
    return tuple(listed), ()


def _limits(value: object, where: str, unreadable: int | None) -> tuple[Resources, dict[str, str]]:
    """Amounts one by one, so that a bad one spoils no other; what is wrong, by resource.

    Each is rounded down, as nobody is to get more than it says.
    """
    if value is not None and not isinstance(value, Mapping):
        told = {"": f"{where} is {value!s:.100}, not a map of quantities"}
        # No resource can be told from another: not even one job fits.
        return Resources.of({} if unreadable is None else {keys.MAX_JOBS[0]: unreadable}), told
    amounts: dict[str, int] = {}
    defects: dict[str, str] = {}
    for name, text in (value or {}).items():
        try:
            (nano,) = parse_exact({name: text}, where).values()
            amounts[name] = -amount_of(name, -nano)
        except DecodeError as err:
            defects[name] = str(err)
            if unreadable is not None:
                amounts[name] = unreadable
    return Resources.of(amounts), defects


def queue_name(path: str) -> str:
    """The name of the Queue of a tree's node: its path, as far as a name can say it (spec 3.3)."""
    text = re.sub(r"[^a-z0-9.-]", "-", path.lower())
    name = re.sub(r"[-.]*\.[-.]*", ".", text).strip("-.")
    if name and len(name) <= MAX_NAME:
        return name
    digest = hashlib.sha256(path.encode()).hexdigest()[:8]
    return f"{name[:244].rstrip('-.')}-{digest}" if name else f"quota-{digest}"
