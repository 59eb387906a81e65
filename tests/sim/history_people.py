"""The persons of a history: those whose jobs they are, and an administrator."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import msgspec
from ground import path
from history_ends import Team
from history_kinds import ONE_JOB, case_of
from history_manifests import job, other_manifest, played, quota_manifest, words_of
from history_quotas import QUOTAS
from history_steps import (
    Bar,
    Deactivate,
    Delete,
    DeleteUnit,
    Drop,
    Govern,
    Limit,
    LosePods,
    Move,
    Pause,
    Reorder,
    Step,
    Stop,
    Submit,
)
from kind_cases import KindCase
from world import INSTALLED_IN

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA, POD, QUEUE, QUEUE_UNIT
from kq.kube.client import Client
from kq.sim.api.call import Request
from kq.sim.api.server import ApiServer

AT_ONCE = json.dumps({"gracePeriodSeconds": 0}).encode()
FAIL_WITHOUT_PODS = ("JobSet", "SparkApplication", "TrainJob", "Workflow")
"""Kinds whose jobs fail for good as soon as a pod is lost, where a history waits for their end."""
ELSEWHERE = "elsewhere"
"""The one namespace that may use a quota which is barred."""


class People:
    """They see objects on the API server, and do to them what a history says."""

    def __init__(self, client: Client, server: ApiServer, team: Team, namespace: str) -> None:
        self.webhook_up = asyncio.Event()
        self.webhook_up.set()
        self.submits = asyncio.Lock()
        """Held by a submit that only the webhook can hold back, and while that is down."""
        self._client = client
        self._server = server
        self._team = team
        self._namespace = namespace
        self._cases: dict[str, KindCase] = {}

    async def make_quotas(self) -> None:
        """All of them, as they are at first."""
        for name in QUOTAS:
            await self._make_quota(name)

    async def act(self, step: Step) -> None:
        """Does it; NotFound if what it is done to is not there."""
        match step:
            case Limit() | Govern() | Stop() | Bar() | Drop():
                await self._administer(step)
            case Submit():
                await self._submit(step)
            case LosePods(name=name):
                await self._lose_pods(name)
            case _:
                await self._edit(step)

    async def _administer(self, step: Limit | Govern | Stop | Bar | Drop) -> None:
        name = step.quota
        match step:
            case Limit(cpu=cpu):
                self._team.limits[name] = cpu
                await self._patch_quota(name, {"spec": {"max": {"cpu": str(cpu)}}})
            case Govern():
                self._team.rules[name] = step
                await self._patch_quota(name, {"metadata": words_of(step)})
            case Stop(policy=policy, seconds=seconds):
                await self._stop(name, policy)
                await asyncio.sleep(seconds)
                await self._stop(name, "None")
            case Bar(seconds=seconds):
                await self._bar(name, ELSEWHERE)
                await asyncio.sleep(seconds)
                await self._bar(name, None)
            case Drop(seconds=seconds):
                await self._client.delete(ELASTIC_QUOTA, name, self._namespace)
                await asyncio.sleep(seconds)
                await self._make_quota(name)

    async def _patch_quota(self, name: str, patch: Mapping[str, Any]) -> None:
        await self._client.merge_patch(ELASTIC_QUOTA, name, self._namespace, patch)

    async def _make_quota(self, name: str) -> None:
        body = quota_manifest(name, self._team.limits[name], self._team.rules.get(name))
        await self._client.create(ELASTIC_QUOTA, body, self._namespace)

    async def _bar(self, name: str, allowed: str | None) -> None:
        marks = {"annotations": {keys.ALLOWED_NAMESPACES: allowed}}
        await self._patch_quota(name, {"metadata": marks})

    async def _stop(self, quota: str, policy: str) -> None:
        patch = {"spec": {"stopPolicy": policy}}
        await self._client.merge_patch(QUEUE, quota, INSTALLED_IN, patch)

    async def _edit(self, step: Step) -> None:
        """What is done to a job, or to its unit."""
        match step:
            case Delete(name=name):
                self._team.kept.pop(name, None)
                await self._client.delete(self._case(name).kind, name, self._namespace)
            case Reorder(name=name, priority=priority):
                await self._mark(name, {"annotations": {keys.PRIORITY: str(priority)}})
            case Move(name=name, quota=quota):
                await self._mark(name, {"labels": {keys.QUOTA_LABEL: quota}})
            case Deactivate(name=name, seconds=seconds):
                await self._mark(name, {"annotations": {keys.ACTIVE: "false"}})
                await asyncio.sleep(seconds)
                await self._mark(name, {"annotations": {keys.ACTIVE: "true"}})
            case Pause(name=name, seconds=seconds):
                await self._activate(name, False)
                await asyncio.sleep(seconds)
                await self._activate(name, True)
            case DeleteUnit(name=name):
                await self._client.delete(QUEUE_UNIT, self._unit(name), self._namespace)

    async def _mark(self, name: str, meta: Mapping[str, Any]) -> None:
        kind = self._case(name).kind
        await self._client.merge_patch(kind, name, self._namespace, {"metadata": meta})

    async def _activate(self, name: str, active: bool) -> None:
        patch = {"spec": {"active": active}}
        await self._client.merge_patch(QUEUE_UNIT, self._unit(name), self._namespace, patch)

    async def _lose_pods(self, job: str) -> None:
        """As a cluster clears up after a node that does not come back."""
        if self._case(job).kind.kind in FAIL_WITHOUT_PODS:
            return
        listed = msgspec.json.decode(await self._client.list_page(POD, self._namespace))
        for pod in listed["items"]:
            name = pod["metadata"]["name"]
            if name.startswith(f"{job}-"):
                place = path(POD, self._namespace, name)
                await self._server.serve(Request(method="DELETE", path=place, body=AT_ONCE))

    def _case(self, name: str) -> KindCase:
        # Some things are done to a job before it is submitted, and find none.
        return self._cases.get(name, ONE_JOB)

    def _unit(self, name: str) -> str:
        return name + self._case(name).suffix

    async def _submit(self, step: Submit) -> None:
        case = case_of(step.kind)
        alone = case is ONE_JOB and not self.webhook_up.is_set()
        # Only the webhook knows where an operator's jobs are held.
        async with nullcontext() if alone else self.submits:
            body = job(step, alone=alone) if case is ONE_JOB else other_manifest(step, case)
            for kind, needed in case.needs(step.name, played(step)):
                await self._client.create(kind, needed, self._namespace)
            self._team.kept[step.name], self._cases[step.name] = step, case
            await self._client.create(case.kind, body, self._namespace)
