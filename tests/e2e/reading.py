"""What a person reads off jobs, units and Queues."""

from collections.abc import Sequence

from ground import Object


def is_suspended(job: Object) -> bool:
    return bool(job["spec"].get("suspend"))


def phase_of(unit: Object) -> str:
    return str(unit.get("status", {}).get("phase", ""))


def message_of(unit: Object) -> str:
    return str(unit.get("status", {}).get("message", ""))


def replicas_of(unit: Object) -> int:
    """How many replicas the unit's grants are for."""
    return sum(each["replicas"] for each in unit.get("status", {}).get("admissions") or ())


def condition_of(thing: Object, type_: str) -> Object | None:
    """The condition of a type, if that is True."""
    for each in conditions_of(thing):
        if each["type"] == type_ and each["status"] == "True":
            return each
    return None


def reason_of(thing: Object, type_: str) -> str:
    """The reason that a condition of a type gives, whether it is True or not; "" without one."""
    found = (each["reason"] for each in conditions_of(thing) if each["type"] == type_)
    return str(next(found, ""))


def conditions_of(thing: Object) -> Sequence[Object]:
    return thing.get("status", {}).get("conditions") or ()
