"""Whether all jobs of a history have come to their ends, and why one has not."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from history_kinds import ONE_JOB, case_of
from history_quotas import PARENTS
from history_steps import Govern, Submit
from kind_cases import KindCase

from kq.core import keys
from kq.core.kinds import QUEUE_UNIT
from kq.kube.client import Client
from kq.kube.errors import NotFound

Object = dict[str, Any]

LOOK_SECONDS = 5.0
STRICT = ("Block", "Intelligent")


@dataclass(slots=True)
class Team:
    """What persons know: their jobs, and what their quotas are like now."""

    limits: dict[str, int]
    rules: dict[str, Govern] = field(default_factory=dict)
    kept: dict[str, Submit] = field(default_factory=dict)
    """Jobs that nobody has deleted."""

    def is_too_large(self, job: Object) -> bool:
        """Whether a job asks for more than its quota, or the parent of that, has at all."""
        step = self.kept[job["metadata"]["name"]]
        quota = quota_of(job)
        levels = [quota, PARENTS.get(quota, quota)]
        return step.pods * step.cpu > min(self.limits[level] for level in levels)

    def holds_back(self, first: Object, job: Object) -> bool:
        """Whether a job that can never start keeps another one from its turn, as is documented."""
        rule = self.rules.get(quota_of(job))
        if rule is None or quota_of(first) != quota_of(job) or turn(first) >= turn(job):
            return False
        if rule.max_depth:
            return True
        high = rule.policy == "Block" or priority_of(first) >= rule.threshold
        return rule.policy in STRICT and high and not rule.skips_impossible


class Ends:
    """A person who asks for all jobs again and again."""

    def __init__(self, client: Client, team: Team, namespace: str) -> None:
        self._client = client
        self._team = team
        self._namespace = namespace

    async def wait(self, deadline: float) -> list[str]:
        """What still has not ended when it is late; nothing, as soon as all has."""
        loop = asyncio.get_running_loop()
        waiting = ["nobody has looked yet"]
        while waiting and loop.time() < deadline:
            await asyncio.sleep(LOOK_SECONDS)
            waiting = await self._look()
        return waiting

    async def _look(self) -> list[str]:
        lost, jobs = [], []
        for name, step in list(self._team.kept.items()):
            try:
                jobs.append(await self._client.get(case_of(step.kind).kind, name, self._namespace))
            except NotFound:
                lost.append(f"job {name} is lost")
        hopeless = [job for job in jobs if self._team.is_too_large(job) and not is_over(job)]
        return [*lost, *[text for job in jobs if (text := await self._waits(job, hopeless))]]

    async def _waits(self, job: Object, hopeless: list[Object]) -> str:
        """Why a job has not ended; empty if it has, or never will."""
        name = job["metadata"]["name"]
        case = case_of(job["kind"])
        if is_over(job):
            return self._miscount(job) if case is ONE_JOB else ""
        if case.is_ended is None and job.get("status", {}).get("state") == "ready":
            del self._team.kept[name]
            await self._client.delete(case.kind, name, self._namespace)
            return f"job {name} was only just deleted"
        return await self._reason(job, case, hopeless)

    def _miscount(self, job: Object) -> str:
        name = job["metadata"]["name"]
        pods = job["status"].get("succeeded", 0)
        wanted = self._team.kept[name].pods
        return "" if pods == wanted else f"job {name} ran {pods} pods, not {wanted}"

    async def _reason(self, job: Object, case: KindCase, hopeless: list[Object]) -> str:
        name = job["metadata"]["name"]
        try:
            unit = await self._client.get(QUEUE_UNIT, name + case.suffix, self._namespace)
        except NotFound:
            return f"job {name} has not ended and has no unit"
        status = unit.get("status", {})
        if str(status.get("message")).startswith("cannot start: "):
            return "" if job in hopeless else f"job {name} would fit, but is told not to"
        held = status.get("phase") in (None, "Enqueued")
        if held and any(self._team.holds_back(each, job) for each in hopeless):
            return ""
        return f"job {name} has not ended: {status.get('phase')}: {status.get('message')}"


def is_over(job: Object) -> bool:
    """By the word of its own status."""
    ends = case_of(job["kind"]).is_ended
    return ends is not None and bool(ends(job))


def quota_of(job: Object) -> str:
    return str(job["metadata"]["labels"][keys.QUOTA_LABEL])


def priority_of(job: Object) -> int:
    return int(job["metadata"]["annotations"][keys.PRIORITY])


def turn(job: Object) -> tuple[int, str, str]:
    """Smaller goes first."""
    meta = job["metadata"]
    return (-priority_of(job), meta["creationTimestamp"], meta["name"])
