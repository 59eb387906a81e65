"""Odd pods: bound, evicted, ranked and limited; and ends of namespaces."""

from typing import Any

from odd_requests import MERGE, STRATEGIC, WIDGETS, Ask, Group, config_map, widget


def acting(ns: str) -> Group:
    pods = f"/api/v1/namespaces/{ns}/pods"
    spec = {
        "schedulerName": "nobody",
        "automountServiceAccountToken": False,
        "containers": [{"name": "m", "image": "x"}],
    }
    body = {"metadata": {"name": "p"}, "spec": spec}

    def bind(pod: str, **target: str) -> dict[str, Any]:
        return {"metadata": {"name": pod}, "target": target}

    yield Ask(what="a pod", method="POST", path=pods, body=body)
    yield Ask(
        what="bound without a name",
        method="POST",
        path=f"{pods}/p/binding",
        body={"target": {"name": "x"}},
    )
    yield Ask(what="bound to nothing", method="POST", path=f"{pods}/p/binding", body=bind("p"))
    yield Ask(
        what="bound to a job",
        method="POST",
        path=f"{pods}/p/binding",
        body=bind("p", kind="Job", name="x"),
    )
    yield Ask(
        what="bound",
        method="POST",
        path=f"{pods}/p/binding",
        body=bind("p", kind="Node", name="nowhere"),
    )
    yield Ask(
        what="bound again",
        method="POST",
        path=f"{pods}/p/binding",
        body=bind("p", kind="Node", name="nowhere"),
    )
    yield Ask(what="a bound pod", method="GET", path=f"{pods}/p")
    for condition in (
        {"type": "Ready", "status": "True", "lastProbeTime": None},
        {"type": "Ready"},
        {"type": "Ready", "status": "False", "lastProbeTime": "2026-01-01T00:00:00Z"},
    ):
        status = {"phase": "Running", "conditions": [condition]}
        for media in (MERGE, STRATEGIC):
            yield Ask(
                what="a condition",
                method="PATCH",
                path=f"{pods}/p/status",
                type=media,
                body={"status": status},
            )
    yield Ask(
        what="containers' states",
        method="PATCH",
        path=f"{pods}/p/status",
        body={"status": {"containerStatuses": [{"name": "m"}], "startTime": None}},
    )
    yield Ask(
        what="none bound",
        method="POST",
        path=f"{pods}/q/binding",
        body=bind("q", kind="Node", name="nowhere"),
    )
    yield Ask(
        what="by node", method="GET", path=pods, query={"fieldSelector": "spec.nodeName=nowhere"}
    )
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    yield Ask(what="evicted", method="POST", path=f"{pods}/p/eviction", body=eviction)
    yield Ask(what="an evicted pod", method="GET", path=f"{pods}/p")
    yield Ask(what="deleted again", method="DELETE", path=f"{pods}/p")
    yield Ask(
        what="a shorter grace", method="DELETE", path=f"{pods}/p", body={"gracePeriodSeconds": 5}
    )
    yield Ask(
        what="a longer grace", method="DELETE", path=f"{pods}/p", body={"gracePeriodSeconds": 50}
    )
    yield Ask(
        what="labels by status",
        method="PATCH",
        path=f"{pods}/p/status",
        body={"status": {"phase": "Running"}, "metadata": {"labels": {"a": "b"}}},
    )
    yield Ask(
        what="another node",
        method="PATCH",
        path=f"{pods}/p",
        loose=True,
        body={"spec": {"nodeName": "elsewhere"}},
    )
    yield Ask(what="at once", method="DELETE", path=f"{pods}/p", body={"gracePeriodSeconds": 0})
    yield Ask(what="none evicted", method="POST", path=f"{pods}/p/eviction", body=eviction)
    yield Ask(what="an unbound pod", method="POST", path=pods, body=body)
    yield Ask(what="goes at once", method="DELETE", path=f"{pods}/p")
    yield Ask(
        what="a job",
        method="POST",
        path=f"/apis/batch/v1/namespaces/{ns}/jobs",
        body={
            "metadata": {"name": "j"},
            "spec": {
                "suspend": True,
                "template": {
                    "spec": {"restartPolicy": "Never", "containers": [{"name": "m", "image": "x"}]}
                },
            },
        },
    )
    yield Ask(
        what="jobs by an unknown field",
        method="GET",
        path=f"/apis/batch/v1/namespaces/{ns}/jobs",
        query={"fieldSelector": "spec.x=1"},
    )
    yield Ask(
        what="maps by an unknown field",
        method="GET",
        path=f"/api/v1/namespaces/{ns}/configmaps",
        query={"fieldSelector": "spec.x=1"},
    )
    yield Ask(what="default stays", method="DELETE", path="/api/v1/namespaces/default")  # fmt: skip


def ending(ns: str) -> Group:
    name = f"{ns}-end"
    path = f"/api/v1/namespaces/{name}"
    held = {"metadata": {"name": name, "finalizers": ["kq.example/hold"]}}
    yield Ask(what="a held namespace", method="POST", path="/api/v1/namespaces", body=held)
    yield Ask(
        what="of another uid", method="DELETE", path=path, body={"preconditions": {"uid": "other"}}
    )
    yield Ask(what="is ending", method="DELETE", path=path)
    yield Ask(
        what="nothing more is made in it",
        method="POST",
        path=f"{path}/configmaps",
        body=config_map(),
    )
    yield Ask(
        what="nor a widget",
        method="POST",
        path=f"{WIDGETS}/namespaces/{name}/widgets",
        body=widget(),
    )
    yield Ask(
        what="nor anything without a name",
        method="POST",
        path=f"{path}/configmaps",
        body={"metadata": {"generateName": "g-"}},
    )
    yield Ask(what="nobody holds it", method="PATCH", path=path, loose=True,
              body={"metadata": {"finalizers": None}})  # fmt: skip


def pod(name: str, *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    made = [
        {"name": f"c{index}", "image": "x", "resources": each}
        for index, each in enumerate(containers or [{}])
    ]
    own = {"schedulerName": "nobody", "automountServiceAccountToken": False}
    return {"metadata": {"name": name}, "spec": {"containers": made, **own, **spec}}


def ranking(ns: str) -> Group:
    pods = f"/api/v1/namespaces/{ns}/pods"
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    called = f"{ns}-class"
    for what, body in (
        ("a priority class", {"metadata": {"name": called}, "value": 7}),
        (
            "one that never preempts",
            {"metadata": {"name": f"{called}-mild"}, "value": 5, "preemptionPolicy": "Never"},
        ),
    ):
        yield Ask(what=what, method="POST", path=classes, body=body)
    for what, spec in (
        ("by class", {"priorityClassName": called}),
        ("by a mild class", {"priorityClassName": f"{called}-mild"}),
        ("by no class", {"priorityClassName": "none-of-these"}),
        ("by number", {"priority": 3}),
        ("by class and number", {"priorityClassName": called, "priority": 7}),
        ("by class and another number", {"priorityClassName": called, "priority": 8}),
        ("by policy", {"priorityClassName": called, "preemptionPolicy": "Never"}),
    ):
        yield Ask(
            what=what,
            method="POST",
            path=pods,
            body=pod(what.replace(" ", "-"), **spec),
            query={"dryRun": "All"},
        )
    for name in (called, f"{called}-mild"):
        yield Ask(what=f"{name} away", method="DELETE", path=f"{classes}/{name}")


def limiting(ns: str) -> Group:
    pods = f"/api/v1/namespaces/{ns}/pods"
    limits = f"/api/v1/namespaces/{ns}/limitranges"
    yield Ask(
        what="usual limits",
        method="POST",
        path=limits,
        body={
            "metadata": {"name": "a"},
            "spec": {
                "limits": [
                    {
                        "type": "Container",
                        "defaultRequest": {"cpu": "100m"},
                        "default": {"cpu": "1", "memory": "1Gi"},
                        "max": {"cpu": "2"},
                    },
                    {"type": "Pod", "max": {"cpu": "3"}},
                ]
            },
        },
    )
    for what, containers, spec in (
        ("nothing said", [{}], {}),
        ("some said", [{"requests": {"cpu": "500m"}}, {"limits": {"memory": "2Gi"}}], {}),
        ("too much", [{"limits": {"cpu": "4"}}], {}),
        ("too much together", [{"limits": {"cpu": "2"}}, {"limits": {"cpu": "2"}}], {}),
        ("an init container", [{}], {"initContainers": [{"name": "i", "image": "x"}]}),
        ("all said", [{"limits": {"cpu": "1", "memory": "1Gi"}}], {}),
    ):
        body = pod(what.replace(" ", "-"), *containers, **spec)
        yield Ask(what=what, method="POST", path=pods, body=body, query={"dryRun": "All"})


def ratios(ns: str) -> Group:
    pods = f"/api/v1/namespaces/{ns}/pods"
    limits = f"/api/v1/namespaces/{ns}/limitranges"
    yield Ask(
        what="least and ratio",
        method="POST",
        path=limits,
        body={
            "metadata": {"name": "b"},
            "spec": {
                "limits": [
                    {
                        "type": "Container",
                        "min": {"cpu": "50m"},
                        "maxLimitRequestRatio": {"memory": "2"},
                    }
                ]
            },
        },
    )
    for what, resources in (
        ("nothing said", {}),
        ("too little", {"requests": {"cpu": "10m", "memory": "1"}, "limits": {"memory": "2"}}),
        (
            "far apart",
            {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2560Mi"}},
        ),
        ("in bounds", {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}),
    ):
        body = pod(what.replace(" ", "-"), resources)
        yield Ask(what=what, method="POST", path=pods, body=body, query={"dryRun": "All"})
