"""What is written to jobs: by kind, and where needed from the whole job (spec 8.3, 8.5, 8.8)."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from kq.core import keys
from kq.core.kinds import Object
from kq.core.model import JobView
from kq.core.patch import Patch
from kq.decide.actions import FreeNodes, HoldJob, LetEnd, PatchJob, ReleaseJob, ShowWaiting
from kq.jobs.argonodes import released_nodes
from kq.jobs.integration import JobIntegration
from kq.jobs.queuing import dequeued_patch, waiting_patch
from kq.kube.client import Client
from kq.kube.errors import Conflict

JobWrite = HoldJob | ReleaseJob | PatchJob | LetEnd | ShowWaiting | FreeNodes


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
            case FreeNodes():
                patch = released_nodes(whole, self._clock())
            case LetEnd():
                patch = self._integrations[job.kind.kind].resume(whole, (), (), self._clock())
            case PatchJob(patch=body):
                patch = Patch(body)
            case HoldJob(annotations=annotations, labels=labels):
                held = self._integrations[job.kind.kind].suspend(whole)
                patch = _marks(annotations, labels).merged(held)
            case ReleaseJob():
                return await self._release(action, whole)
        if patch is None:
            return False
        await self._patch(job, patch, job.resource_version)
        return True

    async def _release(self, action: ReleaseJob, whole: Object) -> bool:
        """Conditions first: left saying that it waits, it would say so at each restart."""
        job, version = action.job, action.job.resource_version
        released_at = datetime.fromisoformat(action.released_at)
        if job.queuing:
            shown = dequeued_patch(whole, released_at)
            if shown is not None:
                version = _version(await self._send(job, shown, version, "status"))
        integration = self._integrations[job.kind.kind]
        resumed = integration.resume(whole, action.unit.grants, (), released_at)
        marks = _marks({keys.DEQUEUE_TIMESTAMP: action.released_at})
        await self._patch(job, marks.merged(resumed), version)
        return True

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

    async def _send(self, job: JobView, patch: Patch, version: str, subresource: str) -> Object:
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
        case ShowWaiting() | FreeNodes() | LetEnd():
            return True
        case ReleaseJob(job=job):
            return job.whole or bool(job.queuing)
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
