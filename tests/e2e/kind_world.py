"""Words for jobs of one kind, whichever that is."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ground import Condition, Object
from kind_cases import KindCase, Played
from kind_history import Onlooker, pods_of
from reading import conditions_of, is_suspended
from world import World

from kq.core import keys
from kq.core.kinds import JOB, POD
from kq.core.resources import Resources, parse_resources


@dataclass(frozen=True, slots=True, kw_only=True)
class KindWorld:
    """Jobs of one kind in a world; names must not begin with one another and a dash."""

    world: World
    case: KindCase
    onlooker: Onlooker

    @classmethod
    def of(cls, world: World, case: KindCase) -> "KindWorld":
        """With an onlooker, from now on."""
        is_held = {JOB: is_suspended, case.kind: case.is_held}
        return cls(
            world=world,
            case=case,
            onlooker=Onlooker.of(world.ground, world.namespace, is_held),
        )

    def manifest(self, name: str, quota: str = "", **played: str) -> Object:
        """A job of this namespace as a person writes it."""
        body = self.case.manifest(name, Played(**played))
        meta = {
            **body["metadata"],
            "namespace": self.world.namespace,
            "labels": {keys.QUOTA_LABEL: quota} if quota else {},
        }
        return {**body, "metadata": meta}

    def submit(self, name: str, quota: str, **played: str) -> str:
        """Submits a job as a person does; what that person reads."""
        self.prepare(name, **played)
        return self.world.submit(self.manifest(name, quota, **played))

    def prepare(self, name: str, **played: str) -> None:
        """Makes what a job needs; once."""
        for kind, needed in self.case.needs(name, Played(**played)):
            meta = {**needed["metadata"], "namespace": self.world.namespace}
            if self.world.ground.read(kind, self.world.namespace, meta["name"]) is None:
                self.world.ground.create(kind, {**needed, "metadata": meta})

    def unqueued_spec(self, name: str, **played: str) -> Object:
        """What a job's spec would be if we had nothing to do with it."""
        self.prepare(name, **played)
        tried = self.world.ground.tried(self.case.kind, self.manifest(name, **played))
        return self.own_spec(tried)

    def own_spec(self, job: Object) -> Object:
        """The spec of a job without what is ours in it."""
        body: Object = _without_label({"spec": job["spec"]})
        for *way, last in self.case.set_by_us:
            here = body
            for each in way:
                here = here.get(each, {})
            here.pop(last, None)
        return dict(body["spec"])

    def unit(self, name: str) -> str:
        """The name of a job's unit."""
        return f"{name}{self.case.suffix}"

    def seen(self, name: str) -> Object | None:
        return self.world.ground.read(self.case.kind, self.world.namespace, name)

    def wait(self, name: str, condition: Condition) -> Object:
        return self.world.ground.wait(self.case.kind, self.world.namespace, name, condition)

    def change(self, name: str, patch: Any) -> None:
        self.world.change(self.case.kind, name, patch)

    def delete(self, name: str) -> None:
        self.world.ground.delete(self.case.kind, self.world.namespace, name)

    def activate(self, name: str, active: bool) -> None:
        """Lets the unit of a job be stopped, or wait again."""
        self.world.change_unit(self.unit(name), {"spec": {"active": active}})

    def pods(self, name: str) -> list[Object]:
        """The pods of a job that are there, ended or not."""
        listed = self.world.ground.items(POD, self.world.namespace)
        return [each for each in listed if pods_of(name, [each["metadata"]["name"]])]

    def wait_made(self, name: str) -> list[Object]:
        """All pods of a job as soon as all of them are there."""

        def found() -> list[Object]:
            made = self.pods(name)
            return made if len(made) == self.case.pods else []

        return list(self.world.ground.until(found, f"{self.case.pods} pods of {name}"))

    def wait_running(self, name: str) -> None:
        """Returns as soon as all pods of a job run."""

        def holds() -> bool:
            pods = self.pods(name)
            return len(pods) == self.case.pods and all(map(_runs, pods))

        self.world.ground.until(holds, f"{self.case.pods} pods of {name} run")

    def wait_shown(self, name: str) -> None:
        """Returns as soon as a person sees that a job waits, if its kind has a place for that."""
        self.wait(name, lambda job: not self.case.shown or shown(job) == self.case.shown)

    def wait_over(self, name: str) -> None:
        """Returns when a job has succeeded; one of a kind that never ends is deleted as it runs."""
        if self.case.is_ended is None:
            self.wait_running(name)
            self.delete(name)
            return
        self.wait(name, self.case.is_ended)
        self.world.wait_phase(self.unit(name), "Succeed")

    def granted(self, name: str) -> Counter[str]:
        """What a job's unit holds, by resource."""
        return granted(self.world.unit(self.unit(name)))


def _without_label(value: Any) -> Any:
    """A copy without our label, and without empty maps: operators write some by themselves."""
    if isinstance(value, list):
        return [_without_label(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_label(each) for key, each in value.items() if key != keys.QUOTA_LABEL}
    return {key: each for key, each in kept.items() if each != {}}


def granted(unit: Object) -> Counter[str]:
    """What a unit holds, by resource."""
    held: Counter[str] = Counter()
    for each in unit["status"]["admissions"]:
        held.update(dict(parse_resources(each["resources"], "").items()))
    return held


def asked(pods: list[Object]) -> Counter[str]:
    """What pods ask for by themselves, by resource."""
    total: Counter[str] = Counter()
    for pod in pods:
        spec = pod["spec"]
        side_by_side = Resources.of({})
        for container in spec["containers"]:
            side_by_side += _requests(container)
        for container in spec.get("initContainers", ()):
            side_by_side = side_by_side.maximum(_requests(container))
        total.update(dict(side_by_side.items()))
    return total


def pod_sets_of(unit: Object) -> list[tuple[str, int]]:
    """The pod sets of a unit and their counts, in order."""
    return [(each["name"], each["count"]) for each in unit["spec"]["podSet"]]


def waiting_for(quota: str, cpu: int) -> str:
    """What a unit says that waits for all of a quota."""
    return f"waiting for quota {quota}: {cpu} cpu requested, not enough free of {cpu}"


def shown(job: Object) -> str:
    """The state of a job as `kubectl get` prints it where that is the last condition."""
    conditions = conditions_of(job)
    return str(conditions[-1]["type"]) if conditions else ""


def _requests(container: Object) -> Resources:
    return parse_resources(container.get("resources", {}).get("requests", {}), "")


def _runs(pod: Object) -> bool:
    going = "deletionTimestamp" in pod["metadata"]
    return pod["status"].get("phase") == "Running" and not going
