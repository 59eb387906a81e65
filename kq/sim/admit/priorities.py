"""PriorityClasses: pods get the number that their class stands for."""

from typing import Any

from kq.core.kinds import Object
from kq.sim.api.admission import Operation, Review
from kq.sim.api.kinds import Kind
from kq.sim.api.status import ApiStatus, forbidden
from kq.sim.api.storage import Storage


class Priorities:
    """Resolves the classes of new pods, and lets only one class be the default."""

    def __init__(self, storage: Storage, kind: Kind) -> None:
        self._storage = storage
        self._kind = kind

    def mutate(self, review: Review) -> None:
        """Writes a new pod's priority into it."""
        pod = review.obj
        is_pod = review.call.kind.kind_key == "Pod" and not review.call.subresource
        if not is_pod or pod is None or review.operation is not Operation.CREATE:
            return
        spec = pod.setdefault("spec", {})
        name = spec.get("priorityClassName") or ""
        found = self._named(review, name) if name else self._default()
        if found:
            spec["priorityClassName"] = found["metadata"]["name"]
        _resolve(review, spec, found or {})

    def check(self, review: Review) -> None:
        """Refuses a second class for pods that name none."""
        obj = review.obj
        if review.call.kind.key != self._kind.key or obj is None or not obj.get("globalDefault"):
            return
        present = self._default()
        if present and present["metadata"]["name"] != obj["metadata"]["name"]:
            called = present["metadata"]["name"]
            why = f"PriorityClass {called} is already marked as default. Only one default can exist"
            raise forbidden(review.call.kind, review.name, why)

    def _named(self, review: Review, name: str) -> Object:
        stored = self._storage.get(self._kind, "", name)
        if stored is None:
            raise _forbidden(review, f"no PriorityClass with name {name} was found")
        return stored.read()

    def _default(self) -> Object | None:
        classes = (stored.read() for stored in self._storage.list(self._kind))
        return next((each for each in classes if each.get("globalDefault")), None)


def _resolve(review: Review, spec: dict[str, Any], found: Object) -> None:
    value = found.get("value", 0)
    policy = found.get("preemptionPolicy", "PreemptLowerPriority")
    if spec.get("priority", value) != value:
        raise _forbidden(
            review,
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec;"
            f" priority admission controller computed {value} from the given PriorityClass name",
        )
    if spec.get("preemptionPolicy", policy) != policy:
        raise _forbidden(
            review,
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be"
            f" provided in pod spec; priority admission controller computed {policy} from the given"
            " PriorityClass name",
        )
    spec |= {"priority": value, "preemptionPolicy": policy}


def _forbidden(review: Review, why: str) -> ApiStatus:
    name = review.name or (review.obj or {})["metadata"].get("generateName", "")
    return forbidden(review.call.kind, name, why)
