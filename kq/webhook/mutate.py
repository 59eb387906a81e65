"""What is answered to a job at its submit: it is held and marked, nothing else changes (spec 6)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kq.core import codec, keys, messages
from kq.core.kinds import Object
from kq.core.model import JobView, PodSet
from kq.core.patch import Operation, Patch, Path, patch_at
from kq.jobs.integration import JobIntegration
from kq.quota.resolve import is_label_value
from kq.settings import Settings
from kq.webhook import remarks, review
from kq.webhook.managed import Standing, World, asks_for_bypass, standing
from kq.webhook.review import Request, Response

Integrations = Mapping[tuple[str, str], JobIntegration]
"""The enabled kinds, by group and kind: a job is served in whatever version it comes."""

SERVICE_ACCOUNT = "system:serviceaccount:"
TEMPLATE_LABELS = ("metadata", "labels")


def mutate(
    request: Request,
    *,
    integrations: Integrations,
    world: World,
    settings: Settings,
    now: datetime,
) -> Response:
    """The answer to one request; a job that is not to be held goes through as it is."""
    integration = integrations.get((request.kind.group, request.kind.kind))
    if integration is None or request.object is None or not _concerns_us(request, settings):
        return review.allowed(request.uid)
    job = integration.view(request.object)
    match standing(request, job, world, settings):
        case Standing.UNTOUCHED:
            return review.allowed(request.uid)
        case Standing.BYPASSED:
            return _let_through(request, request.object)
    namespace = request.namespace or ""
    quota = world.quota_of(job.labels, namespace)
    if quota is None and settings.jobs.unmatchedJobs == "reject":
        return review.denied(request.uid, messages.m3(namespace))
    if quota is None and settings.jobs.unmatchedJobs == "ignore":
        return review.allowed(request.uid)
    held = _hold(request.object, integration.hold(request.object))
    marked = _mark(held, job.pod_sets, quota, settings, now)
    told = _remarks(request, job, quota, settings)
    return review.patched(request.uid, marked.operations, [*marked.warnings, *told])


def _concerns_us(request: Request, settings: Settings) -> bool:
    """Only new objects, and not those of the manager (spec 6.8, 6.9)."""
    creates = request.operation == "CREATE" and not request.sub_resource
    return creates and request.username != settings.manager_user


def _let_through(request: Request, job: Object) -> Response:
    """Says who let the job past the queue (spec 5.9)."""
    foreign = _keys_of_ours(_at(job, ("metadata", "annotations")), bypassed_by=request.username)
    annotations = {**dict.fromkeys(foreign), keys.BYPASSED_BY: request.username}
    operations = Patch({"metadata": {"annotations": annotations}}).to_json_patch(job)
    return review.patched(request.uid, operations, [remarks.w2(key) for key in foreign])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A job so far: as it has become, by which operations, with which warnings.

    `added` is what `koord-queue/injected` names (spec 6.7).
    """

    job: Object
    operations: Sequence[Operation]
    warnings: Sequence[str] = ()
    added: frozenset[str] = frozenset()


def _hold(job: Object, hold: Patch) -> _Change:
    """Keeps the job from starting (spec 8.3)."""
    operations = hold.to_json_patch(job)
    if not operations:
        return _Change(job=job, operations=())
    on_metadata = [each["path"].startswith("/metadata") for each in operations]
    added = {"annotation" if each else "suspend" for each in on_metadata}
    return _Change(job=hold.apply(job), operations=operations, added=frozenset(added))


def _mark(
    held: _Change,
    pod_sets: Sequence[PodSet],
    quota: str | None,
    settings: Settings,
    now: datetime,
) -> _Change:
    """Writes quota label, annotations and labels of templates, in the order of spec 6.2."""
    labels, annotations = (_at(held.job, ("metadata", part)) for part in ("labels", "annotations"))
    label = _label(labels, quota)
    templates = pod_sets if label and settings.webhook.labelPodTemplates else ()
    on_templates = [
        each for pod_set in templates for each in _on_template(held.job, pod_set, label)
    ]
    lacks_label = label is not None and labels.get(keys.QUOTA_LABEL) != label
    added = {"label": lacks_label, "pod-labels": bool(on_templates)}
    foreign = _keys_of_ours(annotations, bypassed_by=None)
    injected = held.added.union(name for name, is_added in added.items() if is_added)
    parts = {
        "labels": {keys.QUOTA_LABEL: label} if lacks_label else {},
        "annotations": dict.fromkeys(foreign) | _missing_marks(annotations, injected, now),
    }
    # An empty map would be written too, where there is none.
    written = Patch({"metadata": {part: values for part, values in parts.items() if values}})
    return _Change(
        job=held.job,
        operations=[*held.operations, *written.to_json_patch(held.job), *on_templates],
        warnings=[
            *_template_warnings(held.job, templates, label),
            *(remarks.w2(key) for key in foreign),
        ],
    )


def _label(labels: Mapping[str, Any], quota: str | None) -> str | None:
    """What the quota label is to say: what it says, else the quota if a label can (spec 5.5)."""
    present = labels.get(keys.QUOTA_LABEL)
    if isinstance(present, str) and present:
        return present
    return quota if quota and is_label_value(quota) else None


def _on_template(job: Object, pod_set: PodSet, label: str | None) -> list[Operation]:
    """The operations that make a pod template charge the quota of its job (spec 6.6)."""
    if not pod_set.path or not _at(job, pod_set.path):
        return []
    return patch_at(job, (*pod_set.path, *TEMPLATE_LABELS), {keys.QUOTA_LABEL: label})


def _template_warnings(job: Object, pod_sets: Sequence[PodSet], label: str | None) -> Iterator[str]:
    """W7 for each template that named another quota."""
    for pod_set in pod_sets:
        present = _at(job, (*pod_set.path, *TEMPLATE_LABELS)).get(keys.QUOTA_LABEL)
        if present and label and present != label:
            yield remarks.w7(pod_set.name, str(present), label)


def _missing_marks(
    annotations: Mapping[str, Any], added: Iterable[str], now: datetime
) -> dict[str, str]:
    """The annotations that mark a job as ours; present ones keep their values (spec 6.5)."""
    marks = {
        keys.HAS_ENQUEUED: "true",
        keys.ENQUEUE_TIMESTAMP: codec.format_time(now),
        keys.INJECTED: ",".join(sorted(added)),
    }
    return {key: value for key, value in marks.items() if annotations.get(key) is None}


def _keys_of_ours(annotations: Mapping[str, Any], *, bypassed_by: str | None) -> list[str]:
    """The keys in it that only koord-queue may write (spec 6.5, W2), bypassed-by the last."""
    foreign = sorted(keys.MANAGER_ONLY & annotations.keys())
    if keys.BYPASSED_BY in annotations and annotations[keys.BYPASSED_BY] != bypassed_by:
        foreign.append(keys.BYPASSED_BY)
    return foreign


def _remarks(
    request: Request, job: JobView, quota: str | None, settings: Settings
) -> Iterator[str]:
    """What the user is told: that it may not bypass, and that the job is held (spec 6.2a)."""
    if asks_for_bypass(job):
        yield remarks.w1(request.username)
    if not settings.webhook.announce or request.username.startswith(SERVICE_ACCOUNT):
        return
    if quota is None:
        yield messages.m3(request.namespace or "")
    else:
        yield remarks.w9(quota, job.name or request.name or "")


def _at(job: Object, path: Path) -> Mapping[str, Any]:
    """The map at that place; an empty one if there is none."""
    here: Any = job
    for segment in path:
        if isinstance(here, dict):
            here = here.get(segment)
        elif isinstance(here, list) and isinstance(segment, int) and segment < len(here):
            here = here[segment]
        else:
            return {}
    return here if isinstance(here, dict) else {}
