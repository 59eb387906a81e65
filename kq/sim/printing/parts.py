"""What the cells of most kinds start from."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kq.core.kinds import Object
from kq.sim.printing.ages import age

NONE = "<none>"


def part(obj: Object | None, field: str) -> Mapping[str, Any]:
    """A map inside an object; empty if it is not there."""
    return (obj or {}).get(field) or {}


def name_of(obj: Object) -> str:
    """The name of an object."""
    return str(part(obj, "metadata").get("name", ""))


def age_of(obj: Object, now: datetime) -> str:
    """How long ago an object was made."""
    return age(part(obj, "metadata").get("creationTimestamp"), now)
