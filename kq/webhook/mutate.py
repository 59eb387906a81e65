"""What is answered to a job at its submit: it is held and marked, nothing else changes (spec 6)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from kq.core import codec, keys, messages
from kq.core.kinds import Object
from kq.core.model import JobView, PodSet
from kq.core.patch import Operation, Patch, Path, escaped, patch_at
from kq.core.priority import parse_int32
from kq.decide.remarks import unreadable, wrong_priority
from kq.decide.unitspec import suffix_of
from kq.jobs.injected import injected
from kq.jobs.integration import JobIntegration
from kq.jobs.remarks import min_resources_missing, r8
from kq.settings import Settings
from kq.webhook import remarks, review
from kq.webhook.managed import Standing, World, asks_for_bypass, standing
from kq.webhook.review import Request, Response

Integrations = Mapping[tuple[str, str], JobIntegration]
"""The enabled kinds, by group and kind: a job is served in whatever version it comes."""

SERVICE_ACCOUNT = "system:serviceaccount:"
LABELS = ("metadata", "labels")
ANNOTATIONS = ("metadata", "annotations")
LABEL_POINTER = f"/metadata/labels/{escaped(keys.QUOTA_LABEL)}"
POINTERS = {
    key: f"/metadata/annotations/{escaped(key)}"
    for key in (*keys.MANAGER_ONLY, keys.BYPASSED_BY, *keys.WRITTEN_AT_CREATE)
}
"""Where the annotations are that may be written or removed."""


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
    job = integration.view(request.object, templates=False)
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
    refusal = _refusal(job, settings)
    if refusal is not None:
        return review.denied(request.uid, refusal)
    if job.unsuspendable:
        return review.allowed(request.uid)
    held = _hold(request.object, integration.hold(request.object))
    label = _label(held.labels, world.label_of(quota) if quota else None)
    templates = job.pod_sets if label and settings.webhook.labelPodTemplates else ()
    foreign = _keys_of_ours(held.annotations, bypassed_by=None)
    warnings = [
        *_template_warnings(held.job, templates, label),
        *map(remarks.w2, foreign),
        *job.remarks,
        *_unreadable(job),
        *_remarks(request, job, quota, settings),
    ]
    return review.patched(request.uid, _marked(held, templates, label, foreign, now), warnings)


def _concerns_us(request: Request, settings: Settings) -> bool:
    """Only new objects, and not those of the manager (spec 6.8, 6.9)."""
    creates = request.operation == "CREATE" and not request.sub_resource
    return creates and request.username != settings.manager_user


def _let_through(request: Request, job: Object) -> Response:
    """Says who let the job past the queue (spec 5.9)."""
    foreign = _keys_of_ours(_at(job, ANNOTATIONS), bypassed_by=request.username)
    annotations = {**dict.fromkeys(foreign), keys.BYPASSED_BY: request.username}
    operations = Patch({"metadata": {"annotations": annotations}}).to_json_patch(job)
    return review.patched(request.uid, operations, [remarks.w2(key) for key in foreign])


class _Held(NamedTuple):
    """A job that is held, by which operations; `added` is named by `koord-queue/injected`."""

    job: Object
    labels: Object
    annotations: Object
    operations: Sequence[Operation]
    added: set[str]


def _hold(job: Object, hold: Patch) -> _Held:
    """Keeps the job from starting (spec 8.3)."""
    operations = hold.to_json_patch(job)
    held = hold.apply(job) if operations else job
    return _Held(held, _at(held, LABELS), _at(held, ANNOTATIONS), operations, injected(operations))


def _refusal(job: JobView, settings: Settings) -> str | None:
    """Why a job that would be held is refused instead; None if it is not."""
    if job.unsuspendable and settings.jobs.rayjob.unsuspendable == "reject":
        return r8()
    if job.estimated and settings.jobs.workflow.missingMinResources == "reject":
        return min_resources_missing()
    return None


def _marked(
    held: _Held,
    templates: Sequence[PodSet],
    label: str | None,
    foreign: Sequence[str],
    now: datetime,
) -> list[Operation]:
    """Hold, quota label, annotations and labels of templates, in the order of spec 6.2."""
    on_templates = [each for one in templates for each in _on_template(held.job, one, label)]
    lacks_label = label is not None and held.labels.get(keys.QUOTA_LABEL) != label
    added = held.added.copy()
    if lacks_label:
        added.add("label")
    if on_templates:
        added.add("pod-labels")
    marks = _missing_marks(held.annotations, added, now)
    on_metadata = _on_metadata(held.job, label if lacks_label else None, foreign, marks)
    return [*held.operations, *on_metadata, *on_templates]


def _on_metadata(
    job: Object, label: str | None, foreign: Sequence[str], marks: Mapping[str, str]
) -> list[Operation]:
    """The operations that write label and marks, and remove what only the manager may write."""
    operations: list[Operation] = []
    if not (label or foreign or marks):
        return operations
    metadata = _made(job, "metadata", "/metadata", operations)
    if label:
        present = _made(metadata, "labels", "/metadata/labels", operations).get(keys.QUOTA_LABEL)
        operations.append({"op": _writing(present), "path": LABEL_POINTER, "value": label})
    if foreign or marks:
        _made(metadata, "annotations", "/metadata/annotations", operations)
    operations += [{"op": "remove", "path": POINTERS[key]} for key in foreign]
    operations += [
        {"op": "add", "path": POINTERS[key], "value": value} for key, value in marks.items()
    ]
    return operations


def _made(parent: Object, key: str, pointer: str, operations: list[Operation]) -> Object:
    """The map at that key; one operation more if there is none."""
    present = parent.get(key)
    if isinstance(present, dict):
        return present
    operations.append({"op": _writing(present), "path": pointer, "value": {}})
    return {}


def _writing(present: object) -> str:
    """`add` where nothing or null is, as in `Patch`."""
    return "add" if present is None else "replace"


def _label(labels: Mapping[str, Any], wanted: str | None) -> str | None:
    """What the quota label is to say: what it says, else the quota if a label can (spec 5.5)."""
    present = labels.get(keys.QUOTA_LABEL)
    if isinstance(present, str) and present:
        return present
    return wanted


def _on_template(job: Object, pod_set: PodSet, label: str | None) -> list[Operation]:
    """The operations that make a pod template charge the quota of its job (spec 6.6)."""
    *above, last = pod_set.path or ("",)
    parent = _at(job, above)
    if not pod_set.path or not parent:
        return []
    place = _pointer(pod_set.path)
    operations: list[Operation] = []
    metadata = _made(parent, str(last), place, operations)
    labels = _made(metadata, "labels", f"{place}/labels", operations)
    if isinstance(parent.get(str(last)), list) or isinstance(metadata.get("labels"), list):
        # No map can be put there: the error says so.
        return patch_at(job, (*pod_set.path, "labels"), {keys.QUOTA_LABEL: label})
    present = labels.get(keys.QUOTA_LABEL)
    if present != label:
        path = f"{place}/labels/{escaped(keys.QUOTA_LABEL)}"
        operations.append({"op": _writing(present), "path": path, "value": label})
    return operations


@lru_cache(1024)
def _pointer(path: tuple[str | int, ...]) -> str:
    """The way to a template, as JSON patches spell it; there are as many as kinds of pod sets."""
    return "".join(f"/{escaped(each)}" for each in path)


def _template_warnings(job: Object, pod_sets: Sequence[PodSet], label: str | None) -> Iterator[str]:
    """W7 for each template that named another quota."""
    for pod_set in pod_sets:
        present = _at(job, (*pod_set.path, "labels")).get(keys.QUOTA_LABEL)
        if present and label and present != label:
            yield remarks.w7(pod_set.name, str(present), label)


def _missing_marks(
    annotations: Mapping[str, Any], added: Iterable[str], now: datetime
) -> dict[str, str]:
    """The annotations that mark a job as ours; present ones keep their values (spec 6.5)."""
    marks: dict[str, str] = {}
    if annotations.get(keys.HAS_ENQUEUED) is None:
        marks[keys.HAS_ENQUEUED] = "true"
    if annotations.get(keys.ENQUEUE_TIMESTAMP) is None:
        # Jobs of one second share the text.
        marks[keys.ENQUEUE_TIMESTAMP] = codec.format_time(now.replace(microsecond=0))
    if annotations.get(keys.INJECTED) is None:
        marks[keys.INJECTED] = ",".join(sorted(added))
    return marks


def _keys_of_ours(annotations: Mapping[str, Any], *, bypassed_by: str | None) -> list[str]:
    """The keys in it that only koord-queue may write (spec 6.5, W2), bypassed-by the last."""
    if not annotations:
        return []
    foreign = sorted(keys.MANAGER_ONLY & annotations.keys())
    if keys.BYPASSED_BY in annotations and annotations[keys.BYPASSED_BY] != bypassed_by:
        foreign.append(keys.BYPASSED_BY)
    return foreign


def _unreadable(job: JobView) -> Iterator[str]:
    """What it says that cannot be read, and so counts as not said (spec 22.1)."""
    priority = job.annotations.get(keys.PRIORITY)
    if priority is not None and parse_int32(priority) is None:
        yield wrong_priority(priority)
    for _, text in unreadable(job):
        yield text


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
        yield remarks.w9(quota, _unit_name(job, request, settings))


def _unit_name(job: JobView, request: Request, settings: Settings) -> str:
    """The name of the unit to look at; empty where the job has none yet (generateName)."""
    name = job.name or request.name or ""
    return f"{name}{suffix_of(job)}" if name and settings.jobs.unitSuffixes else name


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
