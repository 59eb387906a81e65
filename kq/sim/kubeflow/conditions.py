"""How operators set conditions: each family keeps, orders and turns them in a way of its own."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.sim.control.objects import condition, holds

Conditions = Sequence[Mapping[str, Any]]

ENDS = ("Succeeded", "Failed")
_OTHERS = {"Restarting": "Running", "Running": "Restarting"}
_EXCLUSIVE = {
    "StartupPolicyInProgress": "StartupPolicyCompleted",
    "StartupPolicyCompleted": "StartupPolicyInProgress",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What an operator says of a job."""

    type: str
    status: str = "True"
    reason: str
    message: str

    def at(self, now: datetime, **more: str) -> dict[str, Any]:
        """The condition as it is written."""
        return {
            "type": self.type,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": format_time(now),
            **more,
        }


def by_training(conditions: Conditions, said: Said, now: datetime) -> Conditions:
    """As training-operator says it: what changed comes last, and nothing follows a failure."""
    return conditions if holds(conditions, "Failed") else _kubeflow(conditions, said, now, ())


def by_mpi(conditions: Conditions, said: Said, now: datetime) -> Conditions:
    """As mpi-operator says it: what changed comes last, and an end takes back a failure."""
    return _kubeflow(conditions, said, now, ("Failed",))


def by_jobset(conditions: Conditions, said: Said, now: datetime) -> Conditions:
    """As JobSet says it: where its like was, when the status changes; what never was is not False.

    The two of the startup policy are never True at once.
    """
    other = _EXCLUSIVE.get(said.type) if said.status == "True" else None
    told = [{**each, "status": "False"} if each["type"] == other else each for each in conditions]
    for index, each in enumerate(told):
        if each["type"] == said.type:
            return _put(told, index, said.at(now)) if each["status"] != said.status else told
    return [*told, said.at(now)] if said.status == "True" else told


def by_type(conditions: Conditions, said: Said, now: datetime) -> Conditions:
    """As Trainer says it: where its like was; the time is that of the last change of status."""
    made = said.at(now)
    for index, each in enumerate(conditions):
        if each["type"] == said.type:
            if each["status"] == said.status:
                made["lastTransitionTime"] = each["lastTransitionTime"]
            return _put(conditions, index, made)
    return [*conditions, made]


def _kubeflow(
    conditions: Conditions, said: Said, now: datetime, beaten: Iterable[str]
) -> Conditions:
    old = condition(conditions, said.type)
    if old is not None and (old["status"], old.get("reason")) == (said.status, said.reason):
        return conditions
    made = said.at(now, lastUpdateTime=format_time(now))
    if old is not None and old["status"] == said.status:
        made["lastTransitionTime"] = old.get("lastTransitionTime", made["lastTransitionTime"])
    left = (said.type, _OTHERS.get(said.type))
    stopped = ("Running", *beaten) if said.type in ENDS else ()
    kept = [each for each in conditions if each["type"] not in left]
    return [*(_stopped(each) if each["type"] in stopped else each for each in kept), made]


def _stopped(entry: Object) -> Object:
    return {**entry, "status": "False"}


def _put(conditions: Conditions, index: int, made: Mapping[str, Any]) -> Conditions:
    return [*conditions[:index], made, *conditions[index + 1 :]]
