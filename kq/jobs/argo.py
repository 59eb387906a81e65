"""argoproj.io/v1alpha1 Workflow (spec 8.2, 8.3, 8.6, 8.14-8.17).

Its patches replace whole lists, and what they do hangs on the whole object: they are made of it,
and sent with its resourceVersion.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from kq.core import codec
from kq.core.kinds import Object, ResourceKind
from kq.core.minresources import min_resources
from kq.core.model import Chore, Grant, JobState, JobView, PodSet
from kq.core.patch import Patch
from kq.core.resources import ZERO, Resources
from kq.errors import DecodeError
from kq.jobs.argohold import (
    Shutdown,
    held,
    holds_lock,
    is_inline,
    let_run,
    marker_of,
    shutdown_of,
)
from kq.jobs.argonodes import has_started, out_of_reach, released_nodes
from kq.jobs.options import JobOptions
from kq.jobs.progress import unless_known
from kq.jobs.remarks import w6
from kq.jobs.roles import no_maps, told

WORKFLOW: Final = ResourceKind("argoproj.io", "v1alpha1", "Workflow", "workflows")
SUSPENSION: Final = Patch({"spec": {"suspend": True}})
ENDED: Final = {
    "Succeeded": JobState.SUCCEEDED,
    "Failed": JobState.FAILED,
    "Error": JobState.FAILED,
}
ANY_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)
NOT_RUNNING: Final = frozenset({"", "Pending"})


class Workflow:
    """Argo's workflows: what one needs is what its user says."""

    kinds = (WORKFLOW,)

    def __init__(self, options: JobOptions) -> None:
        """Whether one without min-resources counts its largest pod is an option (8.16)."""
        self._estimates = options.estimates_workflows

    def view(self, job: Object, *, templates: bool = True) -> JobView:
        """The Workflow as decisions see it."""
        meta, spec, status = (codec.mapping(job, part) for part in ("metadata", "spec", "status"))
        annotations = codec.strings(meta.get("annotations"))
        phase = codec.strings(status).get("phase", "")
        started = has_started(status) if phase == "Running" else phase not in NOT_RUNNING
        given, defect = _given(annotations)
        estimated = given is None and defect is None
        needed, wrong = given or ZERO, defect
        if estimated and templates and self._estimates:
            needed, wrong = _largest_pod(spec)
        marker = marker_of(spec)
        return JobView(
            **codec.job_metadata(meta),
            kind=WORKFLOW,
            suspended=spec.get("suspend") is True,
            state=_state(phase, started),
            unknown_state=unless_known(phase, NOT_RUNNING, ENDED, ("Running",)),
            takes_updates=False,
            has_run=started,
            started=codec.parse_time(status.get("startedAt")),
            released_at=codec.released_at(annotations),
            pod_sets=(_pod_set(needed if templates else ZERO, is_inline(spec)),),
            defect=wrong,
            priorities=tuple(_priorities(spec)),
            evictable=False,
            whole=True,
            estimated=estimated,
            chores=tuple(_chores(job)),
            remarks=(w6(),) if marker and not isinstance(marker.get("suspend"), Mapping) else (),
        )

    def hold(self, job: Object) -> Patch:
        """`spec.suspend: true`, the template that tools look for, its locks out of the way."""
        return held(job)

    def suspend(self, job: Object) -> Patch:
        """`spec.suspend: true`: no further step starts, but what runs is not ended."""
        return SUSPENSION

    def resume(self, job: Object, grants: Sequence[Grant], now: datetime) -> Patch:
        """All that `hold` did is undone, and the time that it was held does not count."""
        return let_run(job, now)


def _chores(job: Object) -> Iterator[Chore]:
    if shutdown_of(job) is Shutdown.AT_ONCE:
        yield Chore.END
    if codec.mapping(job, "spec").get("suspend") is True:
        if holds_lock(job):
            yield Chore.TELL_LOCK
        return
    if released_nodes(job, ANY_TIME) is not None:
        yield Chore.FREE_NODES
    if out_of_reach(job):
        yield Chore.TELL_OUT_OF_REACH


def _given(annotations: Mapping[str, str]) -> tuple[Resources | None, str | None]:
    try:
        return min_resources(annotations), None
    except DecodeError as err:
        return None, str(err)


def _pod_set(needed: Resources, inline: bool) -> PodSet:
    """One container whose requests are its limits (spec 8.17)."""
    amounts = needed.to_wire()
    container = {"name": "default", "resources": {"requests": amounts, "limits": amounts}}
    return PodSet(
        name="default",
        count=1,
        wanted=1,
        template=codec.template_of({"spec": {"containers": [container]}}),
        path=("spec", "podMetadata") if inline else (),
    )


def _largest_pod(spec: Object) -> tuple[Resources, str | None]:
    """Per resource the most that a pod of its own templates asks for."""
    largest, defect = ZERO, next(_unreadable(spec), None)
    for pod in _pods(spec) if is_inline(spec) else ():
        template = codec.template_of({"spec": pod})
        largest = largest.maximum(template.request)
        defect = defect or template.defect
    return largest, defect


def _unreadable(spec: Object) -> Iterator[str]:
    """What of its own templates says nothing of the pods that it should say something of."""
    if spec.get("workflowTemplateRef"):
        return
    yield from _no_list(spec, "spec", "templates")
    for index, template in enumerate(codec.listed(spec, "templates")):
        where = f"spec.templates[{index}]"
        if not isinstance(template, Mapping):
            yield f"{where} is {told(template)}, not a map"
            continue
        pods = (no_maps(template, where, each) for each in ("container", "script", "containerSet"))
        yield from filter(None, pods)
        yield from _no_list(template, where, "sidecars", "initContainers")
        of_set = codec.mapping(template, "containerSet")
        yield from _no_list(of_set, f"{where}.containerSet", "containers")


def _no_list(parent: Object, where: str, *fields: str) -> Iterator[str]:
    for field in fields:
        value = parent.get(field)
        if value is not None and not isinstance(value, list):
            yield f"{where}.{field} is {told(value)}, not a list"


def _pods(spec: Object) -> Iterator[dict[str, Any]]:
    """What is known of the pods of its templates; steps and the like have none."""
    for template in codec.listed(spec, "templates"):
        if not isinstance(template, Mapping):
            continue
        own = [codec.mapping(template, kind) for kind in ("container", "script")]
        containers = [
            *({**each, "name": each.get("name") or template.get("name")} for each in own if each),
            *codec.listed(codec.mapping(template, "containerSet"), "containers"),
        ]
        if containers:
            yield {
                "containers": [*containers, *codec.listed(template, "sidecars")],
                "initContainers": codec.listed(template, "initContainers"),
            }


def _state(phase: str, started: bool) -> JobState:
    """States of spec 8.6; one that nobody knows counts as running."""
    if phase in NOT_RUNNING or (phase == "Running" and not started):
        return JobState.PENDING
    return ENDED.get(phase, JobState.RUNNING)


def _priorities(spec: Object) -> Iterator[tuple[str, int | None]]:
    """What is asked for its priority, in order (spec 12.9); where there is no class of the name
    that is found the number counts (12.8)."""
    templates = codec.listed(spec, "templates")
    maps = (each for each in templates if isinstance(each, Mapping))
    entry = next((each for each in maps if each.get("name") == spec.get("entrypoint")), {})
    number = codec.integer(spec.get("priority"))
    for name in (spec.get("podPriorityClassName"), entry.get("priorityClassName")):
        if isinstance(name, str) and name:
            yield name, number
    yield "", number
