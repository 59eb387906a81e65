"""Sees what happens on the API server, and adds up which GPUs are in use."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from kq.core.kinds import POD, QUEUE_UNIT
from kq.core.messages import S1
from kq.core.model import Phase
from kq.show.cast import Cast, Role
from kq.show.happenings import (
    Finishes,
    Happening,
    Moment,
    Run,
    Starts,
    Stopped,
    Submitted,
    Waits,
)
from kq.show.kinds import KINDS, Owners, gpus_of, key_of, kinds_of
from kq.sim.api.storage import Change, Event, Storage

Tell = Callable[[Moment], None]
WINNER = re.compile(r" by (\S+) for ")
"""Names in kq's words the unit that takes from another one."""


class Onlooker:
    """Believes pods and operators, not kq: what is in use is what pods have that have not ended."""

    def __init__(
        self, storage: Storage, cast: Cast, *, clock: Callable[[], datetime], tell: Tell
    ) -> None:
        self.runs = {(each.kind, each.team, each.name): Run(role=each) for each in cast.roles}
        self._by_uid: dict[str, Run] = {}
        self._by_unit: dict[str, Run] = {}
        self._usage: Counter[str] = Counter()
        self._owners = Owners()
        self._cast = cast
        self._storage = storage
        self._clock = clock
        self._tell = tell
        for kind in (*kinds_of(cast), QUEUE_UNIT, POD):
            self._follow(key_of(kind))

    def tell(self, what: Happening) -> None:
        """Something happened now."""
        usage = {name: self._usage[name] for name in self._cast.limits}
        self._tell(Moment(at=self._clock(), usage=usage, what=what))

    def _follow(self, key: str) -> None:
        def wake() -> None:
            # This is called at once after each write: what is new is one event.
            for event in self._storage.events_since(key, self._storage.version - 1):
                self._see(event)

        self._storage.subscribe(key, wake)

    def _see(self, event: Event) -> None:
        obj, gone = event.stored.read(), event.change is Change.DELETED
        uid = self._owners.job_of(obj)
        run = self._by_uid.get(uid)
        if run is None and uid == event.stored.uid:
            run = self.runs.get((obj["kind"], event.stored.namespace, event.stored.name))
        if run is None:
            return
        self._by_uid[uid] = run
        for happening in self._read(run, obj, gone):
            self.tell(happening)

    def _read(self, run: Run, obj: dict[str, Any], gone: bool) -> Iterator[Happening]:
        match obj["kind"]:
            case QUEUE_UNIT.kind:
                yield from self._unit(run, obj, gone)
            case POD.kind:
                yield from self._pod(run, obj, gone)
            case run.role.kind:
                yield from self._job(run, obj, gone)

    def _job(self, run: Run, job: dict[str, Any], gone: bool) -> Iterator[Happening]:
        if run.submitted is None:
            run.submitted = run.waits_since = self._clock()
            yield Submitted(run.role)
        run.has_ended = run.has_ended or gone or KINDS[run.role.kind].has_ended(job)
        yield from self._progress(run)

    def _unit(self, run: Run, unit: dict[str, Any], gone: bool) -> Iterator[Happening]:
        self._by_unit["/".join((unit["metadata"]["namespace"], unit["metadata"]["name"]))] = run
        status = unit.get("status") or {}
        run.phase = "" if gone else status.get("phase", "")
        yield from self._stop(run, status)
        reason = status.get("message", "")
        # A reason that comes back is no news to whoever reads along.
        is_news = reason not in ("", *run.reasons) and not reason.startswith(S1)
        if run.phase == Phase.ENQUEUED and is_news:
            run.reasons.append(reason)
            yield Waits(run.role, reason)

    def _stop(self, run: Run, status: dict[str, Any]) -> Iterator[Happening]:
        """What it is when kq begins to take its grants back."""
        conditions = {each["type"]: each for each in status.get("conditions") or ()}
        mark = conditions.get("Evicted", {})
        was_leaving, run.is_leaving = run.is_leaving, mark.get("status") == "True"
        if not run.is_leaving or was_leaving:
            return
        run.stops.append(mark["reason"])
        run.leaving = set(run.live)
        run.waits_since = run.waits_since or self._clock()
        named = WINNER.search(mark.get("message", ""))
        winner = self._by_unit.get(named[1]) if named else None
        yield Stopped(run.role, mark["reason"], winner.role if winner else None)

    def _pod(self, run: Run, pod: dict[str, Any], gone: bool) -> Iterator[Happening]:
        uid, phase, gpus = (
            pod["metadata"]["uid"],
            (pod.get("status") or {}).get("phase"),
            gpus_of(pod),
        )
        if not gpus:
            return
        had = uid in run.live
        if gone or phase in ("Succeeded", "Failed"):
            run.live.pop(uid, None)
        else:
            run.live[uid] = phase == "Running"
        for quota in (run.role.team, self._cast.lab.name):
            self._usage[quota] += ((uid in run.live) - had) * gpus
        yield from self._progress(run)

    def _progress(self, run: Run) -> Iterator[Happening]:
        running = sum(runs for uid, runs in run.live.items() if uid not in run.leaving)
        if run.waits_since is not None and running == run.role.pods:
            waited = self._clock() - run.waits_since
            run.waited += waited
            run.waits_since, run.runs_since = None, self._clock()
            yield Starts(run.role, waited, self._passed(run), is_again=bool(run.stops))
        if run.finished is None and run.has_ended and not run.live:
            run.finished = self._clock()
            yield Finishes((run.role,))

    def _passed(self, run: Run) -> tuple[Role, ...]:
        return tuple(
            each.role
            for each in self.runs.values()
            if each.waits_since and each.role.team == run.role.team and each.role.at < run.role.at
        )
