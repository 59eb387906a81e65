"""Odd deletions."""

from odd_requests import WIDGETS, Ask, Group, config_map, widget


def deleting(ns: str) -> Group:
    maps = f"/api/v1/namespaces/{ns}/configmaps"
    widgets = f"{WIDGETS}/namespaces/{ns}/widgets"
    yield Ask(what="not there", method="DELETE", path=f"{maps}/none")
    yield Ask(what="create", method="POST", path=maps, body=config_map())
    yield Ask(what="at once", method="DELETE", path=f"{maps}/c")
    told = yield Ask(what="create again", method="POST", path=maps, body=config_map())
    yield Ask(
        what="another uid",
        method="DELETE",
        path=f"{maps}/c",
        body={"preconditions": {"uid": "other"}},
    )
    yield Ask(
        what="another version",
        method="DELETE",
        path=f"{maps}/c",
        body={"preconditions": {"resourceVersion": "1"}},
    )
    yield Ask(
        what="a wrong policy",
        method="DELETE",
        path=f"{maps}/c",
        body={"propagationPolicy": "Sideways"},
    )
    yield Ask(
        what="policy and orphanDependents",
        method="DELETE",
        path=f"{maps}/c",
        body={"propagationPolicy": "Orphan", "orphanDependents": True},
    )
    yield Ask(what="a dry run", method="DELETE", path=f"{maps}/c", query={"dryRun": "All"})
    yield Ask(
        what="options of another kind",
        method="DELETE",
        path=f"{maps}/c",
        body={"kind": "ConfigMap", "apiVersion": "v1"},
    )
    yield Ask(what="options that are no JSON", method="DELETE", path=f"{maps}/c", body=b"{")
    yield Ask(
        what="the right uid",
        method="DELETE",
        path=f"{maps}/c",
        body={"preconditions": {"uid": told.uid}, "propagationPolicy": "Background"},
    )
    held = widget(spec={"a": 1})
    held["metadata"]["finalizers"] = ["kq.example/hold"]
    yield Ask(what="a held widget", method="POST", path=widgets, body=held)
    yield Ask(what="is only marked", method="DELETE", path=f"{widgets}/w")
    yield Ask(what="and again", method="DELETE", path=f"{widgets}/w")
    yield Ask(
        what="no new finalizer",
        method="PATCH",
        path=f"{widgets}/w",
        body={"metadata": {"finalizers": ["kq.example/hold", "kq.example/more"]}},
    )
    yield Ask(
        what="the mark stays",
        method="PATCH",
        path=f"{widgets}/w",
        body={"metadata": {"deletionTimestamp": None, "deletionGracePeriodSeconds": None}},
    )
    yield Ask(
        what="its finalizer goes",
        method="PATCH",
        path=f"{widgets}/w",
        body={"metadata": {"finalizers": None}},
    )
    yield Ask(what="and so does it", method="GET", path=f"{widgets}/w")
    yield Ask(what="a namespace's collection", method="DELETE", path="/api/v1/namespaces")
    yield Ask(what="one", method="POST", path=widgets, body=widget("one"))
    two = widget("two")
    two["metadata"] |= {"labels": {"a": "b"}}
    yield Ask(what="two", method="POST", path=widgets, body=two)
    yield Ask(
        what="a collection by label", method="DELETE", path=widgets, query={"labelSelector": "a=b"}
    )
    yield Ask(what="what is left", method="GET", path=widgets)
    yield Ask(what="the collection", method="DELETE", path=widgets)
    yield Ask(what="nothing is left", method="GET", path=widgets)
    yield Ask(what="again", method="POST", path=maps, body=config_map())
    yield Ask(
        what="a dry run that the body does not speak of is none",
        method="DELETE",
        path=f"{maps}/c",
        body={"propagationPolicy": "Background"},
        query={"dryRun": "All"},
    )
    yield Ask(what="it is gone", method="GET", path=f"{maps}/c")
    yield Ask(what="with a finalizer", method="POST", path=widgets, body=held)
    yield Ask(what="that goes", method="DELETE", path=f"{widgets}/w")
    yield Ask(what="cannot be made meanwhile", method="POST", path=widgets, body=widget())
    generated = {**widget(), "metadata": {"name": "w", "generateName": "g-"}}
    yield Ask(what="nor by half a name", method="POST", path=widgets, body=generated)
    yield Ask(
        what="let go",
        method="PATCH",
        path=f"{widgets}/w",
        body={"metadata": {"finalizers": None}},
        loose=True,
    )
    for name, options in (
        ("orphan", {"propagationPolicy": "Orphan"}),
        ("foreground", {"propagationPolicy": "Foreground"}),
        ("old-orphan", {"orphanDependents": True}),
        ("old-background", {"orphanDependents": False}),
    ):
        body = widget(name)
        body["metadata"] |= {"finalizers": ["kq.example/hold"]}
        yield Ask(what=f"{name} made", method="POST", path=widgets, body=body)
        yield Ask(what=name, method="DELETE", path=f"{widgets}/{name}", body=options)
        yield Ask(
            what=f"{name} let go",
            method="PATCH",
            path=f"{widgets}/{name}",
            body={"metadata": {"finalizers": None}},
            loose=True,
        )
    yield Ask(
        what="by query",
        method="DELETE",
        path=f"{widgets}/none",
        query={"propagationPolicy": "Sideways"},
    )
    quotas = f"/api/v1/namespaces/{ns}/serviceaccounts"
    yield Ask(what="an account", method="POST", path=quotas, body={"metadata": {"name": "a"}})
    yield Ask(what="is answered with itself", method="DELETE", path=f"{quotas}/a")  # fmt: skip
