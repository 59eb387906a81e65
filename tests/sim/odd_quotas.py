"""Odd objects under quotas, and questions about rights."""

from typing import Any

from odd_pods import pod
from odd_requests import Ask, Group


def under_quota(ns: str) -> Group:
    """What is demanded, what counts how much, and what is too much."""
    path = f"/api/v1/namespaces/{ns}"
    yield from _limited(path, _SAID)
    for what, containers, spec in (
        ("none said, in any order", [{}, {}], {"containers": _called("b", "a")}),
        ("an init container says none", [{}], {"initContainers": _called("z")}),
        ("all said", [_asks(cpu="500m", memory="1Mi")], {}),
        ("limits alone", [{"limits": {"cpu": "1", "memory": "1Mi"}}], {}),
        ("the pod level says all", [{}], {"resources": {"requests": {"cpu": "250m"}}}),
        ("the pod level limits", [{}], {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}),
        (
            "the pod level limits what containers ask",
            [_asks(cpu="100m"), _huge("2Mi")],
            {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
        ),
        ("too much", [_asks(cpu="9", memory="1Mi")], {}),
        ("too much at the pod level", [{}], {"resources": {"requests": {"cpu": "9"}}}),
        ("huge pages", [_huge("4Mi")], {}),
        ("too many huge pages", [_huge("8Mi")], {}),
        ("storage", [_asks(cpu="1m", memory="1", **{"ephemeral-storage": "1Mi"})], {}),
        ("too much storage", [_asks(cpu="1m", memory="1", **{"ephemeral-storage": "2Gi"})], {}),
    ):
        body = pod(what.replace(" ", "-").replace(",", ""), *containers, **spec)
        yield Ask(what=what, method="POST", path=f"{path}/pods", body=body)


def under_scopes(ns: str) -> Group:
    """A quota of one pod that asks for nothing."""
    path = f"/api/v1/namespaces/{ns}"
    yield from _limited(path, {"pods": "1"}, scopes=["BestEffort"])
    for what, containers, spec in (
        ("asks for something", [_asks(cpu="1m")], {}),
        ("asks at the pod level", [{}], {"resources": {"requests": {"cpu": "1m"}}}),
        ("asks for storage", [_asks(**{"ephemeral-storage": "1Mi"})], {}),
        ("asks for no cpu", [_asks(cpu="0")], {}),
    ):
        body = pod(what.replace(" ", "-"), *containers, **spec)
        yield Ask(what=what, method="POST", path=f"{path}/pods", body=body)


def of_other_kinds(ns: str) -> Group:
    """Claims and services."""
    path = f"/api/v1/namespaces/{ns}"
    hard = {
        "requests.storage": "1Gi",
        "fast.storageclass.storage.k8s.io/requests.storage": "100Mi",
        "services.nodeports": "2",
        "services.loadbalancers": "0",
    }
    yield from _limited(path, hard)
    claims = f"{path}/persistentvolumeclaims"
    for name, amount, more in (
        ("a", "600Mi", {}),
        ("too-much", "600Mi", {}),
        ("too-much-of-its-class", "200Mi", {"storageClassName": "fast"}),
    ):
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": amount}}}
        body = {"metadata": {"name": name}, "spec": {**spec, **more}}
        yield Ask(what=name, method="POST", path=claims, body=body, loose=name == "a")
    ports = [{"port": each, "name": f"p{each}"} for each in (80, 81, 82)]
    for name, type_ in (("ports", "NodePort"), ("balancer", "LoadBalancer")):
        body = {"metadata": {"name": name}, "spec": {"type": type_, "ports": ports}}
        yield Ask(what=name, method="POST", path=f"{path}/services", body=body)


def asking(ns: str) -> Group:
    """Questions about rights: an administrator may do everything."""
    rights = "/apis/authorization.k8s.io/v1"
    attributes = {"namespace": ns, "verb": "create", "group": "batch", "resource": "jobs"}
    may = {"spec": {"resourceAttributes": attributes}}
    mine = f"{rights}/selfsubjectaccessreviews"
    yield Ask(what="may I", method="POST", path=mine, body=may, loose=True)
    yield Ask(what="nothing is kept", method="GET", path=mine)
    yield Ask(what="nor one of them", method="GET", path=f"{mine}/x")
    local = f"{rights}/namespaces/{ns}/localsubjectaccessreviews"
    body = {"metadata": {"namespace": ns}, "spec": {**may["spec"], "user": "admin"}}
    yield Ask(what="may one here", method="POST", path=local, body=body, loose=True)
    others = f"{rights}/subjectaccessreviews"
    body = {"spec": {**may["spec"], "user": "admin", "groups": ["system:masters"]}}
    yield Ask(what="may an administrator", method="POST", path=others, body=body, loose=True)
    body = {"spec": {"namespace": ns}}
    rules = f"{rights}/selfsubjectrulesreviews"
    yield Ask(what="what may I", method="POST", path=rules, body=body, loose=True)
    who = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    yield Ask(what="who am I", method="POST", path=who, body={}, loose=True)
    yield Ask(what="of another kind", method="POST", path=who, body={"kind": "Pod"}, loose=True)


_SAID = {
    "requests.cpu": "4",
    "memory": "8Gi",
    "hugepages-2Mi": "10Mi",
    "requests.ephemeral-storage": "1Gi",
}


def _limited(path: str, hard: dict[str, str], **spec: Any) -> Group:
    """A quota that is counted at once, whether a controller is there or not."""
    body = {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}
    yield Ask(what="a quota", method="POST", path=f"{path}/resourcequotas", body=body, loose=True)
    status = {"hard": hard, "used": dict.fromkeys(hard, "0")}
    yield Ask(
        what="is counted",
        method="PATCH",
        path=f"{path}/resourcequotas/q/status",
        body={"status": status},
    )


def _called(*names: str) -> list[dict[str, Any]]:
    return [{"name": each, "image": "x"} for each in names]


def _asks(**amounts: str) -> dict[str, Any]:
    return {"requests": amounts}


def _huge(amount: str) -> dict[str, Any]:
    return {"limits": {"hugepages-2Mi": amount, "cpu": "1m", "memory": "1Mi"}}
