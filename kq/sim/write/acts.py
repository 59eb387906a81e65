"""Subresources that are acts: a pod bound to a node, or asked to go."""

from typing import Any

import msgspec

from kq.sim.api.call import Answer, Call, Verb, answer_of
from kq.sim.api.status import ApiStatus, Cause, bad_request, conflict_on, required
from kq.sim.request.options import delete_options
from kq.sim.write import meta
from kq.sim.write.deletes import Deleter
from kq.sim.write.writes import Writer

_DONE: dict[str, Any] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


async def act(call: Call, *, writer: Writer, deleter: Deleter) -> Answer:
    """Carries out what is posted to a subresource."""
    body = _read(call)
    match call.subresource:
        case "binding":
            return await _bind(call, body, writer)
        case _:
            return await _evict(call, body, writer, deleter)


async def _bind(call: Call, body: dict[str, Any], writer: Writer) -> Answer:
    node = (body.get("target") or {}).get("name", "")
    if body["metadata"].get("name") != call.name:
        raise bad_request("name in URL does not match name in Binding object")
    if faults := _binding_faults(body):
        # The real server tells it as a failure of its own.
        texts = [each.text for each in faults]
        raise ApiStatus(500, "", texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")

    def bound(pod: dict[str, Any]) -> dict[str, Any]:
        if pod["metadata"].get("deletionTimestamp"):
            raise _unbindable(call, "is being deleted, cannot be assigned to a host")
        if held := pod["spec"].get("nodeName"):
            raise _unbindable(call, f'is already assigned to node "{held}"')
        if pod["spec"].get("schedulingGates"):
            raise _unbindable(call, "has non-empty .spec.schedulingGates")
        return _assigned(pod, node, meta.stamp(writer.clock()))

    writer.change(call, bound)
    return answer_of(_DONE, code=201)


def _assigned(pod: dict[str, Any], node: str, now: str) -> dict[str, Any]:
    bound = {**pod, "spec": {**pod["spec"], "nodeName": node}}
    return _with_condition(bound, "PodScheduled", now)


def _with_condition(pod: dict[str, Any], type_: str, now: str, **why: str) -> dict[str, Any]:
    status = pod.get("status", {})
    kept = [each for each in status.get("conditions") or () if each["type"] != type_]
    stamps = {"lastProbeTime": None, "lastTransitionTime": now}
    condition = {"type": type_, "status": "True", **stamps, **why}
    return {**pod, "status": {**status, "conditions": [*kept, condition]}}


async def _evict(call: Call, body: dict[str, Any], writer: Writer, deleter: Deleter) -> Answer:
    """Deletes a pod and says why in its status; budgets of disruption are not looked at."""

    def targeted(pod: dict[str, Any]) -> dict[str, Any]:
        now = meta.stamp(writer.clock())
        why = {"reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}
        return _with_condition(pod, "DisruptionTarget", now, **why)

    writer.change(call, targeted)
    options = msgspec.json.encode(body.get("deleteOptions") or {})
    deletion = Call(
        verb=Verb.DELETE,
        kind=call.kind,
        namespace=call.namespace,
        name=call.name,
        query=call.query,
        body=options,
        user=call.user,
    )
    await deleter.delete(deletion, delete_options(deletion))
    return answer_of(_DONE, code=201)


def _read(call: Call) -> dict[str, Any]:
    try:
        body = msgspec.json.decode(call.body or b"", type=dict[str, Any])
    except msgspec.DecodeError as err:
        raise bad_request(f"couldn't get version/kind; json parse error: {err}") from err
    body.setdefault("metadata", {})
    return body


def _binding_faults(body: dict[str, Any]) -> list[Cause]:
    target = body.get("target") or {}
    faults = []
    if target.get("kind") not in (None, "", "Node"):
        text = f'Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"'
        faults.append(Cause("target.kind", "FieldValueNotSupported", text))
    if not target.get("name"):
        faults.append(required("target.name"))
    return faults


def _unbindable(call: Call, why: str) -> ApiStatus:
    return conflict_on("pods/binding", call.name, f"pod {call.name} {why}")
