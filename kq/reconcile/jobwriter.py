"""What is written to jobs: by kind, and where needed from the whole job (spec 8.3, 8.5, 8.8)."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import structlog

from kq.core import codec, keys
from kq.core.checks import ready
from kq.core.kinds import JOB, Object
from kq.core.model import JobView, QueueUnit
from kq.core.patch import Patch
from kq.decide.actions import (
    AddToPods,
    FreeNodes,
    HoldJob,
    LetEnd,
    PatchJob,
    ReleaseJob,
    ShowWaiting,
    TakeFromPods,
)
from kq.decide.updates import needs_adding
from kq.jobs.argonodes import released_nodes
from kq.jobs.integration import JobIntegration
from kq.jobs.podlabels import is_still_active, label_patch
from kq.jobs.podupdates import clash_of, with_updates, without_updates
from kq.jobs.queuing import dequeued_patch, waiting_patch
from kq.kube.client import Client
from kq.kube.errors import ApiError, Conflict, Invalid

log = structlog.get_logger()

JobWrite = (
    HoldJob | ReleaseJob | PatchJob | LetEnd | ShowWaiting | FreeNodes | AddToPods | TakeFromPods
)
ANEW = Patch({"status": {"startTime": None}})


class JobWriter:
    """Patches jobs, each on the version of it that was decided on."""

    def __init__(
        self,
        *,
        client: Client,
        integrations: Mapping[str, JobIntegration],
        clock: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._integrations = integrations
        self._clock = clock

    async def write(self, action: JobWrite) -> bool:
        """Writes it; whether there was anything to write."""
        job = action.job
        whole = await self._read(job) if _needs_whole(action) else {}
        match action:
            case ShowWaiting():
                return await self._patch_status(job, whole, waiting_patch(whole, self._clock()))
            case AddToPods(unit=unit):
                added = with_updates(job, whole, ready(unit.checks), unit.attempts)
                await self._change_pods(job, whole, added)
            case TakeFromPods():
                await self._change_pods(job, whole, without_updates(job, whole))
            case ReleaseJob():
                await self._release(action, whole)
            case HoldJob() if job.half_held:
                await self._hold_in_full(action)
            case _:
                patch = self._patch_of(action, whole)
                if patch is None:
                    return False
                await self._patch(job, patch, job.resource_version)
        return True

    def _patch_of(
        self, action: FreeNodes | LetEnd | PatchJob | HoldJob, whole: Object
    ) -> Patch | None:
        integration = self._integrations[action.job.kind.kind]
        match action:
            case FreeNodes():
                return released_nodes(whole, self._clock())
            case LetEnd():
                return integration.resume(whole, (), self._clock())
            case PatchJob(patch=body):
                return Patch(body)
            case HoldJob():
                return self._held(action, whole)

    def _held(self, action: HoldJob, whole: Object) -> Patch:
        suspended = self._integrations[action.job.kind.kind].suspend(whole)
        return _marks(action.annotations, action.labels).merged(suspended)

    async def _hold_in_full(self, action: HoldJob) -> None:
        """Somebody took the field out, or the CRD drops it: then it can be held in no way."""
        job, integration = action.job, self._integrations[action.job.kind.kind]
        held = await self._send(job, self._held(action, {}), job.resource_version)
        if integration.view(held, templates=False).half_held:
            raise Invalid("the API server drops the field that suspends it", code=422)

    async def clash_of(self, job: JobView, unit: QueueUnit) -> str:
        """Why what its checks want cannot be added to the job's pods; empty if it can."""
        return clash_of(job, await self._read(job), ready(unit.checks))

    async def _change_pods(
        self, job: JobView, whole: Object, patch: Patch, version: str = ""
    ) -> None:
        version = await self._renewed(job, whole, version or job.resource_version)
        await self._patch(job, patch, version)

    async def _renewed(self, job: JobView, whole: Object, version: str) -> str:
        """API servers take no other pod template of a Job that has a start (spec 8.10)."""
        if job.kind == JOB and codec.mapping(whole, "status").get("startTime"):
            return _version(await self._send(job, ANEW, version, "status"))
        return version

    async def _release(self, action: ReleaseJob, whole: Object) -> None:
        """Conditions first: left saying that it waits, it would say so at each restart."""
        job, version = action.job, action.job.resource_version
        released_at = datetime.fromisoformat(action.released_at)
        if job.queuing:
            shown = dequeued_patch(whole, released_at)
            if shown is not None:
                version = _version(await self._send(job, shown, version, "status"))
        if action.pod_label:
            version, whole = await self._label_pods(action, whole, version)
        integration = self._integrations[job.kind.kind]
        resumed = integration.resume(whole, action.unit.grants, released_at)
        released = _marks({keys.DEQUEUE_TIMESTAMP: action.released_at}).merged(resumed)
        if not needs_adding(job, action.unit):
            await self._patch(job, released, version)
            return
        added = with_updates(job, whole, ready(action.unit.checks), action.unit.attempts)
        await self._change_pods(job, whole, added.merged(released), version)

    async def _label_pods(
        self, action: ReleaseJob, whole: Object, version: str
    ) -> tuple[str, Object]:
        """A write of its own, before the job is let go: Trainer takes it of held jobs alone.

        Without it only the manager knows whose quota they use, so a refusal keeps nobody waiting.
        """
        job = action.job
        patch = label_patch(job, whole, action.pod_label)
        if patch is None:
            return version, whole
        if is_still_active(job, whole):
            raise Conflict(f"{job.kind.kind} {job.key} is about to say that it stopped", code=409)
        version = await self._renewed(job, whole, version)
        try:
            labelled = await self._send(job, patch, version)
        except ApiError as err:
            if not err.is_final:
                raise
            log.warning("pods will not name their quota", job=job.key, error=str(err))
            return version, whole
        return _version(labelled), labelled

    async def _patch_status(self, job: JobView, whole: Object, patch: Patch | None) -> bool:
        if patch is None:
            return False
        await self._send(job, patch, job.resource_version, "status")
        return True

    async def _patch(self, job: JobView, patch: Patch, version: str) -> None:
        await self._client.merge_patch(
            job.kind,
            job.name,
            job.namespace,
            patch.body,
            resource_version=version,
            uid=job.uid,
            into=bytes,
        )

    async def _send(
        self, job: JobView, patch: Patch, version: str, subresource: str | None = None
    ) -> Object:
        return await self._client.merge_patch(
            job.kind,
            job.name,
            job.namespace,
            patch.body,
            subresource=subresource,
            resource_version=version,
            uid=job.uid,
        )

    async def _read(self, job: JobView) -> Object:
        """The whole job, as it was decided on; Conflict if it has changed since."""
        found = await self._client.get(job.kind, job.name, job.namespace)
        if _version(found) != job.resource_version:
            raise Conflict(f"{job.kind.kind} {job.key} has changed", code=409)
        return found


def _needs_whole(action: JobWrite) -> bool:
    match action:
        case ShowWaiting() | FreeNodes() | LetEnd() | AddToPods() | TakeFromPods():
            return True
        case ReleaseJob(job=job, unit=unit, pod_label=label):
            return job.whole or bool(job.queuing) or bool(label) or needs_adding(job, unit)
        case HoldJob(job=job):
            return job.whole
        case _:
            return False


def _version(body: Object) -> str:
    return str(body["metadata"]["resourceVersion"])


def _marks(annotations: Mapping[str, str | None], labels: Mapping[str, str] | None = None) -> Patch:
    """What is written on a job beside its hold fields."""
    meta: dict[str, Any] = {"annotations": dict(annotations)}
    if labels:
        meta["labels"] = dict(labels)
    return Patch({"metadata": meta})
