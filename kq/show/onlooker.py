"""Sees what happens on the API server, and adds up which GPUs are in use."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from kq.core import keys
from kq.core.kinds import POD, QUEUE_UNIT, ResourceKind
from kq.core.messages import S1
from kq.core.model import Phase
from kq.show.cast import Cast, Role
from kq.show.happenings import Finishes, Happening, Moment, Run, Starts, Submitted, Waits
from kq.show.manifests import APP, GPU, KINDS
from kq.sim.api.storage import Change, Event, Storage

Tell = Callable[[Moment], None]
Read = Callable[[Run, dict[str, Any], bool], Iterator[Happening]]
"""What one change of an object, or its end, makes of a run."""


class Onlooker:
    """Believes pods, not kq: what is in use is what pods have that have not ended."""

    def __init__(
        self, storage: Storage, cast: Cast, *, clock: Callable[[], datetime], tell: Tell
    ) -> None:
        self.runs = {(each.team, each.name): Run(role=each) for each in cast.roles}
        self.wrongs: list[str] = []
        self.peaks: Counter[str] = Counter()
        self._usage: Counter[str] = Counter()
        self._cast = cast
        self._storage = storage
        self._clock = clock
        self._tell = tell
        for kind in {each.kind for each in cast.roles}:
            self._follow(KINDS[kind].resource, self._job)
        self._follow(QUEUE_UNIT, self._unit)
        self._follow(POD, self._pod)

    def tell(self, what: Happening) -> None:
        """Something happened now."""
        usage = {name: self._usage[name] for name in self._cast.limits}
        self._tell(Moment(at=self._clock(), usage=usage, what=what))

    def _follow(self, kind: ResourceKind, read: Read) -> None:
        key = f"{kind.plural}.{kind.group}" if kind.group else kind.plural

        def wake() -> None:
            # This is called at once after each write: what is new is one event.
            for event in self._storage.events_since(key, self._storage.version - 1):
                self._see(event, read)

        self._storage.subscribe(key, wake)

    def _see(self, event: Event, read: Read) -> None:
        obj = event.stored.read()
        run = self.runs.get((obj["metadata"]["namespace"], _job_name(obj)))
        if run is None:
            return
        for happening in read(run, obj, event.change is Change.DELETED):
            self.tell(happening)

    def _job(self, run: Run, job: dict[str, Any], gone: bool) -> Iterator[Happening]:
        if gone:
            self.wrongs.append(f"job {run.role.name} is gone")
        elif run.submitted is None:
            run.submitted = self._clock()
            if keys.INJECTED not in job["metadata"].get("annotations", {}):
                self.wrongs.append(f"job {run.role.name} was not held at its submit")
            yield Submitted(run.role)

    def _unit(self, run: Run, unit: dict[str, Any], gone: bool) -> Iterator[Happening]:
        status = unit.get("status") or {}
        run.phase = "" if gone else status.get("phase", "")
        reason = status.get("message", "")
        # A reason that comes back is no news to whoever reads along.
        if run.phase == Phase.ENQUEUED and reason not in ("", S1, *run.reasons):
            run.reasons.append(reason)
            yield Waits(run.role, reason)

    def _pod(self, run: Run, pod: dict[str, Any], gone: bool) -> Iterator[Happening]:
        uid, phase = pod["metadata"]["uid"], (pod.get("status") or {}).get("phase")
        had = len(run.live)
        run.live.pop(uid, None)
        if phase == "Succeeded":
            run.succeeded.add(uid)
        elif phase == "Failed" or gone:
            run.failed.add(uid)
        else:
            run.live[uid] = phase == "Running"
        self._count(run.role, (len(run.live) - had) * _gpus(pod))
        yield from self._progress(run)

    def _progress(self, run: Run) -> Iterator[Happening]:
        if run.started is None and sum(run.live.values()) == run.role.pods:
            run.started = self._clock()
            yield Starts(run.role, run.waited, self._passed(run))
        if run.finished is None and len(run.succeeded) == run.role.pods:
            run.finished = self._clock()
            yield Finishes(run.role)

    def _passed(self, run: Run) -> tuple[Role, ...]:
        return tuple(
            each.role
            for each in self.runs.values()
            if each.waits and each.role.team == run.role.team and each.role.at < run.role.at
        )

    def _count(self, role: Role, gpus: int) -> None:
        for quota in (role.team, self._cast.lab.name):
            self._usage[quota] += gpus
            used, limit = self._usage[quota], self._cast.limits[quota]
            self.peaks[quota] = max(self.peaks[quota], used)
            if gpus > 0 and used > limit:
                self.wrongs.append(f"{used} of {limit} GPUs of quota {quota} in use")


def _job_name(obj: dict[str, Any]) -> str:
    """The name of the job that an object is, stands for, or belongs to."""
    match obj["kind"]:
        case QUEUE_UNIT.kind:
            name = obj["spec"].get("consumerRef", {}).get("name")
        case POD.kind:
            name = obj["metadata"].get("labels", {}).get(APP)
        case _:
            name = obj["metadata"]["name"]
    return str(name)


def _gpus(pod: dict[str, Any]) -> int:
    asked = (each.get("resources", {}).get("limits", {}) for each in pod["spec"]["containers"])
    return sum(int(limits.get(GPU, 0)) for limits in asked)
