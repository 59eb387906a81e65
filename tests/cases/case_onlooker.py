"""Somebody who adds up after every change what is in use."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from api import Change, Json
from case_api import CaseApi, amount, cpu_of
from case_played import is_held

from kq.core.kinds import JOB, POD, QUEUE_UNIT

HOLDING = ("Reserved", "Dequeued", "Running")


@dataclass
class Onlooker:
    """What is in use after every change: grants, pods, and jobs that were let go."""

    api: CaseApi = field(repr=False)
    used: float = 0.0
    most: float = 0.0
    most_pods: float = 0.0
    samples: list[float] = field(default_factory=list, repr=False)
    granted: list[str] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._units: dict[str, tuple[str, float]] = {}
        self._pods: dict[str, tuple[str, float]] = {}
        self.api.listeners.append(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.kind is QUEUE_UNIT:
            self._note(self._units, change.key, granted_to(change.new))
        if change.kind is POD:
            self._note(self._pods, change.key, asked_by(change.new))
        if change.kind is JOB and change.old and change.new:
            match is_held(change.old), is_held(change.new):
                case True, False:
                    self.released.append(change.key)
                case False, True:
                    self.held.append(change.key)
        if change.kind is QUEUE_UNIT and holds(change.new) and not holds(change.old):
            self.granted.append(change.key)

    def _note(
        self, of: dict[str, tuple[str, float]], key: str, amount_of: tuple[str, float] | None
    ) -> None:
        """By the job's UID the larger of what its unit holds and what its pods ask is used."""
        of.pop(key, None)
        if amount_of is not None:
            of[key] = amount_of
        pods, held = by_job(self._pods), by_job(self._units)
        self.used = sum(max(held.get(uid, 0.0), pods.get(uid, 0.0)) for uid in held | pods)
        self.most = max(self.most, self.used)
        self.most_pods = max(self.most_pods, sum(pods.values()))
        self.samples.append(self.used)


def by_job(amounts: Mapping[str, tuple[str, float]]) -> dict[str, float]:
    """The sum of each job."""
    sums: dict[str, float] = {}
    for uid, each in amounts.values():
        sums[uid] = sums.get(uid, 0.0) + each
    return sums


def granted_to(unit: Json | None) -> tuple[str, float] | None:
    """The job of a unit, and the cpu that it was granted."""
    if unit is None or not holds(unit):
        return None
    granted = [each["resources"].get("cpu", 0) for each in unit["status"]["admissions"]]
    return unit["spec"]["consumerRef"]["uid"], sum(map(amount, granted))


def asked_by(pod: Json | None) -> tuple[str, float] | None:
    """The job of a live pod, and the cpu that it asks."""
    if pod is None or pod["status"]["phase"] in ("Succeeded", "Failed"):
        return None
    return pod["metadata"]["ownerReferences"][0]["uid"], cpu_of(pod["spec"])


def holds(unit: Json | None) -> bool:
    """Whether a unit says that it holds quota."""
    return unit is not None and unit.get("status", {}).get("phase") in HOLDING
