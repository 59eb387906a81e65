"""Mutexes: which a Workflow asks for, which it has, and who is before it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kq.core.kinds import Object
from kq.sim.control.objects import place_of, status_of

Holding = Mapping[str, str]


class Locks(NamedTuple):
    """The locks of a Workflow: all of them, or the first that another one has, and who."""

    keys: Sequence[str]
    missing: str = ""
    holder: str = ""

    def told(self, workflow: Object) -> dict[str, Any]:
        """What the status says of them."""
        if not self.keys:
            return {}
        if self.missing:
            return {"mutex": {"waiting": [{"holder": self.holder, "mutex": self.missing}]}}
        name = name_of(workflow)
        return {"mutex": {"holding": [{"holder": name, "mutex": key} for key in self.keys]}}

    @property
    def message(self) -> str:
        """Why it waits."""
        return f"Waiting for {self.missing} lock. Lock status: 0/1" if self.missing else ""


def name_of(workflow: Object) -> str:
    """The name under which a Workflow holds its locks."""
    return "/".join(place_of(workflow))


def locks_of(workflow: Object, others: Iterable[Object]) -> Locks:
    """What it has of what it asks for; who has it keeps it, and others come in their order."""
    keys = _keys(workflow)
    held = {each["mutex"] for each in _said(workflow, "holding")}
    if not keys or held >= set(keys):
        return Locks(keys)
    rivals = [each for each in others if name_of(each) != name_of(workflow)]
    holders = {
        each["mutex"]: each["holder"] for rival in rivals for each in _said(rival, "holding")
    }
    for key in keys:
        if key in holders:
            return Locks(keys, key, holders[key])
        first = [each for each in rivals if _waits(each, key) and _rank(each) < _rank(workflow)]
        if first:
            return Locks(keys, key, name_of(min(first, key=_rank)))
    return Locks(keys)


def has_locks(workflow: Object) -> bool:
    """Whether others may wait for what it has."""
    return bool(_said(workflow, "holding"))


def _keys(workflow: Object) -> Sequence[str]:
    asked = workflow["spec"].get("synchronization") or {}
    listed = [*(asked.get("mutexes") or ()), *filter(None, [asked.get("mutex")])]
    namespace = place_of(workflow)[0]
    return [f"{each.get('namespace') or namespace}/Mutex/{each['name']}" for each in listed]


def _said(workflow: Object, what: str) -> Sequence[Holding]:
    mutex = (status_of(workflow).get("synchronization") or {}).get("mutex") or {}
    return mutex.get(what) or ()


def _waits(workflow: Object, key: str) -> bool:
    return any(each["mutex"] == key for each in _said(workflow, "waiting"))


def _rank(workflow: Object) -> tuple[int, str, str]:
    meta = workflow["metadata"]
    return -(workflow["spec"].get("priority") or 0), meta["creationTimestamp"], meta["name"]
