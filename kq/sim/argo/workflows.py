"""The controller of Workflows."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.sim.api.status import ApiStatus
from kq.sim.argo import status as told
from kq.sim.argo.locks import has_locks, locks_of
from kq.sim.argo.pods import COMPLETED, WORKFLOW, is_counted
from kq.sim.argo.running import Run
from kq.sim.argo.times import deadline_of, ends_at, goes_at
from kq.sim.control.controller import Due, Key, Pace
from kq.sim.control.objects import PODS, is_deleted, is_ended, phase_of, place_of, status_of, uid_of
from kq.sim.control.view import Happened, Seen, View
from kq.sim.control.writes import Create, Delete, Patch, Plan, Replace, Write, is_written, taken

WORKFLOWS: Final = "workflows.argoproj.io"
REACTION: Final = 1.0
"""Seconds after which it looks at what has changed; at what is new it looks at once."""


class WorkflowController:
    """Looks after Workflows and their pods."""

    name = "argo"
    pace = Pace(first=1.0, longest=60.0)
    kinds: tuple[str, ...] = (WORKFLOWS, PODS)

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """A Workflow, one whose pod changed, and those that wait for what another one had."""
        newest = happened.newest
        if happened.kind == PODS:
            name = (newest["metadata"].get("labels") or {}).get(WORKFLOW)
            return [Due(Key(place_of(newest)[0], name), REACTION)] if name else []
        found = [Due(Key(*place_of(newest)), REACTION if happened.before is not None else 0.0)]
        before, after = happened.before, happened.after
        if before is not None and has_locks(before) and (after is None or not has_locks(after)):
            found += _waiting(newest, view)
        return found

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """One look at a Workflow."""
        workflow = view.get(WORKFLOWS, key.namespace, key.name)
        if workflow is None or is_deleted(workflow):
            return None
        pods = view.owned_of(PODS, uid_of(workflow))
        if told.is_over(workflow):
            return (yield from _tidy(workflow, pods, now))
        phase, message = told.fault_of(workflow["spec"])
        if phase:
            return (yield from _write(workflow, told.refused(workflow, phase, message, now)))
        locks = locks_of(workflow, view.within(WORKFLOWS, key.namespace))
        begun = told.begun(workflow, locks, now)
        if locks.missing:
            return (yield from _write(workflow, begun))
        return (yield from _go_on(workflow, begun, pods, now))


def _waiting(freed: Seen, view: View) -> Iterator[Due]:
    for each in view.within(WORKFLOWS, place_of(freed)[0]):
        if (status_of(each).get("synchronization") or {}).get("mutex", {}).get("waiting"):
            yield Due(Key(*place_of(each)), REACTION)


def _go_on(workflow: Seen, begun: Object, pods: Sequence[Seen], now: datetime) -> Plan:
    run = Run(begun, pods, now)
    run.look()
    is_suspended = bool(workflow["spec"].get("suspend"))
    last = None
    if not is_suspended:
        run.halt()
        last = run.go_on()
    outcomes = yield [*run.lacking, *(_stop(pod, now) for pod in run.stopped)]
    made = told.told(begun, run.nodes)
    if last is not None:
        made = told.ended(made, last, now)
    yield from _write(workflow, made)
    _check(run.lacking, outcomes)
    if last is not None:
        return timedelta(seconds=REACTION)
    yield from _done_with(run, pods)
    return None if is_suspended else _next(made, run, now)


def _check(lacking: Sequence[Create], outcomes: Sequence[Any]) -> None:
    """Raises the first refusal of a pod but that there is one of that name."""
    for _, outcome in zip(lacking, outcomes, strict=False):
        if isinstance(outcome, ApiStatus) and outcome.reason != "AlreadyExists":
            raise outcome


def _done_with(run: Run, pods: Sequence[Seen]) -> Plan:
    """Pods that have ended are marked, once their nodes say so."""
    fulfilled = {id_ for id_, each in run.nodes.by_id.items() if each["finishedAt"]}
    return (yield from _mark([pod for pod in pods if _node_of(pod) in fulfilled]))


def _tidy(workflow: Seen, pods: Sequence[Seen], now: datetime) -> Plan:
    """Marks the last pods, and deletes the Workflow some time after its end."""
    yield from _mark(pods)
    due = goes_at(workflow)
    if due is None:
        return None
    if now < due:
        return due - now
    namespace, name = place_of(workflow)
    outcomes = yield [Delete(kind=WORKFLOWS, namespace=namespace, name=name, uid=uid_of(workflow))]
    if not all(map(is_written, outcomes)):
        taken(outcomes)
    return None


def _mark(pods: Sequence[Seen]) -> Plan:
    patch = {"metadata": {"labels": {COMPLETED: "true"}}}
    marked: list[Write] = [
        Patch(kind=PODS, namespace=place_of(pod)[0], name=place_of(pod)[1], body=patch)
        for pod in pods
        if is_ended(pod) and not is_counted(pod)
    ]
    outcomes = yield marked
    if not all(map(is_written, outcomes)):
        taken(outcomes)
    return None


def _node_of(pod: Seen) -> str:
    annotations = pod["metadata"].get("annotations") or {}
    return str(annotations.get("workflows.argoproj.io/node-id", ""))


def _stop(pod: Object, now: datetime) -> Write:
    """Ends a pod: its executor ends the containers; what has not begun is deleted."""
    namespace, name = place_of(pod)
    if phase_of(pod) != "Running":
        return Delete(kind=PODS, namespace=namespace, name=name, uid=uid_of(pod))
    end = {"exitCode": 143, "reason": "Error", "finishedAt": format_time(now)}
    containers = [
        {**each, "ready": False, "started": False, "state": {"terminated": end}}
        for each in status_of(pod).get("containerStatuses") or ()
    ]
    status = {"phase": "Failed", "containerStatuses": containers}
    return Patch(
        kind=PODS, namespace=namespace, name=name, body={"status": status}, subresource="status"
    )


def _write(workflow: Seen, made: Object) -> Plan:
    if made != workflow:
        taken((yield [Replace(kind=WORKFLOWS, body=made)]))
    return None


def _next(workflow: Object, run: Run, now: datetime) -> timedelta | None:
    """When it has to look again though nothing happens."""
    templates = {each["name"]: each for each in workflow["spec"]["templates"]}
    waits = [
        ends_at(node, templates[node["templateName"]]["suspend"])
        for node in run.nodes.of_type("Suspend")
        if node["phase"] == "Running"
    ]
    due = [each for each in (*waits, deadline_of(workflow)) if each is not None]
    if not due:
        return None
    return max(min(due) - now, timedelta(seconds=REACTION))
