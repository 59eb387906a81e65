"""The pods of one job, added up by deltas: how many live, how many run, what they ask."""

from collections import Counter
from collections.abc import Iterable, Mapping

from kq.core.demand import POD_OBJECTS
from kq.core.model import PodView
from kq.core.resources import ZERO, Resources, plain

PODS = "pods"


class PodGroup:
    """Pods with one owner. Stuck ones (spec 11.9a) are present, but do not count as live."""

    def __init__(self) -> None:
        self._pods: dict[str, PodView] = {}
        self._stuck: set[str] = set()
        self._live: dict[str, Resources] = {}
        self.started: Counter[str] = Counter()
        """By pod set: how many run or have succeeded."""
        self.charged = ""
        """The quota that their unit was charged to last, whatever their labels say."""
        self.labels: Mapping[str, str] = {}
        """Those of that unit, which say for what its pods count that it has left behind."""
        self.unit = ""
        """The key of that unit."""
        self.live = 0
        self.ending = 0
        self.running = 0
        self.running_in: Counter[str] = Counter()
        """By pod set: how many live ones run."""
        self.pending = 0

    def put(self, pod: PodView) -> None:
        """A pod as it is now; one that is stuck stays so."""
        stuck = pod.uid in self._stuck
        self.drop(pod.uid)
        self._pods[pod.uid] = pod
        self.started[pod.pod_set] += _has_started(pod)
        self._count(pod, 1)
        if stuck:
            self.set_stuck(pod.uid)

    def drop(self, uid: str) -> None:
        """A pod that is gone."""
        pod = self._pods.pop(uid, None)
        if pod is not None:
            self.started[pod.pod_set] -= _has_started(pod)
            self._count(pod, -1)
            self._stuck.discard(uid)

    def set_stuck(self, uid: str) -> bool:
        """A terminating pod whose time is over: it counts no more; whether it did till now."""
        pod = self._pods.get(uid)
        if pod is None or not pod.live or uid in self._stuck:
            return False
        self._count(pod, -1)
        self._stuck.add(uid)
        self._count(pod, 1)
        return True

    @property
    def empty(self) -> bool:
        """Whether no pod is left at all."""
        return not self._pods

    @property
    def lingering(self) -> bool:
        """Whether pods are live or stuck: no new run may start beside them (spec 10.7)."""
        return self.live > 0 or bool(self._stuck)

    @property
    def name(self) -> str:
        """The key of their unit; of one that was never seen, of who owns them."""
        owned = (f"{pod.namespace}/{pod.owner.name}" for pod in self._pods.values() if pod.owner)
        return self.unit or next(owned, "")

    @property
    def ends(self) -> bool:
        """Whether pods count, and all of them are about to end."""
        return 0 < self.live == self.ending

    @property
    def follows(self) -> bool:
        """Whether those that do not end yet go after those that do, as executors after a driver."""
        return self.ending > 0 or self.owner_kinds == {"Pod"}

    @property
    def by_pod_set(self) -> dict[str, Resources]:
        """By pod set, requests and number of live pods, and what others count for all the same."""
        return self._live

    @property
    def quota(self) -> str:
        """That their unit was charged to, else what the label of one names that counts, or none."""
        named = (pod.quota for pod in self._pods.values() if pod.quota and _is_counted(pod))
        return self.charged or next(named, "")

    @property
    def owner_kinds(self) -> set[str]:
        """The kinds of their owners."""
        return {pod.owner.kind for pod in self._pods.values() if pod.owner}

    @property
    def namespace(self) -> str:
        """Their namespace."""
        return next((pod.namespace for pod in self._pods.values()), "")

    @property
    def started_in_all(self) -> int:
        """How many run or have succeeded."""
        return self.started.total()

    def total(self) -> Resources:
        """The same of all."""
        total = ZERO
        for amount in self._live.values():
            total = total + amount
        return total

    @property
    def pods(self) -> Iterable[PodView]:
        """All of them."""
        return self._pods.values()

    def _count(self, pod: PodView, sign: int) -> None:
        if self._is_live(pod):
            self.live += sign
            if pod.deleted_at is not None:
                self.ending += sign
            if pod.phase == "Running":
                self.running += sign
                self.running_in[pod.pod_set] += sign
            else:
                self.pending += sign
        amount = self._counts_for(pod)
        if amount.is_zero:
            return
        before = self._live.get(pod.pod_set, ZERO)
        after = before + amount if sign > 0 else before - amount
        if after.is_zero:
            self._live.pop(pod.pod_set, None)
        else:
            self._live[pod.pod_set] = after

    def _is_live(self, pod: PodView) -> bool:
        return pod.live and pod.uid not in self._stuck

    def _counts_for(self, pod: PodView) -> Resources:
        """All that a live one asks; of another what counts as long as it is there."""
        if self._is_live(pod):
            return pod.request + Resources.of({PODS: 1})
        return Resources({name: n for name, n in pod.request.items() if plain(name) == POD_OBJECTS})


def _has_started(pod: PodView) -> bool:
    return pod.phase in ("Running", "Succeeded") and pod.deleted_at is None


def _is_counted(pod: PodView) -> bool:
    """Live, or an object that some quota may count."""
    return pod.live or any(plain(name) == POD_OBJECTS for name in pod.request)
