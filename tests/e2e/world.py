"""The words that scenarios are written in; they do not show what ground they stand on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import objects
from ground import Condition, Ground, Object
from reading import condition_of, is_suspended, message_of, phase_of

from kq.core import keys
from kq.core.kinds import (
    CONFIG_MAP,
    ELASTIC_QUOTA,
    EVENT,
    JOB,
    POD,
    QUEUE,
    QUEUE_UNIT,
    ResourceKind,
)

INSTALLED_IN = "koord-queue"
HOLDING = ("Reserved", "Dequeued", "Running")
ENDED = ("Succeed", "Failed")
FOREVER = "forever"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One namespace, and quotas that nobody else uses."""

    ground: Ground
    namespace: str
    jobs: dict[str, Object] = field(default_factory=dict)
    """What was submitted, so that it can be submitted again."""

    # quotas and Queues

    def quota(
        self,
        name: str,
        *,
        parent: str = "",
        policy: str = "",
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        minimum: objects.Amounts | None = None,
        limits: objects.Amounts | None = None,
        **more: int | str,
    ) -> str:
        """Makes a quota, and waits for its Queue; the name by which it is known everywhere."""
        whole = self.name_of(name)
        marks = {keys.PARENT_LABEL: parent, **(labels or {})}
        if policy:
            marks[keys.POLICY_LABELS[0]] = policy
        body = objects.elastic_quota(
            whole,
            self.namespace,
            {**(limits or {}), **more},
            minimum=minimum,
            labels=marks,
            annotations=annotations,
        )
        self.ground.create(ELASTIC_QUOTA, body)
        self.ground.wait(QUEUE, INSTALLED_IN, whole, bool)
        return whole

    def name_of(self, quota: str) -> str:
        """The name by which a quota is known everywhere, be it made already or not."""
        return f"{self.namespace}-{quota}"

    def set_limits(self, quota: str, **limits: int | str) -> None:
        """Changes the max of a quota."""
        self.change(ELASTIC_QUOTA, quota, {"spec": {"max": objects.amounts(limits)}})

    def mark_quota(
        self,
        quota: str,
        *,
        labels: Mapping[str, str | None] | None = None,
        annotations: Mapping[str, str | None] | None = None,
    ) -> None:
        """Sets labels and annotations of a quota; None removes one."""
        meta = {"labels": dict(labels or {}), "annotations": dict(annotations or {})}
        self.change(ELASTIC_QUOTA, quota, {"metadata": meta})

    def delete_quota(self, quota: str) -> None:
        self.ground.delete(ELASTIC_QUOTA, self.namespace, quota)

    def queue(self, name: str) -> Object:
        """The Queue of a quota."""
        return self.ground.wait(QUEUE, INSTALLED_IN, name, bool)

    def set_queue(self, name: str, patch: Mapping[str, Any]) -> None:
        """Edits a Queue by hand."""
        self.ground.patch(QUEUE, INSTALLED_IN, name, patch)

    def wait_queue(self, name: str, condition: Condition) -> Object:
        return self.ground.wait(QUEUE, INSTALLED_IN, name, condition)

    # jobs

    def manifest(
        self,
        name: str,
        quota: str = "",
        *,
        run_for: str = FOREVER,
        priority: int | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        played: Mapping[str, str] | None = None,
        spec: Mapping[str, Any] | None = None,
        pod_spec: Mapping[str, Any] | None = None,
        **requests: int | str,
    ) -> Object:
        """A Job of this namespace; its pods run that long."""
        marks = dict(annotations or {})
        if priority is not None:
            marks[keys.PRIORITY] = str(priority)
        body = objects.job(
            name,
            self.namespace,
            requests,
            labels={**({keys.QUOTA_LABEL: quota} if quota else {}), **(labels or {})},
            annotations=marks,
            played={"run-for": run_for, **(played or {})},
            spec=spec,
            pod_spec=pod_spec,
        )
        self.jobs[name] = body
        return body

    def submit(self, *manifests: Object) -> str:
        """Submits them in one go, as a person does; what that person reads."""
        return self.ground.submit(manifests)

    def job(self, name: str, quota: str = "", **what: Any) -> str:
        """Submits one job; its name."""
        self.ground.create(JOB, self.manifest(name, quota, **what))
        return name

    def job_again(self, name: str) -> None:
        """Submits a job once more under its name."""
        self.ground.create(JOB, self.jobs[name])

    def seen_job(self, name: str) -> Object | None:
        return self.ground.read(JOB, self.namespace, name)

    def created(self, name: str) -> str:
        """When a job was created, to the second as the API server keeps it."""
        return str(self.wait_job(name, bool)["metadata"]["creationTimestamp"])

    def next_second(self, name: str) -> None:
        """Returns when what is created now is younger than that job, as far as anybody can see."""
        probe = self.name_of("clock")

        def later() -> bool:
            body = {"metadata": {"name": probe, "namespace": self.namespace}}
            made = self.ground.create(CONFIG_MAP, body)["metadata"]["creationTimestamp"]
            self.ground.delete(CONFIG_MAP, self.namespace, probe)
            return bool(made > self.created(name))

        self.ground.until(later, "a second is over")

    def change_job(self, name: str, patch: Mapping[str, Any]) -> None:
        self.change(JOB, name, patch)

    def annotate_job(self, name: str, marks: Mapping[str, str | None]) -> None:
        """Sets annotations; None removes one."""
        self.change_job(name, {"metadata": {"annotations": dict(marks)}})

    def delete_job(self, name: str, policy: str = "Background") -> None:
        self.ground.delete(JOB, self.namespace, name, policy)

    def wait_job(self, name: str, condition: Condition) -> Object:
        return self.ground.wait(JOB, self.namespace, name, condition)

    def wait_held(self, *names: str) -> None:
        """Returns when these jobs are suspended."""
        for name in names:
            self.wait_job(name, is_suspended)

    def wait_released(self, *names: str) -> None:
        """Returns when these jobs are not suspended."""
        for name in names:
            self.wait_job(name, lambda job: not is_suspended(job))

    def wait_complete(self, *names: str) -> None:
        """Returns when these jobs have succeeded."""
        for name in names:
            self.wait_job(name, lambda job: condition_of(job, "Complete"))

    def pods(self, job: str) -> list[Object]:
        """The pods of a job that are there, ended or not."""
        return self.ground.items(POD, self.namespace, f"?labelSelector=job-name={job}")

    def wait_pods(self, job: str, count: int = 1, phase: str = "Running") -> list[Object]:
        """The pods of a job as soon as so many of them are in a phase."""

        def found() -> list[Object]:
            inside = [each for each in self.pods(job) if each["status"].get("phase") == phase]
            return inside if len(inside) == count else []

        return list(self.ground.until(found, f"{count} pods of {job} are {phase}"))

    # units

    def hand_made(self, name: str, spec: Mapping[str, Any], quota: str = "") -> str:
        """Makes a unit by hand; its name."""
        self.ground.create(QUEUE_UNIT, objects.queue_unit(name, self.namespace, spec, quota))
        return name

    def unit(self, name: str) -> Object:
        """The unit of that name as soon as there is one."""
        return self.wait_unit(name, bool)

    def seen_unit(self, name: str) -> Object | None:
        return self.ground.read(QUEUE_UNIT, self.namespace, name)

    def change_unit(self, name: str, patch: Mapping[str, Any]) -> None:
        self.change(QUEUE_UNIT, name, patch)

    def delete_unit(self, name: str) -> None:
        self.ground.delete(QUEUE_UNIT, self.namespace, name)

    def wait_unit(self, name: str, condition: Condition) -> Object:
        return self.ground.wait(QUEUE_UNIT, self.namespace, name, condition)

    def wait_unit_gone(self, name: str) -> None:
        self.ground.until(lambda: self.seen_unit(name) is None, f"unit {name} is gone")

    def wait_phase(self, name: str, *phases: str) -> Object:
        """The unit as soon as it is in one of these phases."""
        return self.wait_unit(name, lambda unit: phase_of(unit) in phases)

    def wait_granted(self, *names: str) -> None:
        """Returns when these units hold quota, or have ended already."""
        for name in names:
            self.wait_phase(name, *HOLDING, *ENDED)

    def wait_message(self, name: str, text: str) -> Object:
        """The unit as soon as it says just this."""
        return self.wait_unit(name, lambda unit: message_of(unit) == text)

    def phase(self, name: str) -> str:
        """The phase of a unit now; empty if it has none."""
        return phase_of(self.unit(name))

    def message(self, name: str) -> str:
        """What a unit says now."""
        return message_of(self.unit(name))

    # events and all else

    def events(self, name: str, kind: ResourceKind = JOB) -> list[Object]:
        """The events on one object."""
        listed = self.ground.items(EVENT, self.namespace)
        about = (kind.kind, name)
        return [
            each
            for each in listed
            if (each["involvedObject"]["kind"], each["involvedObject"]["name"]) == about
        ]

    def wait_event(self, name: str, reason: str, kind: ResourceKind = JOB) -> Object:
        """An event on an object as soon as there is one for that reason."""

        def found() -> list[Object]:
            return [each for each in self.events(name, kind) if each["reason"] == reason]

        first: Object = self.ground.until(found, f"event {reason} on {kind.kind} {name}")[0]
        return first

    def change(self, kind: ResourceKind, name: str, patch: Mapping[str, Any]) -> None:
        """Edits an object of this namespace."""
        self.ground.patch(kind, self.namespace, name, patch)
