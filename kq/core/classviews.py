"""What decides beside a pod's own template how it is counted, read into views."""

from typing import Any

import msgspec

from kq.core import codec
from kq.core.codec import integer, mapping
from kq.core.priority import PriorityClassView
from kq.core.views import decode_object


class PriorityClass(msgspec.Struct, frozen=True, kw_only=True):
    """A PriorityClass in the informer's terms."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    view: PriorityClassView


def priority_class(raw: bytes) -> PriorityClass:
    """A PriorityClass."""
    body = decode_object(raw)
    meta = codec.metadata(mapping(body, "metadata"))
    return PriorityClass(
        **meta,
        view=PriorityClassView(
            name=meta["name"],
            value=integer(body.get("value")) or 0,
            global_default=body.get("globalDefault") is True,
            preemption_policy=str(body.get("preemptionPolicy") or "PreemptLowerPriority"),
        ),
    )


class Raw(msgspec.Struct, frozen=True, kw_only=True):
    """A small object of which a part is kept as it is (LimitRange spec, RuntimeClass overhead)."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    body: dict[str, Any]


def limit_range(raw: bytes) -> Raw:
    """A LimitRange; its body is the object without metadata but the name."""
    body = decode_object(raw)
    return Raw(
        **codec.metadata(mapping(body, "metadata")), body={"spec": dict(mapping(body, "spec"))}
    )


def runtime_class(raw: bytes) -> Raw:
    """A RuntimeClass; its body is `overhead.podFixed`."""
    body = decode_object(raw)
    fixed = mapping(mapping(body, "overhead"), "podFixed")
    return Raw(**codec.metadata(mapping(body, "metadata")), body=dict(fixed))
