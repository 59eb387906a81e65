"""Proves what must have held at every instant, from all that the API server has recorded."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, POD, Object
from kq.show.cast import Cast, Role
from kq.show.kinds import KINDS, Owners, gpus_of, key_of, kinds_of
from kq.show.specs import GPU
from kq.sim.api.storage import Change, Event, Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is in it, and what should not be."""

    changes: int
    """Of quotas, jobs, what operators make of them, and pods."""
    peaks: Mapping[str, int]
    """The most GPUs that pods had of each quota."""
    stops: int
    """How often a job was held again that had been let go."""
    wrongs: Sequence[str]


def record_of(storage: Storage, cast: Cast) -> Record:
    """Goes through all changes, in the order of their versions."""
    told = [storage.events_since(key_of(kind), 0) for kind in (ELASTIC_QUOTA, POD, *kinds_of(cast))]
    books = _Books(cast)
    changes = sorted((each for some in told for each in some), key=lambda each: each.version)
    for each in changes:
        books.see(each)
    return Record(
        changes=len(changes),
        peaks=dict(books.peaks),
        stops=sum(each.stops for each in books.jobs.values()),
        wrongs=[*books.wrongs, *books.wrongs_at_the_end()],
    )


@dataclass(slots=True, kw_only=True)
class _Job:
    """One job, as far as the record has been read."""

    role: Role
    is_held: bool
    has_ended: bool = False
    releases: int = 0
    stops: int = 0
    live: dict[str, int] = field(default_factory=dict)
    """GPUs of its pods that have not ended, by their UID."""

    @property
    def name(self) -> str:
        """What it is called where something is wrong."""
        return f"job {self.role.team}/{self.role.name}"


class _Books:
    def __init__(self, cast: Cast) -> None:
        self.jobs: dict[str, _Job] = {}
        self.peaks: Counter[str] = Counter()
        self.wrongs: list[str] = []
        self._roles = {(each.kind, each.team, each.name): each for each in cast.roles}
        self._owners = Owners()
        self._limits: dict[str, int] = {}
        self._parents: dict[str, str] = {}
        self._usage: Counter[str] = Counter()

    def see(self, event: Event) -> None:
        """One change."""
        obj, version = event.stored.read(), event.version
        if obj["kind"] == ELASTIC_QUOTA.kind:
            self._limits[event.stored.name] = int(obj["spec"]["max"][GPU])
            self._parents[event.stored.name] = obj["metadata"]["labels"][keys.PARENT_LABEL]
            return
        uid = self._owners.job_of(obj)
        if uid == event.stored.uid:
            self._see_job(event, obj)
        elif obj["kind"] == POD.kind and uid in self.jobs:
            found = self._see_pod(self.jobs[uid], event, obj)
            self.wrongs.extend(f"{each}, at version {version}" for each in found)

    def wrongs_at_the_end(self) -> list[str]:
        """What can be said only when all is over."""
        return [
            f"{each.name} was let go {each.releases} times, and stopped {each.stops} times"
            for each in self.jobs.values()
            if each.has_ended and each.releases != each.stops + 1
        ]

    def _see_job(self, event: Event, obj: Object) -> None:
        place = obj["kind"], event.stored.namespace, event.stored.name
        role = self._roles.get(place)
        if role is None:
            return
        is_held = KINDS[role.kind].is_held(obj)
        job = self.jobs.get(event.stored.uid)
        if job is None:
            job = self.jobs[event.stored.uid] = _Job(role=role, is_held=True)
            if not is_held:
                self.wrongs.append(f"{job.name} was not held at its submit")
        found = _turns(job, is_held)
        self.wrongs.extend(f"{each}, at version {event.version}" for each in found)
        gone = event.change is Change.DELETED
        job.has_ended = job.has_ended or gone or KINDS[role.kind].has_ended(obj)

    def _see_pod(self, job: _Job, event: Event, pod: Object) -> list[str]:
        found = []
        if event.change is Change.ADDED and (job.is_held or job.has_ended):
            found.append(
                f"{job.name} got a pod {'while it was held' if job.is_held else 'after its end'}"
            )
        phase = (pod.get("status") or {}).get("phase")
        before = sum(job.live.values())
        job.live.pop(event.stored.uid, None)
        if event.change is not Change.DELETED and phase not in ("Succeeded", "Failed"):
            job.live[event.stored.uid] = gpus_of(pod)
        if sum(job.live.values()) > job.role.total:
            found.append(f"{job.name} had more pods than it asked for")
        return [*found, *self._count(job.role.team, sum(job.live.values()) - before)]

    def _count(self, quota: str, gpus: int) -> list[str]:
        found, level = [], quota
        while level and gpus:
            self._usage[level] += gpus
            used, limit = self._usage[level], self._limits[level]
            self.peaks[level] = max(self.peaks[level], used)
            if gpus > 0 and used > limit:
                found.append(f"{used} of {limit} GPUs of quota {level} in use")
            level = self._parents[level]
        return found


def _turns(job: _Job, is_held: bool) -> list[str]:
    """It is let go, or held again, if this is what has changed; what is wrong with that."""
    if is_held == job.is_held:
        return []
    job.is_held = is_held
    if is_held:
        job.stops += 1
        return []
    job.releases += 1
    wrongs = {"beside pods of its last run": bool(job.live), "after its end": job.has_ended}
    return [f"{job.name} was let go {how}" for how, is_so in wrongs.items() if is_so]
