"""The nodes of a Workflow's status."""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any, Final

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.sim.control.objects import place_of, status_of

Node = dict[str, Any]

FULFILLED: Final = frozenset({"Succeeded", "Failed", "Error", "Skipped", "Omitted"})
BAD: Final = frozenset({"Failed", "Error"})
COUNTED: Final = frozenset({"Pod", "Suspend"})
"""Types of nodes that are progress."""


def id_of(workflow: str, name: str) -> str:
    """The id of a node, by its name: that of the root is the Workflow's own."""
    return workflow if name == workflow else f"{workflow}-{hash_of(name)}"


def hash_of(text: str) -> int:
    """The 32 bits of FNV-1a that Argo names nodes and pods by."""
    found = 0x811C9DC5
    for each in text.encode():
        found = (found ^ each) * 0x01000193 % 2**32
    return found


def is_fulfilled(node: Node) -> bool:
    """Whether nothing more comes of a node."""
    return node["phase"] in FULFILLED


def is_retried(node: Node, strategy: Mapping[str, Any]) -> bool:
    """Whether its template's strategy wants another try."""
    if node["phase"] not in BAD:
        return False
    match strategy.get("retryPolicy") or "OnFailure":
        case "Always":
            return True
        case "OnError":
            return bool(node["phase"] == "Error")
        case _:
            return bool(node["phase"] == "Failed")


class Nodes:
    """A copy of the nodes, to be changed; found by name."""

    def __init__(self, workflow: Object, now: datetime) -> None:
        self.by_id: dict[str, Node] = deepcopy(dict(status_of(workflow).get("nodes") or {}))
        self._workflow = place_of(workflow)[1]
        self._at = format_time(now)

    def get(self, name: str) -> Node | None:
        """The node of that name."""
        return self.by_id.get(id_of(self._workflow, name))

    def of_type(self, type_: str) -> Iterator[Node]:
        """All nodes of a type."""
        return (each for each in self.by_id.values() if each["type"] == type_)

    def add(self, name: str, type_: str, phase: str, **said: Any) -> Node:
        """A new node."""
        id_ = id_of(self._workflow, name)
        shown = said.pop("shown", "") or name
        node: Node = {
            "id": id_,
            "name": name,
            "displayName": shown,
            "type": type_,
            "templateScope": f"local/{self._workflow}",
            "phase": phase,
            "startedAt": self._at,
            "finishedAt": self._at if phase in FULFILLED else None,
            **{key: each for key, each in said.items() if each not in ("", None)},
        }
        self.by_id[id_] = node
        return node

    def mark(self, node: Node, phase: str, message: str = "") -> None:
        """Another phase of a node; the end of it is now."""
        if node["phase"] == phase:
            return
        node["phase"] = phase
        if message:
            node["message"] = message
        if phase in FULFILLED:
            node["finishedAt"] = self._at

    def put_under(self, parent: Node, child: Node) -> None:
        """Makes a node one of those that follow another."""
        children = parent.setdefault("children", [])
        if child["id"] not in children:
            children.append(child["id"])

    def outbound(self, node: Node) -> list[str]:
        """The ids of the nodes with which a node ends."""
        if node["type"] == "StepGroup":
            inside = [self.by_id[each] for each in node.get("children") or ()]
            return [each for child in inside for each in self.outbound(child)] or [node["id"]]
        if node["type"] in ("Steps", "DAG", "Retry"):
            return list(node.get("outboundNodes") or ())
        return [node["id"]]

    def count(self) -> str:
        """The progress of all nodes, which each of them is told of those that follow it."""
        for node in self.by_id.values():
            inside = [node] if node["type"] in COUNTED else self._following(node)
            node["progress"] = _progress(inside)
        return _progress(self.by_id.values())

    def _following(self, node: Node) -> Iterable[Node]:
        seen, todo = {node["id"]: node}, [node]
        while todo:
            for id_ in todo.pop().get("children") or ():
                if id_ not in seen and id_ in self.by_id:
                    seen[id_] = self.by_id[id_]
                    todo.append(seen[id_])
        return seen.values()


def _progress(nodes: Iterable[Mapping[str, Any]]) -> str:
    counted = [each for each in nodes if each["type"] in COUNTED]
    done = sum(each["phase"] == "Succeeded" for each in counted)
    return f"{done}/{len(counted)}"
