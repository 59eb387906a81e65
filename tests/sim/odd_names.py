"""Odd names, labels and other metadata; and what is only warned of."""

import json

from odd_requests import CRD_PATH, WIDGETS, Ask, Group, config_map, crd, widget


def naming(ns: str) -> Group:
    maps = f"/api/v1/namespaces/{ns}/configmaps"
    widgets = f"{WIDGETS}/namespaces/{ns}/widgets"
    for name in ("Upper", "a_b", "-a", "a..b", "x" * 254, "a/b", "."):
        yield Ask(what=f"config map {name[:9]}", method="POST", path=maps, body=config_map(name))
        yield Ask(what=f"widget {name[:9]}", method="POST", path=widgets, body=widget(name))
    for name in ("Upper", "a.b", "x" * 64):
        yield Ask(
            what=f"namespace {name[:9]}",
            method="POST",
            path="/api/v1/namespaces",
            body={"metadata": {"name": name}},
        )
    service = {"spec": {"ports": [{"port": 80}]}}
    for name in ("x" * 64,):
        yield Ask(
            what=f"service {name[:9]}",
            method="POST",
            path=f"/api/v1/namespaces/{ns}/services",
            body={**service, "metadata": {"name": name}},
        )
    for metadata in (
        {"labels": {"a b": "c"}},
        {"labels": {"": "c"}},
        {"labels": {"a": "-b"}},
        {"labels": {"a": "x" * 64}},
        {"labels": {"a/b/c": "d"}},
        {"labels": {"A_/b": "d"}},
        {"labels": {"/b": "d"}},
        {"labels": {"a": 1}},
        {"annotations": {"a b": "c"}},
        {"annotations": {"a": "x" * 262145}},
        {"finalizers": ["a"]},
        {"finalizers": ["a.b/c", "-"]},
        {"generateName": "-g"},
        {"ownerReferences": [{"kind": "A", "name": "b", "uid": "c"}]},
        {"ownerReferences": [{"apiVersion": "v1", "kind": "", "name": "", "uid": ""}]},
        {"ownerReferences": [
            {"apiVersion": "v1", "kind": "A", "name": "b", "uid": "c", "controller": True},
            {"apiVersion": "v1", "kind": "A", "name": "d", "uid": "e", "controller": True},
        ]},
    ):  # fmt: skip
        body = {"name": "m", **metadata}
        shown = json.dumps(metadata)[:60]
        yield Ask(
            what=f"config map {shown}",
            method="POST",
            path=maps,
            body={**config_map(), "metadata": body},
            query={"dryRun": "All"},
        )
        yield Ask(what=f"widget {shown}", method="POST", path=widgets,
                  body={**widget(), "metadata": body}, query={"dryRun": "All"})  # fmt: skip


def warning(ns: str) -> Group:
    maps = f"/api/v1/namespaces/{ns}/configmaps"
    widgets = f"{WIDGETS}/namespaces/{ns}/widgets"
    odd = {**config_map(), "metadata": {"name": "c", "foo": 1}, "bar": 2}
    for query in (
        {},
        {"fieldValidation": "Warn"},
        {"fieldValidation": "Ignore"},
        {"fieldValidation": "Strict"},
        {"fieldValidation": "Sideways"},
    ):
        query = {"dryRun": "All", **query}
        yield Ask(what=f"unknown fields {query}", method="POST", path=maps, body=odd, query=query)
        yield Ask(
            what=f"unknown fields of a widget {query}",
            method="POST",
            path=widgets,
            body=widget(foo=1, spec={"any": 1}),
            query=query,
        )
    definition = crd("others", "Other", status=True)
    [version] = definition["spec"]["versions"]
    fields = {"a": {"type": "object", "foo": 1}}
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = fields
    yield Ask(
        what="unknown fields in a map",
        method="POST",
        path=CRD_PATH,
        body=definition,
        query={"dryRun": "All"},
        loose=True,
    )
    yield Ask(what="create", method="POST", path=maps, body=config_map())
    yield Ask(what="unknown fields replaced", method="PUT", path=f"{maps}/c", body=odd)
    yield Ask(what="unknown fields patched", method="PATCH", path=f"{maps}/c", body={"bar": 2})
    yield Ask(
        what="unknown fields patched strictly",
        method="PATCH",
        path=f"{maps}/c",
        loose=True,
        body={"bar": 2},
        query={"fieldValidation": "Strict"},
    )
    owners = [{"apiVersion": "v1", "kind": "A", "name": "b", "uid": "c"}] * 2
    yield Ask(
        what="the same owner twice",
        method="POST",
        path=maps,
        body={"metadata": {"name": "twice", "ownerReferences": owners}},
    )
    job = {"restartPolicy": "Never", "containers": [{"name": "m", "image": "x"}]}
    yield Ask(what="a job's name that is no label", method="POST",
              path=f"/apis/batch/v1/namespaces/{ns}/jobs", query={"dryRun": "All"},
              body={"metadata": {"name": "a.b"}, "spec": {"template": {"spec": job}}})  # fmt: skip
