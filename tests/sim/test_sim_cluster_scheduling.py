import pytest
from cluster_objects import (
    NOW,
    accepted,
    came,
    changed,
    driven,
    node,
    pod,
    refused,
    told,
    view_of,
    went,
    words,
    written,
)

from kq.sim.api.status import ApiStatus
from kq.sim.cluster.scheduling import Scheduler
from kq.sim.control.controller import Key
from kq.sim.control.view import View
from kq.sim.control.writes import Create

CYCLE = Key("", "", "cycle")


def wants(name="p", *, cpu="1", **more):
    requests = {"requests": {"cpu": cpu}}
    container = {"name": "main", "image": "i", "resources": requests}
    spec = {"containers": [container], **more}
    return pod(name, node="", phase="Pending", spec=spec)


def scheduler(*objects):
    made = Scheduler()
    for each in objects:
        list(made.concerns(came(each), View(), NOW))
    return made


def places(*objects):
    writes = written(scheduler(*objects).sync(CYCLE, view_of(*objects), NOW))
    return {each.name: each.body["target"]["name"] for each in writes if isinstance(each, Create)}


def message(*objects):
    [patch] = written(scheduler(*objects).sync(CYCLE, view_of(*objects), NOW))
    return patch.body["status"]["conditions"][-1]["message"]


def test_a_pod_goes_to_the_emptiest_node():
    full = pod("old", node="node-0", spec=wants(cpu="3")["spec"])
    assert places(node("node-0"), node("node-1"), full, wants()) == {"p": "node-1"}


def test_pods_spread_while_they_are_bound():
    objects = [node("node-0"), node("node-1"), wants("p"), wants("q")]
    view, made = view_of(*objects), scheduler(*objects)

    def bind(write):
        if isinstance(write, Create):
            before = view.get("pods", "n", write.name)
            spec = {**before["spec"], "nodeName": write.body["target"]["name"]}
            happened = changed(before, {**before, "spec": spec})
            view.apply(happened)
            list(made.concerns(happened, view, NOW))
            bound.append(write.body["target"]["name"])
        return accepted(write)

    bound = []
    driven(made.sync(CYCLE, view, NOW), bind)
    assert sorted(bound) == ["node-0", "node-1"]


def test_the_most_urgent_pod_is_first_and_then_the_oldest():
    objects = [node(), wants("p"), wants("q"), wants("r", priority=5)]
    assert list(places(*objects)) == ["r", "p", "q"]


@pytest.mark.parametrize(
    ("made", "wanted", "why"),
    [
        pytest.param(
            [node(), node("node-1")],
            wants(cpu="5"),
            "0/2 nodes are available: 2 Insufficient cpu.",
            id="too large",
        ),
        pytest.param(
            [node()],
            wants(nodeSelector={"disk": "fast"}),
            "1 node(s) didn't match Pod's node affinity/selector.",
            id="not the nodes that it wants",
        ),
        pytest.param(
            [node(spec={"unschedulable": True})],
            wants(),
            "1 node(s) were unschedulable.",
            id="cordoned",
        ),
        pytest.param(
            [node(spec={"taints": [{"key": "k", "effect": "NoSchedule"}]})],
            wants(),
            "1 node(s) had untolerated taint(s).",
            id="tainted",
        ),
        pytest.param([], wants(), "no nodes available to schedule pods", id="no node"),
    ],
)
def test_a_pod_that_fits_nowhere_is_told_why(made, wanted, why):
    assert why in message(*made, wanted)


@pytest.mark.parametrize(
    "toleration",
    [
        {"operator": "Exists"},
        {"key": "k", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "k", "value": "v"},
    ],
)
def test_a_taint_that_is_tolerated_hinders_nobody(toleration):
    taints = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
    wanted = wants(tolerations=[toleration])
    assert places(node(spec={"taints": taints}), wanted) == {"p": "node-0"}


def test_a_selected_node_is_taken():
    chosen = node("node-1", labels={"disk": "fast"})
    assert places(node(), chosen, wants(nodeSelector={"disk": "fast"})) == {"p": "node-1"}


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(wants(schedulerName="other"), id="another scheduler's"),
        pytest.param(wants(schedulingGates=[{"name": "g"}]), id="gated"),
        pytest.param(pod(node="", phase="Pending", deleted=True), id="being deleted"),
        pytest.param(pod(), id="bound already"),
    ],
)
def test_pods_that_are_not_to_be_bound_are_left_alone(made):
    assert words(written(scheduler(node(), made).sync(CYCLE, view_of(node(), made), NOW))) == []


def test_a_pod_that_waits_is_tried_again_when_another_ends():
    old = pod("old", spec=wants(cpu="4")["spec"])
    objects = [node(), old, wants()]
    made, view = scheduler(*objects), view_of(*objects)
    assert words(written(made.sync(CYCLE, view, NOW))) == ["patch status of p"]
    over = {**old, "status": {"phase": "Succeeded"}}
    assert [due.key for due in made.concerns(changed(old, over), view, NOW)] == [CYCLE]
    assert words(written(made.sync(CYCLE, view, NOW))) == ["create binding"]


def test_a_pod_that_waits_is_not_tried_again_for_nothing():
    objects = [node(), wants(cpu="9")]
    made, view = scheduler(*objects), view_of(*objects)
    written(made.sync(CYCLE, view, NOW))
    assert written(made.sync(CYCLE, view, NOW)) == []


def test_a_reason_is_told_once():
    wanted = wants(cpu="9")
    why = message(node(), wanted)
    condition = {"type": "PodScheduled", "status": "False", "message": why}
    wanted["status"]["conditions"] = [condition]
    assert written(scheduler(node(), wanted).sync(CYCLE, view_of(node(), wanted), NOW)) == []


def test_people_are_told_of_both_ends():
    assert told(scheduler(node(), wants()).sync(CYCLE, view_of(node(), wants()), NOW)) == [
        "Scheduled"
    ]
    assert told(scheduler(wants()).sync(CYCLE, view_of(wants()), NOW)) == ["FailedScheduling"]


def test_a_node_that_is_gone_takes_no_pods():
    made = scheduler(node(), wants())
    list(made.concerns(went(node()), View(), NOW))
    assert words(written(made.sync(CYCLE, view_of(wants()), NOW))) == ["patch status of p"]


def test_a_refused_binding_is_tried_again():
    objects = [node(), wants()]
    made, view = scheduler(*objects), view_of(*objects)
    with pytest.raises(ApiStatus):
        driven(made.sync(CYCLE, view, NOW), lambda _: refused("Conflict"))
    assert words(written(made.sync(CYCLE, view, NOW))) == ["create binding"]
