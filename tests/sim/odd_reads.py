"""Odd reads, lists and watches."""

import json

from odd_requests import WIDGETS, Ask, Group, widget


def reading(ns: str) -> Group:
    maps = f"/api/v1/namespaces/{ns}/configmaps"
    yield Ask(what="not there", method="GET", path=f"{maps}/none")
    yield Ask(
        what="not there, a job", method="GET", path=f"/apis/batch/v1/namespaces/{ns}/jobs/none"
    )
    yield Ask(
        what="not there, a widget", method="GET", path=f"{WIDGETS}/namespaces/{ns}/widgets/none"
    )
    yield Ask(what="no such kind", method="GET", path=f"/api/v1/namespaces/{ns}/gadgets/none")
    yield Ask(
        what="no such kind in a served version",
        method="GET",
        path=f"{WIDGETS}/namespaces/{ns}/gadgets",
    )
    yield Ask(what="no such version", method="GET", path="/apis/batch/v7/jobs")
    yield Ask(what="no such group", method="GET", path="/apis/nobody.example/v1/things")
    yield Ask(what="no such path", method="GET", path="/nothing")
    yield Ask(what="no such subresource", method="GET", path=f"{maps}/c/scale")
    yield Ask(
        what="no such subresource of a widget",
        method="GET",
        path=f"{WIDGETS}/namespaces/{ns}/widgets/w/scale",
    )
    yield Ask(
        what="no status subresource",
        method="GET",
        path=f"{WIDGETS}/namespaces/{ns}/plains/p/status",
    )
    yield Ask(
        what="a cluster-scoped kind in a namespace",
        method="GET",
        path=f"/api/v1/namespaces/{ns}/nodes",
    )
    told = yield Ask(what="a namespace", method="GET", path=f"/api/v1/namespaces/{ns}")
    yield Ask(what="a namespace's status", method="GET", path=f"/api/v1/namespaces/{ns}/status")
    yield Ask(
        what="at version 0",
        method="GET",
        path=f"/api/v1/namespaces/{ns}",
        query={"resourceVersion": "0"},
    )
    yield Ask(
        what="at an exact version",
        method="GET",
        path=f"/api/v1/namespaces/{ns}",
        query={"resourceVersion": told.version},
    )
    yield Ask(
        what="at no version",
        method="GET",
        path=f"/api/v1/namespaces/{ns}",
        query={"resourceVersion": "abc"},
    )


def listing(ns: str) -> Group:
    widgets = f"{WIDGETS}/namespaces/{ns}/widgets"
    yield Ask(what="nothing", method="GET", path=widgets)
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2"}), ("c", {}), ("d", {"x": "1"})):
        body = widget(name)
        body["metadata"] |= {"labels": labels} if labels else {}
        told = yield Ask(what=f"create {name}", method="POST", path=widgets, body=body)
    newest = told.version
    yield Ask(what="all", method="GET", path=widgets)
    yield Ask(what="in maps", method="GET", path=f"/api/v1/namespaces/{ns}/secrets")
    for query in (
        {"limit": "0"},
        {"limit": "2", "labelSelector": "x=3"},
        {"resourceVersion": newest, "resourceVersionMatch": "Exact"},
        {"resourceVersion": newest, "resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": newest, "resourceVersionMatch": "Sideways"},
        {"resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
        {"resourceVersion": "0", "resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": "abc"},
        {"resourceVersion": "-1"},
        {"limit": "-1"},
        {"limit": "abc"},
        {"continue": "abc"},
        {"continue": "abc", "resourceVersion": newest},
        {"continue": "abc", "resourceVersionMatch": "Exact"},
        {"timeoutSeconds": "abc"},
        {"labelSelector": "x"},
        {"labelSelector": "!x"},
        {"labelSelector": "x=1"},
        {"labelSelector": "x==1"},
        {"labelSelector": "x!=1"},
        {"labelSelector": "x in (1,2)"},
        {"labelSelector": "x notin (1)"},
        {"labelSelector": "x=1,x in (2)"},
        {"labelSelector": "x in 1"},
        {"labelSelector": "x=="},
        {"labelSelector": "=1"},
        {"labelSelector": "x=1,"},
        {"labelSelector": "a b"},
        {"labelSelector": "x in (1"},
        {"labelSelector": "x=-"},
        {"labelSelector": "_x=1"},
        {"labelSelector": "x>1"},
        {"labelSelector": "x>a"},
        {"labelSelector": "x in ()"},
        {"labelSelector": "x,y"},
        {"fieldSelector": "metadata.name=a"},
        {"fieldSelector": "metadata.name!=a"},
        {"fieldSelector": f"metadata.namespace={ns},metadata.name=b"},
        {"fieldSelector": "spec.a=b"},
        {"fieldSelector": "metadata.name"},
        {"fieldSelector": "metadata.name in (a)"},
        {"fieldSelector": "metadata.uid=1"},
    ):
        yield Ask(what=json.dumps(query), method="GET", path=widgets, query=query)
    page = yield Ask(what="first page", method="GET", path=widgets, query={"limit": "3"})
    token = page["metadata"]["continue"]
    body = widget("e")
    yield Ask(what="meanwhile", method="POST", path=widgets, body=body)
    yield Ask(
        what="a page with a version",
        method="GET",
        path=widgets,
        query={"limit": "3", "continue": token, "resourceVersion": newest},
    )
    yield Ask(
        what="second page", method="GET", path=widgets, query={"limit": "3", "continue": token}
    )
    yield Ask(
        what="pods by what they cannot be selected by",
        method="GET",
        path=f"/api/v1/namespaces/{ns}/pods",
        query={"fieldSelector": "spec.a=b"},
    )
    yield Ask(
        what="pods by node and phase",
        method="GET",
        path=f"/api/v1/namespaces/{ns}/pods",
        query={"fieldSelector": "spec.nodeName=a,status.phase!=Running"},
    )
    yield Ask(what="not older than the future", method="GET", path=widgets,
              query={"resourceVersion": str(int(newest) + 100_000)})  # fmt: skip


def watching(ns: str) -> Group:
    widgets = f"{WIDGETS}/namespaces/{ns}/widgets"
    start = yield Ask(what="list", method="GET", path=widgets)
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2"})):
        body = widget(name)
        body["metadata"] |= {"labels": labels}
        yield Ask(what=f"create {name}", method="POST", path=widgets, body=body)
    yield Ask(
        what="b enters x=1",
        method="PATCH",
        path=f"{widgets}/b",
        body={"metadata": {"labels": {"x": "1"}}},
    )
    yield Ask(
        what="a leaves x=1",
        method="PATCH",
        path=f"{widgets}/a",
        body={"metadata": {"labels": {"x": "2"}}},
    )
    yield Ask(what="a goes", method="DELETE", path=f"{widgets}/a")
    since = start.version
    for what, lines, query in (
        ("since a version", 5, {"resourceVersion": since}),
        ("by label", 3, {"resourceVersion": since, "labelSelector": "x=1"}),
        ("by name", 2, {"resourceVersion": since, "fieldSelector": "metadata.name=b"}),
        ("from nowhere", 1, {}),
        ("from nowhere with bookmarks", 2, {"allowWatchBookmarks": "true"}),
        ("from any", 1, {"resourceVersion": "0"}),
        (
            "initial events",
            2,
            {
                "sendInitialEvents": "true",
                "allowWatchBookmarks": "true",
                "resourceVersionMatch": "NotOlderThan",
            },
        ),
        ("initial events without a match", 0, {"sendInitialEvents": "true"}),
        (
            "initial events with a wrong match",
            0,
            {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
        ),
        (
            "a match without initial events",
            0,
            {"resourceVersion": since, "resourceVersionMatch": "NotOlderThan"},
        ),
        ("with a continue token", 0, {"continue": "abc"}),
        ("with a version that is none", 0, {"resourceVersion": "abc"}),
        ("by a wrong selector", 0, {"labelSelector": "x in 1"}),
        ("by a wrong field", 0, {"fieldSelector": "spec.a=b"}),
        ("a time-out that is none", 0, {"timeoutSeconds": "abc"}),
        ("at version 1", 1, {"resourceVersion": "1"}),
    ):
        query = {"watch": "true", **query}
        yield Ask(what=what, method="GET", path=widgets, query=query, lines=lines)
    yield Ask(
        what="watch in another spelling",
        method="GET",
        path=widgets,
        lines=1,
        query={"watch": "1", "resourceVersion": since},
    )
    yield Ask(what="watching one", method="GET", path=f"{widgets}/b", query={"watch": "true"})
    yield Ask(what="that ends at once", method="GET", path=widgets, lines=2,
              query={"watch": "true", "timeoutSeconds": "1", "labelSelector": "x=9"})  # fmt: skip
