"""Nodes of a Workflow's status: which have started, and which wait for the queue (spec 8.15)."""

import base64
import binascii
import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from kq.core import codec
from kq.core.kinds import Object
from kq.core.patch import Patch

SUSPEND_TEMPLATE: Final = "koord-queue-suspend"
MESSAGE: Final = "resumed by koord-queue"
WORKING: Final = frozenset({"Pod", "Container", "HTTP", "Plugin"})
"""Nodes that do something; all others only hold such together, or wait."""

STARTED: Final = frozenset({"Running", "Succeeded", "Failed", "Error"})
MAX_BYTES: Final = 24 * 2**20
"""Of unpacked nodes: anybody who may write a Workflow may write its status."""

Nodes = Mapping[str, Any]


def nodes_of(status: Object) -> Nodes | None:
    """The nodes by id, also if they are compressed; None if they are out of reach."""
    nodes = codec.mapping(status, "nodes")
    packed = status.get("compressedNodes")
    if nodes or not packed:
        return None if not nodes and status.get("offloadNodeStatusVersion") else nodes
    return _unpacked(packed) if isinstance(packed, str) else None


def has_started(status: Object) -> bool:
    """Whether a node that is more than structure has started (spec 8.6).

    Nodes out of reach have: they are so many that they lie elsewhere.
    """
    nodes = nodes_of(status)
    return nodes is None or any(map(_is_at_work, nodes.values()))


def has_used(status: Object, template: str) -> bool:
    """Whether a node is of that template; true if that cannot be seen."""
    nodes = nodes_of(status)
    return nodes is None or any(_template_of(each) == template for each in nodes.values())


def released_nodes(job: Object, now: datetime) -> Patch | None:
    """Lets go on what waits at a suspend node of ours, as Argo's own resume does it (spec 8.15).

    None if nothing waits there. A node whose outputs still lack a value is left: Argo would not
    resume it either.
    """
    status = codec.mapping(job, "status")
    nodes = nodes_of(status)
    if not nodes:
        return None
    changes = dict(_changes(nodes, now))
    if not changes:
        return None
    if status.get("nodes"):
        return Patch({"status": {"nodes": changes}})
    merged = Patch(changes).apply(nodes)
    return Patch({"status": {"compressedNodes": _packed(merged)}})


def out_of_reach(job: Object) -> bool:
    """Whether it runs, may wait at a suspend node of ours, and its nodes cannot be had (M26)."""
    spec, status = codec.mapping(job, "spec"), codec.mapping(job, "status")
    if status.get("phase") != "Running" or nodes_of(status) is not None:
        return False
    stored = codec.mapping(status, "storedWorkflowTemplateSpec")
    specs = (spec, stored)
    return any(SUSPEND_TEMPLATE in text for each in specs for _, text in _texts(each))


def may_refer_to_ours(spec: Object) -> bool:
    """Whether anything in it names our template, or one by a name yet to be made (`{{item}}`)."""
    return any(
        SUSPEND_TEMPLATE in text or (key == "template" and "{{" in text)
        for key, text in _texts(spec)
    )


def _texts(spec: Object) -> Iterator[tuple[str, str]]:
    """All texts in it but for our template, each with the key that it stands at."""
    templates = [each for each in codec.listed(spec, "templates") if not _is_ours(each)]
    todo: list[tuple[str, object]] = [("", {**spec, "templates": templates})]
    while todo:
        key, here = todo.pop()
        if isinstance(here, str):
            yield key, here
        elif isinstance(here, Mapping):
            todo += here.items()
        elif isinstance(here, Sequence):
            todo += ((key, each) for each in here)


def _is_at_work(node: object) -> bool:
    said = codec.strings(node)
    return said.get("type") in WORKING and said.get("phase") in STARTED


def _is_ours(template: object) -> bool:
    return isinstance(template, Mapping) and template.get("name") == SUSPEND_TEMPLATE


def _changes(nodes: Nodes, now: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    for id_, node in nodes.items():
        if _template_of(node) != SUSPEND_TEMPLATE or node.get("type") != "Suspend":
            continue
        outputs = _outputs(node)
        if node.get("phase") != "Running" or outputs is None:
            continue
        said = node.get("message")
        message = f"{said}; {MESSAGE}" if isinstance(said, str) and said else MESSAGE
        change = {"phase": "Succeeded", "finishedAt": codec.format_time(now), "message": message}
        yield id_, {**change, **outputs}


def _outputs(node: Object) -> dict[str, Any] | None:
    """What is to change of the outputs: values nobody supplied become their defaults; None if one
    has no default."""
    listed = codec.listed(codec.mapping(node, "outputs"), "parameters")
    given = [_value_given(each) for each in listed]
    if any(each is None for each in given):
        return None
    return {} if given == listed else {"outputs": {"parameters": given}}


def _value_given(parameter: Any) -> Any:
    source = codec.mapping(parameter, "valueFrom") if isinstance(parameter, Mapping) else {}
    if source.get("supplied") is None:
        return parameter
    if source.get("default") is None:
        return None
    rest = {key: each for key, each in parameter.items() if key != "valueFrom"}
    return {**rest, "value": source["default"]}


def _template_of(node: object) -> str:
    """The name of a node's template, wherever that is defined."""
    if not isinstance(node, Mapping):
        return ""
    reference = codec.mapping(node, "templateRef")
    name = reference.get("template") if reference else node.get("templateName")
    return name if isinstance(name, str) else ""


def _packed(nodes: Nodes) -> str:
    return base64.b64encode(gzip.compress(msgspec.json.encode(nodes), mtime=0)).decode()


def _unpacked(text: str) -> Nodes | None:
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        wire = unpacking.decompress(base64.b64decode(text, validate=True), MAX_BYTES)
        nodes = msgspec.json.decode(wire)
    except (binascii.Error, zlib.error, ValueError, msgspec.DecodeError, RecursionError):
        return None
    return nodes if isinstance(nodes, dict) and unpacking.eof else None
