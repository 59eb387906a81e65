"""Objects are shown in rows, or by their metadata alone, as kubectl asks for them."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sim_things import THING, kind_of

from kq.errors import DecodeError
from kq.sim.api.call import Answer, Call, Verb, answer_of
from kq.sim.api.kinds import Column
from kq.sim.api.status import ApiStatus
from kq.sim.api.table import Form, as_table, form_of, partial, shaped
from kq.sim.printing.ages import duration
from kq.sim.printing.jsonpath import find

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
MADE = "2026-01-01T11:59:00Z"


@pytest.mark.parametrize(
    ("span", "text"),
    [
        pytest.param({"seconds": -5}, "<invalid>", id="in the future"),
        pytest.param({"seconds": -1}, "0s", id="almost now"),
        pytest.param({"seconds": 119}, "119s", id="seconds"),
        pytest.param({"minutes": 2}, "2m", id="minutes"),
        pytest.param({"minutes": 9, "seconds": 59}, "9m59s", id="minutes and seconds"),
        pytest.param({"minutes": 10, "seconds": 1}, "10m", id="ten minutes"),
        pytest.param({"minutes": 179}, "179m", id="many minutes"),
        pytest.param({"hours": 3, "minutes": 5}, "3h5m", id="hours and minutes"),
        pytest.param({"hours": 8, "minutes": 5}, "8h", id="hours"),
        pytest.param({"hours": 50}, "2d2h", id="days and hours"),
        pytest.param({"days": 8}, "8d", id="days"),
        pytest.param({"days": 2 * 365 + 3}, "2y3d", id="years and days"),
        pytest.param({"days": 9 * 365}, "9y", id="years"),
    ],
)
def test_durations_are_in_one_or_two_units(span: dict[str, int], text: str) -> None:
    assert duration(timedelta(**span)) == text


OBJECT = {
    "a": {"b.c": 1, "l": [{"t": "x", "s": "1"}, {"t": "y", "s": "2"}]},
    "on": [{"k": True, "v": "yes"}],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param(".a.l[1].s", ["2"], id="position"),
        pytest.param(".a.l[-1].s", ["2"], id="from the end"),
        pytest.param(".a.l[*].s", ["1", "2"], id="all"),
        pytest.param('.a.l[?(@.t=="y")].s', ["2"], id="filter"),
        pytest.param(".a.l[?(@.t!='y')].s", ["1"], id="filter by others"),
        pytest.param(".on[?(@.k==true)].v", ["yes"], id="filter by a flag"),
        pytest.param(r".a.b\.c", [1], id="escaped"),
        pytest.param("{.a['b.c']}", [1], id="quoted"),
        pytest.param(".a.none.s", [], id="nothing there"),
    ],
)
def test_json_paths_lead_to_their_values(path: str, found: list[Any]) -> None:
    assert find(path, OBJECT) == found


def test_a_path_that_is_none_is_refused() -> None:
    with pytest.raises(DecodeError, match="cannot be read from '\\[oops' on"):
        find(".a[oops", OBJECT)


def cells(version: str, name: str, **content: Any) -> list[Any]:
    meta = {"name": "x", "creationTimestamp": MADE, **content.pop("metadata", {})}
    made = as_table(kind_of(version, name), [{"metadata": meta, **content}], now=NOW)
    return list(made["rows"][0]["cells"])


CONTAINER = {"name": "m", "image": "i"}
TEMPLATE = {"spec": {"containers": [CONTAINER, {"name": "n", "image": "j"}]}}


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        pytest.param({"completions": 3}, {}, ["Running", "0/3", ""], id="not begun"),
        pytest.param(
            {"completions": 3},
            {"succeeded": 1, "startTime": "2026-01-01T11:59:30Z"},
            ["Running", "1/3", "30s"],
            id="running",
        ),
        pytest.param({"parallelism": 4}, {}, ["Running", "0/1 of 4", ""], id="a work queue"),
        pytest.param(
            {"completions": 1},
            {
                "succeeded": 1,
                "startTime": "2026-01-01T11:00:00Z",
                "completionTime": "2026-01-01T11:05:30Z",
                "conditions": [{"type": "Complete", "status": "True"}],
            },
            ["Complete", "1/1", "5m30s"],
            id="complete",
        ),
        pytest.param(
            {"completions": 1},
            {"conditions": [{"type": "Suspended", "status": "True"}]},
            ["Suspended", "0/1", ""],
            id="suspended",
        ),
    ],
)
def test_jobs_show_how_far_they_are(spec: Any, status: Any, shown: list[str]) -> None:
    selector = {"matchLabels": {"u": "1"}}
    content = {"template": TEMPLATE, "selector": selector, **spec}
    row = cells("batch/v1", "Job", spec=content, status=status)
    assert row == ["x", *shown, "60s", "m,n", "i,j", "u=1"]


def state(**fields: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"restartCount": 0, **fields}]}


ENDED = {"terminated": {"exitCode": 0, "reason": "Completed"}}
READY = [{"type": "Ready", "status": "True"}]
WAITS = {"waiting": {"reason": "ImagePullBackOff"}}
GATED = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
INIT = {"initContainerStatuses": [{"state": {"running": {}}}]}


@pytest.mark.parametrize(
    ("meta", "status", "shown"),
    [
        pytest.param({}, {"phase": "Pending"}, ["0/1", "Pending", "0"], id="pending"),
        pytest.param(
            {},
            {"phase": "Running", **state(state={"running": {}}, ready=True)},
            ["1/1", "Running", "0"],
            id="running",
        ),
        pytest.param(
            {},
            {"phase": "Pending", **state(state=WAITS)},
            ["0/1", "ImagePullBackOff", "0"],
            id="waits",
        ),
        pytest.param(
            {}, {"phase": "Succeeded", **state(state=ENDED)}, ["0/1", "Completed", "0"], id="done"
        ),
        pytest.param(
            {},
            {"phase": "Failed", **state(state={"terminated": {"exitCode": 3}})},
            ["0/1", "ExitCode:3", "0"],
            id="failed",
        ),
        pytest.param(
            {"deletionTimestamp": MADE},
            {"phase": "Running"},
            ["0/1", "Terminating", "0"],
            id="goes",
        ),
        pytest.param(
            {"deletionTimestamp": MADE},
            {"phase": "Succeeded"},
            ["0/1", "Succeeded", "0"],
            id="went by itself",
        ),
        pytest.param(
            {},
            {"phase": "Pending", "conditions": GATED},
            ["0/1", "SchedulingGated", "0"],
            id="gated",
        ),
        pytest.param({}, {"phase": "Pending", **INIT}, ["0/1", "Init:0/1", "0"], id="init"),
        pytest.param(
            {},
            {
                "phase": "Running",
                **state(
                    state={"running": {}},
                    ready=True,
                    restartCount=2,
                    lastState={"terminated": {"finishedAt": "2026-01-01T11:59:50Z"}},
                ),
            },
            ["1/1", "Running", "2 (10s ago)"],
            id="restarted",
        ),
    ],
)
def test_pods_show_what_they_do(meta: Any, status: Any, shown: list[str]) -> None:
    spec = {"containers": [CONTAINER], "initContainers": [CONTAINER], "nodeName": "n"}
    row = cells("v1", "Pod", metadata=meta, spec=spec, status=status)
    assert row[1:4] == shown
    assert row[5:] == ["<none>", "n", "<none>", "<none>"]


def test_finished_pods_are_marked_in_their_rows() -> None:
    pod = {"metadata": {"name": "p"}, "status": {"phase": "Succeeded"}}
    [row] = as_table(kind_of("v1", "Pod"), [pod], now=NOW)["rows"]
    assert row["conditions"][0]["reason"] == "Succeeded"


def test_quotas_show_what_is_used_of_what() -> None:
    status = {"hard": {"pods": "3", "limits.cpu": "4"}, "used": {"pods": "1"}}
    assert cells("v1", "ResourceQuota", status=status) == [
        "x", "pods: 1/3", "limits.cpu: 0/4", "60s",
    ]  # fmt: skip


def test_nodes_show_whether_they_take_pods() -> None:
    conditions = [{"type": "Ready", "status": "False"}]
    row = cells("v1", "Node", spec={"unschedulable": True}, status={"conditions": conditions})
    assert row[:4] == ["x", "NotReady,SchedulingDisabled", "<none>", "60s"]
    assert cells("v1", "Node")[1] == "Unknown"


def test_custom_kinds_show_the_columns_of_their_crd() -> None:
    columns = (
        Column(name="S", type="string", json_path=".spec.s"),
        Column(name="I", type="integer", json_path=".spec.i"),
        Column(name="L", type="string", json_path=".spec.l"),
        Column(name="D", type="date", json_path=".spec.d"),
        Column(name="B", type="boolean", json_path=".spec.b"),
        Column(name="N", type="number", json_path=".spec.n"),
        Column(name="M", type="integer", json_path=".spec.s"),
    )
    spec = {"s": "x", "i": 2.0, "l": [{"b": 1}], "d": MADE, "b": True, "n": 1.5}
    made = as_table(THING, [{"metadata": {"name": "a"}, "spec": spec}], columns, now=NOW)
    assert made["rows"][0]["cells"] == ["a", "x", 2, '[{"b":1}]', "60s", True, 1.5, None]
    empty = as_table(THING, [{"metadata": {"name": "a"}}], columns, now=NOW)
    assert empty["rows"][0]["cells"] == ["a", *[None] * 7]


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        pytest.param("", Form.OBJECT, id="anything"),
        pytest.param("application/json", Form.OBJECT, id="JSON"),
        pytest.param("text/html, */*", Form.OBJECT, id="a browser"),
        pytest.param(TABLE, Form.TABLE, id="kubectl"),
        pytest.param(PARTIAL, Form.PARTIAL, id="metadata"),
        pytest.param(
            "application/vnd.kubernetes.protobuf,application/json", Form.OBJECT, id="typed"
        ),
    ],
)
def test_the_first_form_that_can_be_given_is(accept: str, form: Form) -> None:
    assert form_of(accept) is form


@pytest.mark.parametrize("accept", ["text/html", "application/json;as=Foo;g=meta.k8s.io;v=v1"])
def test_what_cannot_be_given_is_not_acceptable(accept: str) -> None:
    with pytest.raises(ApiStatus) as caught:
        form_of(accept)
    assert (caught.value.code, caught.value.reason) == (406, "NotAcceptable")


MAP = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a", "resourceVersion": "7"}}


def asked(accept: str, verb: Verb = Verb.GET, **query: str) -> Call:
    return Call(verb=verb, kind=kind_of("v1", "ConfigMap"), accept=accept, query=query)


def body(accept: str, value: Any, **query: str) -> Any:
    return json.loads(shaped(answer_of(value), asked(accept, **query), lambda: NOW).body)


def test_an_answer_takes_the_form_that_was_asked_for() -> None:
    assert body("application/json", MAP) == MAP
    assert body(PARTIAL, MAP) == partial(MAP)
    made = body(TABLE, MAP)
    assert (made["kind"], made["metadata"]) == ("Table", {"resourceVersion": "7"})
    assert made["rows"][0]["object"] == partial(MAP)
    assert body(TABLE, MAP, includeObject="None")["rows"][0]["object"] is None
    assert body(TABLE, MAP, includeObject="Object")["rows"][0]["object"] == MAP


def test_lists_keep_their_place_in_time() -> None:
    meta = {"resourceVersion": "9", "continue": "t", "remainingItemCount": 2}
    listed = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": meta, "items": [MAP]}
    assert body(TABLE, listed)["metadata"] == meta
    assert body(PARTIAL, listed)["items"] == [partial(MAP)]


def test_a_refusal_stays_what_it_is() -> None:
    refusal = ApiStatus(404, "NotFound", "nothing").to_body()
    answer = shaped(answer_of(refusal, code=404), asked(TABLE), lambda: NOW)
    assert json.loads(answer.body) == refusal


async def test_a_watch_names_its_columns_once() -> None:
    async def lines() -> AsyncIterator[bytes]:
        for name in ("a", "b"):
            changed = {**MAP, "metadata": {"name": name}}
            yield json.dumps({"type": "ADDED", "object": changed}).encode() + b"\n"

    answer = shaped(Answer(stream=lines()), asked(TABLE, Verb.WATCH), lambda: NOW)
    assert answer.stream is not None
    events = [json.loads(line) async for line in answer.stream]
    assert [each["object"]["rows"][0]["cells"][0] for each in events] == ["a", "b"]
    assert [bool(each["object"]["columnDefinitions"]) for each in events] == [True, False]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a[-1:].type", ["z"]),
        (".a[:1].type", ["x"]),
        (".a[1:].type", ["y", "z"]),
        (".a[0:2].type", ["x", "y"]),
        (".a[:].type", ["x", "y", "z"]),
        (".b[-1:].type", []),
    ],
)
def test_a_slice_of_a_list(path: str, found: list[str]) -> None:
    """The state of a TFJob is its last condition."""
    assert find(path, {"a": [{"type": each} for each in "xyz"], "b": []}) == found
