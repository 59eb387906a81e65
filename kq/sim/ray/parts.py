"""What KubeRay's controllers have in common: names, labels, and conditions as they write them."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.sim.control.objects import place_of, uid_of
from kq.sim.control.view import Happened
from kq.sim.control.writes import Delete, Replace

RAY_JOBS: Final = "rayjobs.ray.io"
RAY_CLUSTERS: Final = "rayclusters.ray.io"
OPERATOR: Final = "kuberay-operator"
OWN_CONTROLLER: Final = "ray.io/kuberay-operator"

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def is_foreign(job: Object) -> bool:
    """Whether another controller looks after it."""
    return bool(job["spec"].get("managedBy", OWN_CONTROLLER) != OWN_CONTROLLER)


def is_of_status(happened: Happened) -> bool:
    """Whether a change is one that the object's own controller does not look at: no spec's."""
    before, after = happened.before, happened.after
    return (
        before is not None
        and after is not None
        and before["metadata"].get("generation") == after["metadata"].get("generation")
    )


def suffix(*seeds: str) -> str:
    """The end of a generated name that is told before it is used, the same for the same seeds."""
    digest = hashlib.sha256("/".join(seeds).encode()).digest()
    return "".join(_LETTERS[each % len(_LETTERS)] for each in digest[:5])


def with_told(
    conditions: Sequence[Object], type_: str, told: tuple[bool, str, str], now: datetime
) -> list[dict[str, Any]]:
    """The conditions with that one as told: whether it holds, its reason and message."""
    holds, reason, message = told
    status = "True" if holds else "False"
    old: Mapping[str, Any] = next((each for each in conditions if each["type"] == type_), {})
    since = old["lastTransitionTime"] if old.get("status") == status else format_time(now)
    made = {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
    }
    if not old:
        return [*(dict(each) for each in conditions), made]
    return [made if each is old else dict(each) for each in conditions]


def replaced(kind: str, obj: Object, status: Object) -> Replace:
    """The object with that status."""
    return Replace(kind=kind, body={**obj, "status": dict(status)}, subresource="status")


def deletion(kind: str, obj: Object) -> Delete:
    """Ends an object."""
    namespace, name = place_of(obj)
    return Delete(kind=kind, namespace=namespace, name=name, uid=uid_of(obj))
