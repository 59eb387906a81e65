"""Who should have started by now, from the documented rules alone: it knows nothing of kq's cycles.

It looks at quiet moments: nothing was written for a while, and whatever went wrong was so long ago
that all has been tried again since. Where preemption or reclaim has set something aside nobody is
judged. Grants are judged at once: nobody may have passed one who has waited for some time, nor have
got what was closed to it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from history_onlooker import Onlooker, Share, is_over, thousandths

from kq.core import keys
from kq.core.kinds import JOB
from kq.sim.faults import Asked, Fault, Faults, Trouble

Object = dict[str, Any]

QUIET_SECONDS = 2.0
"""So long after the last write all that follows from it is decided, and written."""
RETRIED_SECONDS = 15.0
"""So long after a trouble that struck all has been tried again; 24.5 is for servers that work."""
PAUSE_SECONDS = (1.6, 60.0)
"""So long a watch may rest after its first failure, twice that after the next, and so on."""
SILENT_SECONDS = 400.0
"""So late is a watch given up that says nothing."""
STARTED_SECONDS = 10.0
"""So long a new manager may take."""
UNIT_SECONDS = 5.0
"""Within so many a job has a unit (spec 24.4)."""
PASS_SECONDS = 0.5
"""Within so many all grants of a pass are written."""
DEFAULT_THRESHOLD = 4
BESIDE = {"events", "leases", "configmaps", "priorityclasses", "runtimeclasses", "limitranges"}
"""Kinds of which nothing changes that decides anything in histories."""


class WatchedFaults(Faults):
    """Faults that know when one struck, and until when it may be felt."""

    def __init__(self, time: Callable[[], float]) -> None:
        super().__init__()
        self.felt_until = 0.0
        self._time = time
        self._failures: Counter[str] = Counter()

    def strike(self, asked: Asked, *troubles: Trouble) -> Fault | None:
        """Notes how long that will be felt."""
        fault = super().strike(asked, *troubles)
        if fault is not None:
            is_silent = fault.trouble is Trouble.STALLED and asked.plural not in BESIDE
            self.disturb(SILENT_SECONDS if is_silent else RETRIED_SECONDS + self._pause(asked))
        return fault

    def _pause(self, asked: Asked) -> float:
        """How long whoever watches these objects may rest now."""
        if asked.verb not in ("list", "watch"):
            return 0.0
        first, longest = PAUSE_SECONDS
        self._failures[asked.plural] += 1
        return min(longest, first * 2.0 ** (self._failures[asked.plural] - 1))

    def forget(self) -> None:
        """Whoever felt it is dead, and a new one begins to look."""
        self.felt_until = self._time()
        self._failures.clear()

    def disturb(self, seconds: float) -> None:
        """Something goes wrong that is felt for so long."""
        self.felt_until = max(self.felt_until, self._time() + seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiter:
    """A unit that waits for quota and nothing else."""

    name: str
    quota: str
    priority: int
    order: tuple[int, str, str]
    request: int
    changed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How units of one quota get their turns, as its ElasticQuota says."""

    policy: str
    threshold: int
    depth: int
    waits_for_pods: bool
    skips_impossible: bool

    def is_high(self, waiter: Waiter) -> bool:
        """Whether nobody of the same quota may pass it."""
        if self.policy == "Intelligent":
            return waiter.priority >= self.threshold
        return self.policy == "Block"


class Oracle:
    """Looks at what the onlooker knows, and notes with it who waits without need."""

    def __init__(self, onlooker: Onlooker, faults: WatchedFaults) -> None:
        self.judged = 0
        """How often somebody who waits was looked at in quiet."""
        self._onlooker = onlooker
        self._faults = faults
        self._seen_at = -1.0
        self._passed: list[tuple[float, Waiter, str]] = []
        onlooker.on_grant = self._saw_grant

    def look(self, now: float) -> None:
        """Once in each quiet while."""
        changed = self._onlooker.changed
        self._judge_passed(now)
        if not self._is_quiet(now) or changed == self._seen_at:
            return
        self._seen_at = changed
        for name in self._unqueued(now):
            self._onlooker.wrong(f"job {name} has no unit")
        for name, why in self._unevicted():
            self._onlooker.wrong(f"unit {name} holds quota: {why}")
        for quota in self._onlooker.quotas:
            for waiter, why in self._startable(quota):
                self._onlooker.wrong(f"unit {waiter.name} of {quota} fits and waits: {why}")

    def _is_quiet(self, now: float) -> bool:
        return now >= self._faults.felt_until and now >= self._onlooker.changed + QUIET_SECONDS

    def _unqueued(self, now: float) -> Iterator[str]:
        """Managed jobs that should have been seen by now."""
        for share in self._onlooker.shares.values():
            job = share.job
            if job is None or share.unit is not None or is_over(share.case, job):
                continue
            if now >= share.changed + UNIT_SECONDS and not is_leaving(job) and is_managed(job):
                yield job["metadata"]["name"]

    def _unevicted(self) -> Iterator[tuple[str, str]]:
        """Units that should have given back what they hold, or have begun to (spec 3.1, 9.18)."""
        for share in self._onlooker.shares.values():
            unit = share.unit
            if unit is None or not share.granted or share.leaving or not share.case.evictable:
                continue
            if share.inactive_since is not None:
                yield unit["metadata"]["name"], "it is inactive"
            elif self._onlooker.stops.get(share.quota) == "HoldAndDrain":
                yield unit["metadata"]["name"], "its Queue is drained"

    def _closed(self, quota: str) -> str:
        """Why nobody of a quota may start, whatever it has left (spec 3.1, 11.5, 15.4)."""
        known = self._onlooker.quotas
        if self._onlooker.stops.get(quota, "None") != "None":
            return "its Queue is stopped"
        for level in self._chain(quota):
            if level not in known:
                return f"there is no quota {level}"
        marks = known[quota]["metadata"].get("annotations") or {}
        return "its namespace may not" if keys.ALLOWED_NAMESPACES in marks else ""

    def _startable(self, quota: str) -> Iterator[tuple[Waiter, str]]:
        line = line_of(self._onlooker.quotas[quota])
        waiters = self._waiters(quota)
        self.judged += len(waiters)
        if self._gives_back(quota) or (line.waits_for_pods and self._is_unready(quota)):
            return
        high = self._tried_high(quota, line)
        low = [each for each in waiters if not line.is_high(each)]
        if line.depth and line.policy != "Intelligent":
            # Low ones of Intelligent are tried all, one part after the other (spec 10.12).
            low = low[: line.depth]
        if high and self._fits(high[0]):
            yield high[0], "it is the first of its quota"
        beside = high[0].request if high else 0
        for each in low:
            if self._fits(each, beside):
                yield each, f"policy {line.policy} lets it start"

    def _waiters(self, quota: str) -> list[Waiter]:
        if self._closed(quota):
            return []
        found = (waiter_of(share) for share in self._onlooker.shares.values())
        return sorted(
            (each for each in found if each is not None and each.quota == quota),
            key=lambda each: each.order,
        )

    def _gives_back(self, quota: str) -> bool:
        """Whether anybody in the tree is being evicted: for whom may only kq know.

        Where anybody takes, so it is with pods that end with no grant behind them (spec 13.6).
        """
        top, known = self._top(quota), self._onlooker.quotas
        takes = any(takes_from_others(known[each]) for each in known if self._top(each) == top)
        return any(
            (share.leaving or (takes and share.live and not share.granted))
            and self._top(share.quota) == top
            for share in self._onlooker.shares.values()
        )

    def _top(self, quota: str) -> str:
        return self._chain(quota)[-1]

    def _is_unready(self, quota: str) -> bool:
        """Whether one of the quota holds grants without all of its pods running (spec 10.13)."""
        return any(
            share.granted
            and share.quota == quota
            and len(share.running) + len(share.succeeded) < pods_of(share)
            for share in self._onlooker.shares.values()
        )

    def _is_possible(self, waiter: Waiter) -> bool:
        return all(waiter.request <= self._limit(level) for level in self._chain(waiter.quota))

    def _fits(self, waiter: Waiter, beside: int = 0) -> bool:
        """At every level, with what another one waits for as if that had it (spec 11.2, 10.11c)."""
        return all(
            self._used(level) + beside + waiter.request <= self._limit(level)
            for level in self._chain(waiter.quota)
        )

    def _used(self, level: str) -> int:
        shares = self._onlooker.shares.values()
        return sum(held(share) for share in shares if level in self._chain(share.quota))

    def _limit(self, level: str) -> int:
        return thousandths(self._onlooker.quotas[level]["spec"]["max"]["cpu"])

    def _chain(self, quota: str) -> Sequence[str]:
        parent = self._onlooker.parents.get(quota, "")
        return (quota, parent) if parent else (quota,)

    def _saw_grant(self, share: Share) -> None:
        """Nobody passes the first of its quota (10.10), but beside what that waits for (10.11c)."""
        now, quota = self._onlooker.changed, share.quota
        ruled = max(self._onlooker.ruled.get(level, 0.0) for level in self._chain(quota))
        if share.unit is None or now < max(self._faults.felt_until, ruled + QUIET_SECONDS):
            return
        if share.released:
            return  # its unit was lost, and is made again as what it is (5.12)
        self._judge_granted(share, now)
        if quota not in self._onlooker.quotas:
            return
        line = line_of(self._onlooker.quotas[quota])
        first = self._first(quota, line)
        if first is None or first.order > order_of(share.unit) or self._gives_back(quota):
            return
        is_low = line.policy == "Intelligent" and priority_of(share.unit) < line.threshold
        room = self._limit(quota) - self._used(quota)
        if now >= first.changed + QUIET_SECONDS and not (is_low and room >= first.request):
            self._passed.append((now, first, share.unit["metadata"]["name"]))

    def _judge_granted(self, share: Share, now: float) -> None:
        """What is taken back may be left to who has it; all else is granted as the rules allow."""
        why = "" if share.kept else self._closed(share.quota)
        since = share.inactive_since
        if since is not None and now >= since + QUIET_SECONDS:
            why = "it is inactive"
        if why and share.unit is not None:
            self._onlooker.wrong(f"unit {share.unit['metadata']['name']} was granted: {why}")

    def _judge_passed(self, now: float) -> None:
        """Grants of one pass are written side by side: the first may be told last."""
        old = [each for each in self._passed if now >= each[0] + PASS_SECONDS]
        self._passed = [each for each in self._passed if each not in old]
        for _, first, name in old if now >= self._faults.felt_until else ():
            if first in self._waiters(first.quota):
                self._onlooker.wrong(f"unit {name} of {first.quota} has passed {first.name}")

    def _first(self, quota: str, line: Line) -> Waiter | None:
        """The one that nobody may pass; those that can never start, or are not tried, may be."""
        high = self._tried_high(quota, line)
        return high[0] if high else None

    def _tried_high(self, quota: str, line: Line) -> list[Waiter]:
        """Who is tried of those that bar others, in order, without those that bar nobody."""
        high = [each for each in self._waiters(quota) if line.is_high(each)]
        if line.depth > 0:
            high = high[: line.depth]
        if line.skips_impossible:
            high = [each for each in high if self._is_possible(each)]
        return high


def takes_from_others(quota: Object) -> bool:
    """Whether its units may have others give something back (spec 13.1, 13.9, 13.12)."""
    said = quota["metadata"].get("annotations") or {}
    wanted = (keys.ENABLE_PREEMPTION[0], keys.WAIT_FOR_PODS[0])
    return any(said.get(key) == "true" for key in wanted) or (
        said.get(keys.RECLAIM[0], "Never") != "Never"
    )


def line_of(quota: Object) -> Line:
    """The rules of spec 10 as labels and annotations of an ElasticQuota tell them."""
    meta = quota["metadata"]
    labels, said = meta.get("labels") or {}, meta.get("annotations") or {}
    return Line(
        policy=labels.get(keys.POLICY_LABELS[0], "Priority"),
        threshold=int(said.get(keys.THRESHOLD[0], DEFAULT_THRESHOLD)),
        depth=int(said.get(keys.MAX_DEPTH[0], 0)),
        waits_for_pods=said.get(keys.WAIT_FOR_PODS[0]) == "true",
        skips_impossible=said.get(keys.SKIP_IMPOSSIBLE[0]) == "true",
    )


def waiter_of(share: Share) -> Waiter | None:
    """A unit in line, its job held and without pods (spec 10.7)."""
    unit, job = share.unit, share.job
    if unit is None or job is None or share.live:
        return None
    spec, phase = unit["spec"], unit.get("status", {}).get("phase") or "Enqueued"
    quota = unit["metadata"]["labels"].get(keys.QUOTA_LABEL, "")
    is_in_line = phase == "Enqueued" and spec.get("active", True) and bool(spec.get("podSet"))
    is_held = share.case.is_held(job) and not is_over(share.case, job)
    if is_leaving(unit) or is_leaving(job) or not (is_in_line and is_held) or quota != share.named:
        return None
    return Waiter(
        name=unit["metadata"]["name"],
        quota=quota,
        priority=priority_of(unit),
        order=order_of(unit),
        request=share.wanted - done(share),
        changed=share.changed,
    )


def held(share: Share) -> int:
    """What it has in use: grants of other kinds than Job stay whole when some of its pods end."""
    if share.granted or share.released:
        return max(share.wanted - done(share), sum(share.live.values()))
    return sum(share.live.values())


def done(share: Share) -> int:
    """What a Job needs no more, as so many of its pods have succeeded (spec 8.2)."""
    return sum(share.succeeded.values()) if share.case.kind == JOB else 0


def pods_of(share: Share) -> int:
    """How many pods it has when all are there."""
    is_job = share.case.kind == JOB and share.job is not None
    return int(share.job["spec"]["parallelism"]) if is_job else share.case.pods


def priority_of(unit: Object) -> int:
    return int(unit["spec"].get("priority") or 0)


def order_of(unit: Object) -> tuple[int, str, str]:
    """Spec 10.4."""
    meta = unit["metadata"]
    created = meta.get("annotations", {}).get(keys.JOB_CREATION) or meta["creationTimestamp"]
    return (-priority_of(unit), created, f"{meta['namespace']}/{meta['name']}")


def is_leaving(obj: Object) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def is_managed(job: Object) -> bool:
    """Whether it is no part of another job (spec 5.6)."""
    return not job["metadata"].get("ownerReferences")
