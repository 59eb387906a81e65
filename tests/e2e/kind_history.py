"""Proves of all that happened in a namespace what must hold at every instant, not at some.

No pod is made while its job is held, no job is released beside pods of its former run, and what the
pods ask never exceeds the quota.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ground import Change, Ground, Object
from history import cpu_of

from kq.core.kinds import POD, QUEUE_UNIT, ResourceKind

IsHeld = Callable[[Object], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Onlooker:
    """Jobs of some kinds and the pods of one namespace, which has none of them at the start."""

    ground: Ground
    namespace: str
    is_held: Mapping[ResourceKind, IsHeld]
    since: Mapping[ResourceKind, str]

    @classmethod
    def of(
        cls, ground: Ground, namespace: str, is_held: Mapping[ResourceKind, IsHeld]
    ) -> "Onlooker":
        """From now on."""
        since = {kind: ground.version(kind, namespace) for kind in (*is_held, QUEUE_UNIT, POD)}
        return cls(ground=ground, namespace=namespace, is_held=is_held, since=since)

    def faults(self, limit: int) -> list[str]:
        """All that was wrong at some instant; `limit` is the quota's cpu."""
        return self.story().faults(limit)

    def story(self) -> "Story":
        """All that has happened."""
        told = self.ground.changes(self.namespace, self.since)
        return Story(changes=told, is_held=self.is_held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Every change of jobs, units and pods, in the order in which they happened."""

    changes: Sequence[Change]
    is_held: Mapping[ResourceKind, IsHeld]

    def faults(self, limit: int) -> list[str]:
        """All that was wrong at some instant; `limit` is the quota's cpu."""
        account = _Account(limit=1000 * limit)
        for each in self.changes:
            if each.kind == POD:
                account.pod(each)
            elif each.kind in self.is_held and not is_child(each.thing):
                account.job(each, self.is_held[each.kind](each.thing))
        assert account.pods_seen, "nothing was seen"
        return account.faults

    def most_pods(self, job: str) -> list[Object]:
        """The live pods of a job when it had the most."""
        live: dict[str, Object] = {}
        most: list[Object] = []
        for each in self.changes:
            name = each.thing["metadata"]["name"]
            if each.kind != POD or not pods_of(job, [name]):
                continue
            if each.gone or has_ended(each.thing):
                live.pop(name, None)
            else:
                live[name] = each.thing
            most = max(most, list(live.values()), key=len)
        return most

    def last_grant(self, unit: str) -> Object:
        """A unit when it held quota, for the last time."""
        held = [
            each.thing
            for each in self.changes
            if each.kind == QUEUE_UNIT
            and each.thing["metadata"]["name"] == unit
            and each.thing.get("status", {}).get("admissions")
        ]
        return held[-1]


@dataclass(slots=True, kw_only=True)
class _Account:
    limit: int
    held: dict[str, bool] = field(default_factory=dict)
    live: dict[str, int] = field(default_factory=dict)
    pods_seen: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def job(self, change: Change, held: bool) -> None:
        name = change.thing["metadata"]["name"]
        if change.gone:
            self.held.pop(name, None)
            return
        was_held = self.held.get(name)
        self.held[name] = held
        if was_held is None and not held:
            self.faults.append(f"{name} was not held when made, at version {change.version}")
        if was_held and not held and (left := pods_of(name, self.live)):
            self.faults.append(f"{name} was released beside {left}, at version {change.version}")

    def pod(self, change: Change) -> None:
        name, uid = change.thing["metadata"]["name"], change.thing["metadata"]["uid"]
        is_new = uid not in self.pods_seen
        self.pods_seen.add(uid)
        if change.gone or has_ended(change.thing):
            self.live.pop(name, None)
            return
        self.live[name] = cpu_of(change.thing)
        if is_new:
            self._check_made(name, change.version)

    def _check_made(self, pod: str, version: int) -> None:
        held = [job for job, is_held in self.held.items() if is_held and pods_of(job, [pod])]
        if held:
            self.faults.append(f"{pod} was made while {held} is held, at version {version}")
        used = sum(self.live.values())
        if used > self.limit:
            self.faults.append(f"{used} of {self.limit} used with {pod}, at version {version}")


def has_ended(pod: Object) -> bool:
    """Whether it uses nothing any more."""
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def is_child(thing: Object) -> bool:
    """Whether something else made it."""
    return any(each.get("controller") for each in thing["metadata"].get("ownerReferences", ()))


def pods_of(job: str, pods: Sequence[str] | Mapping[str, int]) -> list[str]:
    """The names of pods that are a job's."""
    return [each for each in pods if each.startswith(f"{job}-")]
