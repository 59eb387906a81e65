"""Which jobs exist, their pods, and the units that stand for them (spec 2.6, 15.2)."""

from collections.abc import Collection, Iterable

from kq.core import keys
from kq.core.holders import of_app, of_unit
from kq.core.model import JobView, Phase, PodView, QueueUnit
from kq.decide.charge import all_run
from kq.decide.claims import Claim
from kq.decide.kin import (
    NAMESAKES,
    SPARK,
    JobKey,
    Kin,
    Strays,
    maker_of,
    owner_of,
    pod_owners,
)
from kq.decide.pods import PodGroup
from kq.decide.standing import JobFacts
from kq.decide.unitindex import UnitIndex, holder_of, named_job

__all__ = ["JobIndex", "holder_of", "is_queued", "job_key", "named_job"]


class JobIndex:
    """Jobs by UID and by name; `kinds` are the job kinds that are served here.

    `counts_foreign`: pods of no queued job count as those that were left behind (spec 11.9).
    """

    def __init__(self, kinds: Collection[str], *, counts_foreign: bool = False) -> None:
        self._kinds = frozenset(kinds)
        self._served = pod_owners(kinds)
        self._counts_foreign = counts_foreign
        self._jobs: dict[str, JobKey] = {}
        self._deleting: set[str] = set()
        self._foreign: set[str] = set()
        """Jobs that were never queued."""
        self._claims: dict[str, Claim] = {}
        self._departed: dict[str, Claim] = {}
        self._by_name: dict[tuple[str, str], dict[str, str]] = {}
        self._groups: dict[str, PodGroup] = {}
        self._kin = Kin()
        self._strays = Strays()
        self._roots: dict[str, str] = {}
        self._moved: dict[str, None] = {}
        self._units = UnitIndex()

    def put(
        self,
        uid: str,
        key: JobKey,
        deleting: bool,
        queued: bool = False,
        claim: Claim | None = None,
    ) -> bool:
        """A job exists, `queued` if it bears our marks; whether that is news."""
        new = (key, deleting, not queued, claim)
        if new == self._said_of(uid):
            return False
        self._forget(uid)
        self._jobs[uid] = key
        if deleting:
            self._deleting.add(uid)
        if not queued:
            self._foreign.add(uid)
        if claim is not None:
            self._claims[uid] = claim
        self._by_name.setdefault(key[:2], {})[key[2]] = uid
        if key[0] == SPARK:
            self._kin.put(of_app(key[1], key[2]), uid)
        self._found(uid)
        self._relocate([uid, *self._kin.below(uid)])
        return True

    def _said_of(self, uid: str) -> tuple[JobKey | None, bool, bool, Claim | None]:
        """What was put of a job."""
        is_deleting, is_foreign = uid in self._deleting, uid in self._foreign
        return self._jobs.get(uid), is_deleting, is_foreign, self._claims.get(uid)

    def _forget(self, uid: str) -> None:
        self._jobs.pop(uid, None)
        self._deleting.discard(uid)
        self._foreign.discard(uid)
        self._claims.pop(uid, None)

    def put_child(self, child: str, parent: str) -> None:
        """An object that a job has made, or that one of its children has made."""
        if self._kin.put(child, parent):
            self._found(child)
            self._relocate([child, *self._kin.below(child)])

    def drop_child(self, child: str) -> None:
        """It is gone; its pods stay those of the job for as long as they are there."""
        self._kin.drop(child)
        if self.root(child) not in self._groups:
            self._roots.pop(child, None)

    def root(self, owner: str) -> str:
        """The job that the pods of that owner belong to; the owner if there is none above it."""
        return self._roots.get(owner, owner)

    def take_moved(self) -> list[str]:
        """Jobs that pods have come to, or gone from, since the last call."""
        taken, self._moved = self._moved, {}
        return list(taken)

    def _relocate(self, owners: Iterable[str]) -> None:
        """Pods that were seen before what stands between them and their job."""
        for owner in owners:
            new = self._strays.job_of(owner) or self._kin.root(owner, self._is_known)
            if new not in (self.root(owner), owner):
                self._bring(owner, new)

    def _found(self, owner: str) -> None:
        """What owns pods is seen itself: they are not those of its namesake."""
        if self._strays.drop(owner) and self.root(owner) != owner:
            self._bring(owner, owner)
            del self._roots[owner]

    def _bring(self, owner: str, new: str) -> None:
        """The pods of that owner are those of that job."""
        old, self._roots[owner] = self.root(owner), new
        group = self._groups.get(old)
        for pod in list(group.pods) if group is not None else ():
            if owner_of(pod) == owner:
                self._take(old, pod)
                self._groups.setdefault(new, PodGroup()).put(pod)
                self._moved.update({old: None, new: None})

    def _is_known(self, uid: str) -> bool:
        return uid in self._jobs or uid in self._units

    def key_of(self, uid: str) -> JobKey | None:
        """Kind, namespace and name of a job; None if it is not there."""
        return self._jobs.get(uid)

    def owners(self, namespace: str | None = None) -> list[str]:
        """UIDs of all that own pods, or claim something for theirs, or of those in a namespace."""
        every = (self._groups, self._claims, self._departed)
        found = {uid: each.namespace for some in every for uid, each in some.items()}
        return [uid for uid, where in found.items() if namespace is None or where == namespace]

    def drop(self, uid: str, key: JobKey, claim: Claim | None = None) -> None:
        """A job is gone; what it may have left behind stays claimed."""
        self._forget(uid)
        if claim is not None:
            self._departed[uid] = claim
        named = self._by_name.get(key[:2], {})
        if named.get(key[2]) == uid:
            del named[key[2]]
            if not named:
                del self._by_name[key[:2]]

    def claim(self, uid: str) -> Claim | None:
        """What a job may have in use by its own word."""
        return self._claims.get(uid) or self._departed.get(uid)

    def settled(self, version: int) -> list[str]:
        """UIDs of gone jobs whose pods are all known, as their watch has reached that version."""
        return [uid for uid, claim in self._departed.items() if claim.until <= version]

    def settle(self, uid: str) -> None:
        """Of a job that is gone the pods alone tell what it has in use."""
        self._departed.pop(uid, None)

    def put_pod(self, owner: str, pod: PodView) -> None:
        """A pod as it is now."""
        if not (owner in self._roots or owner in self._groups or self._is_seen(owner)):
            self._stray(owner, pod)
        self._groups.setdefault(self.root(owner), PodGroup()).put(pod)

    def drop_pod(self, owner: str, pod: PodView) -> None:
        """A pod that is gone."""
        root = self.root(owner)
        self._take(root, pod)
        if owner in self._strays and not any(owner_of(each) == owner for each in self._at(root)):
            self._strays.drop(owner)
            self._roots.pop(owner, None)
        if root != owner and owner not in self._kin and root not in self._groups:
            self._roots.pop(owner, None)

    def _is_seen(self, owner: str) -> bool:
        return owner in self._kin or self._is_known(owner)

    def _stray(self, owner: str, pod: PodView) -> None:
        """The first pod of an owner that was not seen, and perhaps never will be."""
        maker = maker_of(pod)
        if maker is not None and maker[0] in self._kinds:
            self._strays.put(owner, maker)
            self._relocate([owner])

    def _at(self, root: str) -> Iterable[PodView]:
        group = self._groups.get(root)
        return group.pods if group is not None else ()

    def _take(self, root: str, pod: PodView) -> None:
        group = self._groups.get(root)
        if group is not None:
            group.drop(pod.uid)
            if group.empty:
                del self._groups[root]

    def pods(self, uid: str) -> PodGroup | None:
        """The pods of a job; None if there are none."""
        return self._groups.get(uid)

    def put_unit(self, unit: QueueUnit) -> None:
        """A unit, found by its job's UID and by the job that it names."""
        self._units.put(unit)
        key = named_job(unit)
        if key is not None and key[0] in NAMESAKES and unit.attempts:
            self._relocate(self._strays.ran(key, holder_of(unit)))
        if of_unit(unit.key) in self._groups:
            self.put_child(of_unit(unit.key), holder_of(unit))

    def drop_unit(self, unit: QueueUnit) -> None:
        """A unit that is gone, or about to be put anew."""
        self._units.drop(unit)
        key = named_job(unit)
        if key is not None:
            self._strays.forget(key)

    def units_of(self, uid: str) -> list[QueueUnit]:
        """The units of a job: the one that stands for it first (spec 2.6)."""
        return self._units.of(uid)

    def units_naming(self, key: JobKey) -> list[QueueUnit]:
        """Units that name a job, whatever the UID."""
        return self._units.naming(key)

    def unit_of(self, uid: str, key: JobKey) -> QueueUnit | None:
        """The unit of a job: by UID, else one made by hand that names it without one."""
        units = self.units_of(uid)
        if units:
            return units[0]
        return next((each for each in self.units_naming(key) if not each.job_uid), None)

    def facts(self, unit: QueueUnit) -> JobFacts:
        """What of its job decides the unit's standing."""
        key = named_job(unit)
        uid = unit.job_uid or (self._by_name.get(key[:2], {}).get(key[2], "") if key else "")
        if key is None or key[0] not in self._kinds:
            return JobFacts()
        group = self._groups.get(uid)
        first = self.unit_of(uid, key)
        return JobFacts(
            missing=uid not in self._jobs,
            adopted=bool(unit.owner_uid),
            deleting=uid in self._deleting,
            lingering_pods=group is not None and group.lingering,
            other_unit=first.key if first is not None and first.key != unit.key else None,
        )

    def all_run(self, unit: QueueUnit) -> bool:
        """Whether all pods of a unit that holds grants run (spec 10.13).

        Of a kind that is not served here no pod may be known: whoever lets its job go says so.
        """
        pods, key = self._groups.get(holder_of(unit)), named_job(unit)
        if pods is None and unit.phase is Phase.RUNNING and (not key or key[0] not in self._kinds):
            return True
        return all_run(unit, pods)

    def orphan_quota(self, uid: str) -> str:
        """The quota that live pods name themselves, of a job that is gone or lost its unit.

        Foreground deletion takes the unit first and the job last, its pods in between. A job that
        was never queued is foreign. Empty if no pod names a quota.
        """
        group = self._groups.get(uid)
        if group is None:
            return ""
        is_foreign = not (group.owner_kinds & self._served) or uid in self._foreign
        if is_foreign and not self._counts_foreign:
            return ""
        return group.quota


def job_key(job: JobView) -> JobKey:
    """Under which hand-made units name it."""
    return (job.kind.kind, job.namespace, job.name)


def is_queued(job: JobView) -> bool:
    """Whether the job bears the marks of a queue: held at submit, or released by a manager once.

    When it is stopped the time of its release is emptied, and pods of it may still be there.
    """
    held = any(job.annotations.get(key) for key in keys.HAS_ENQUEUED_SPELLINGS)
    return held or not job.annotations.keys().isdisjoint(keys.DEQUEUE_TIMESTAMPS)
