"""Odd creates, replacements and patches."""

from odd_requests import (
    APPLY,
    GROUP,
    JSON_PATCH,
    STRATEGIC,
    WIDGETS,
    Ask,
    Group,
    config_map,
    widget,
)


def creating(ns: str) -> Group:
    maps = f"/api/v1/namespaces/{ns}/configmaps"
    widgets = f"{WIDGETS}/namespaces/{ns}/widgets"
    plain = config_map(data={"a": "b"})
    yield Ask(what="a config map", method="POST", path=maps, body=plain)
    yield Ask(what="the same name again", method="POST", path=maps, body=plain)
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"}}
    told = yield Ask(what="a generated name", method="POST", path=maps, body=made)
    assert told["metadata"]["name"].startswith("g-")
    nameless = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
    yield Ask(what="no name", method="POST", path=maps, body=nameless)
    yield Ask(
        what="no name of a widget", method="POST", path=widgets, body={**widget(), "metadata": {}}
    )
    yield Ask(
        what="no metadata", method="POST", path=maps, body={"apiVersion": "v1", "kind": "ConfigMap"}
    )
    elsewhere = {**plain, "metadata": {"name": "x", "namespace": "elsewhere"}}
    yield Ask(what="another namespace in the body", method="POST", path=maps, body=elsewhere)
    yield Ask(
        what="another kind in the body",
        method="POST",
        path=maps,
        body={**plain, "kind": "Secret"},
        loose=True,
    )
    yield Ask(
        what="a pod",
        method="POST",
        path=maps,
        body={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}},
    )
    yield Ask(
        what="unknown fields",
        method="POST",
        path=maps,
        query={"fieldValidation": "Strict"},
        body={"metadata": {"name": "x", "foo": 1}, "bar": 2},
    )
    yield Ask(
        what="another version in the body",
        method="POST",
        path=maps,
        body={**plain, "apiVersion": "v2"},
    )
    yield Ask(
        what="another kind of a widget",
        method="POST",
        path=widgets,
        body={**widget(), "kind": "Gadget"},
    )
    yield Ask(
        what="another version of a widget",
        method="POST",
        path=widgets,
        body={**widget(), "apiVersion": f"{GROUP}/v2"},
    )
    yield Ask(what="no kind", method="POST", path=maps, body={"metadata": {"name": "nokind"}})
    yield Ask(
        what="no kind of a widget",
        method="POST",
        path=widgets,
        body={"metadata": {"name": "nokind"}},
    )
    versioned = {**plain, "metadata": {"name": "v", "resourceVersion": "1"}}
    yield Ask(what="with a resourceVersion", method="POST", path=maps, body=versioned)
    yield Ask(
        what="a namespace that is not there",
        method="POST",
        path="/api/v1/namespaces/nowhere/configmaps",
        body=plain,
    )
    yield Ask(
        what="a widget in a namespace that is not there",
        method="POST",
        path=f"{WIDGETS}/namespaces/nowhere/widgets",
        body=widget(),
    )
    yield Ask(what="no JSON", method="POST", path=maps, body=b"{not json", loose=True)
    yield Ask(
        what="no JSON of a widget", method="POST", path=widgets, body=b"{not json", loose=True
    )
    yield Ask(what="an empty body", method="POST", path=maps, body=b"")
    yield Ask(what="an empty body of a widget", method="POST", path=widgets, body=b"")
    yield Ask(what="a list", method="POST", path=maps, body=[], loose=True)
    yield Ask(
        what="an unknown content type", method="POST", path=maps, body=plain, type="text/plain"
    )
    yield Ask(
        what="a dry run", method="POST", path=maps, query={"dryRun": "All"}, body=config_map("dry")
    )
    yield Ask(what="a dry run is not kept", method="GET", path=f"{maps}/dry")
    yield Ask(
        what="a wrong dry run",
        method="POST",
        path=maps,
        query={"dryRun": "Some"},
        body=config_map("dry"),
    )
    yield Ask(
        what="no such namespaced kind",
        method="POST",
        path=f"/api/v1/namespaces/{ns}/gadgets",
        body=plain,
    )
    yield Ask(what="a create at a name", method="POST", path=f"{maps}/c", body=plain)
    yield Ask(
        what="a create without a namespace", method="POST", path="/api/v1/configmaps", body=plain
    )
    yield Ask(
        what="a widget with status",
        method="POST",
        path=widgets,
        body=widget(spec={"a": 1}, status={"b": 2}),
    )
    yield Ask(what="system metadata is dropped", method="POST", path=maps,
              body={**plain, "metadata": {
                  "name": "sys", "uid": "mine", "generation": 7, "selfLink": "/x",
                  "creationTimestamp": "2001-01-01T00:00:00Z",
                  "deletionTimestamp": "2001-01-01T00:00:00Z",
                  "deletionGracePeriodSeconds": 4}})  # fmt: skip


def updating(ns: str) -> Group:
    maps = f"/api/v1/namespaces/{ns}/configmaps"
    widgets = f"{WIDGETS}/namespaces/{ns}/widgets"
    yield Ask(what="what is not there", method="PUT", path=f"{maps}/c", body=config_map())
    yield Ask(what="a widget that is not there", method="PUT", path=f"{widgets}/w", body=widget())
    told = yield Ask(what="create", method="POST", path=maps, body=config_map(data={"a": "1"}))
    stale = told.version
    yield Ask(
        what="without a version", method="PUT", path=f"{maps}/c", body=config_map(data={"a": "2"})
    )
    yield Ask(
        what="with a stale version",
        method="PUT",
        path=f"{maps}/c",
        body={**config_map(), "metadata": {"name": "c", "resourceVersion": stale}},
    )
    yield Ask(
        what="with a version that is none",
        method="PUT",
        path=f"{maps}/c",
        body={**config_map(), "metadata": {"name": "c", "resourceVersion": "abc"}},
    )
    yield Ask(
        what="with another uid",
        method="PUT",
        path=f"{maps}/c",
        body={**config_map(), "metadata": {"name": "c", "uid": "other"}},
    )
    yield Ask(what="with another name", method="PUT", path=f"{maps}/c", body=config_map("d"))
    yield Ask(
        what="with no name", method="PUT", path=f"{maps}/c", body={**config_map(), "metadata": {}}
    )
    yield Ask(
        what="with another namespace",
        method="PUT",
        path=f"{maps}/c",
        body={**config_map(), "metadata": {"name": "c", "namespace": "other"}},
    )
    yield Ask(what="without a name in the path", method="PUT", path=maps, body=config_map())
    told = yield Ask(what="a widget", method="POST", path=widgets, body=widget(spec={"a": 1}))
    yield Ask(
        what="a widget without a version",
        method="PUT",
        path=f"{widgets}/w",
        body=widget(spec={"a": 2}),
    )
    changed = widget(spec={"a": 2}, status={"b": 1})
    changed["metadata"]["resourceVersion"] = told.version
    told = yield Ask(
        what="a main write leaves status alone, generation rises",
        method="PUT",
        path=f"{widgets}/w",
        body=changed,
    )
    changed["metadata"] = {
        "name": "w",
        "resourceVersion": told.version,
        "labels": {"x": "y"},
        "annotations": {"n": "m"},
    }
    changed |= {"spec": {"a": 3}, "status": {"b": 2}}
    told = yield Ask(
        what="a status write leaves the rest alone",
        method="PUT",
        path=f"{widgets}/w/status",
        body=changed,
    )
    same = {**told.body}
    again = yield Ask(what="a write of the same", method="PUT", path=f"{widgets}/w", body=same)
    assert again.version == told.version
    gone = widget(spec={"a": 1})
    gone["metadata"] = {"name": "none", "resourceVersion": told.version}
    yield Ask(what="with a version, not there", method="PUT", path=f"{widgets}/none", body=gone)
    gone["metadata"] = {"name": "none", "uid": "some"}
    yield Ask(what="with a uid, not there", method="PUT", path=f"{widgets}/none", body=gone)
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
    told = yield Ask(what="a PUT makes a lease", method="PUT", path=f"{leases}/l", body=lease)
    yield Ask(what="a lease without a version", method="PUT", path=f"{leases}/l", body=lease)
    immutable = {**config_map("i", data={"a": "b"}), "immutable": True}
    yield Ask(what="an immutable map", method="POST", path=maps, body=immutable)
    yield Ask(what="changed", method="PUT", path=f"{maps}/i",
              body={**immutable, "data": {"a": "c"}})  # fmt: skip


def patching(ns: str) -> Group:
    maps = f"/api/v1/namespaces/{ns}/configmaps"
    widgets = f"{WIDGETS}/namespaces/{ns}/widgets"
    yield Ask(what="what is not there", method="PATCH", path=f"{maps}/c", body={})
    told = yield Ask(what="create", method="POST", path=maps, body=config_map(data={"a": "1"}))
    first = told
    yield Ask(what="merge", method="PATCH", path=f"{maps}/c", body={"data": {"a": None, "b": "2"}})
    yield Ask(
        what="stale",
        method="PATCH",
        path=f"{maps}/c",
        body={"metadata": {"resourceVersion": first.version}, "data": {"c": "1"}},
    )
    yield Ask(
        what="another uid",
        method="PATCH",
        path=f"{maps}/c",
        body={"metadata": {"uid": "other"}, "data": {"c": "1"}},
    )
    yield Ask(
        what="another name", method="PATCH", path=f"{maps}/c", body={"metadata": {"name": "d"}}
    )
    yield Ask(
        what="the kind", method="PATCH", path=f"{maps}/c", body={"kind": "Secret"}, loose=True
    )
    told = yield Ask(what="nothing", method="PATCH", path=f"{maps}/c", body={})
    yield Ask(
        what="JSON patch, stale replace",
        method="PATCH",
        path=f"{maps}/c",
        type=JSON_PATCH,
        body=[{"op": "replace", "path": "/metadata/resourceVersion", "value": first.version}],
    )
    yield Ask(
        what="JSON patch, another uid",
        method="PATCH",
        path=f"{maps}/c",
        type=JSON_PATCH,
        body=[{"op": "replace", "path": "/metadata/uid", "value": "other"}],
    )
    yield Ask(
        what="a type that is none",
        method="PATCH",
        path=f"{maps}/c",
        body={},
        type="application/json",
    )
    yield Ask(
        what="strategic on a widget", method="PATCH", path=f"{widgets}/w", body={}, type=STRATEGIC
    )
    yield Ask(what="no JSON", method="PATCH", path=f"{maps}/c", body=b"{")
    yield Ask(
        what="creationTimestamp stays",
        method="PATCH",
        path=f"{maps}/c",
        body={"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z", "generation": 9}},
    )
    yield Ask(
        what="a deletionTimestamp",
        method="PATCH",
        path=f"{maps}/c",
        body={"metadata": {"deletionTimestamp": "2001-01-01T00:00:00Z"}},
    )
    yield Ask(
        what="the namespace",
        method="PATCH",
        path=f"{maps}/c",
        body={"metadata": {"namespace": "other"}},
    )
    yield Ask(what="without a name in the path", method="PATCH", path=maps, body={})
    told = yield Ask(what="a widget", method="POST", path=widgets, body=widget(spec={"a": 1}))
    yield Ask(
        what="status by the main path",
        method="PATCH",
        path=f"{widgets}/w",
        body={"status": {"x": 1}},
    )
    yield Ask(
        what="status and spec by the status path",
        method="PATCH",
        path=f"{widgets}/w/status",
        body={"spec": {"a": 2}, "status": {"x": 1}, "metadata": {"labels": {"l": "1"}}},
    )
    yield Ask(what="spec", method="PATCH", path=f"{widgets}/w", body={"spec": {"a": 2}})
    yield Ask(
        what="labels leave the generation alone",
        method="PATCH",
        path=f"{widgets}/w",
        body={"metadata": {"labels": {"l": "2"}}},
    )
    yield Ask(
        what="a stale widget",
        method="PATCH",
        path=f"{widgets}/w",
        body={"metadata": {"resourceVersion": told.version}},
    )
    yield Ask(
        what="a widget's uid",
        method="PATCH",
        path=f"{widgets}/w",
        body={"metadata": {"uid": "other"}},
    )
    yield Ask(
        what="a widget's version that is none",
        method="PATCH",
        path=f"{widgets}/w",
        body={"metadata": {"resourceVersion": "abc"}},
    )
    yield Ask(
        what="a status with another uid",
        method="PATCH",
        path=f"{widgets}/w/status",
        body={"metadata": {"uid": "other"}, "status": {"x": 2}},
    )
    yield Ask(
        what="a stale status",
        method="PATCH",
        path=f"{widgets}/w/status",
        body={"metadata": {"resourceVersion": told.version}, "status": {"x": 3}},
    )
    yield Ask(
        what="a stale status by JSON patch",
        method="PATCH",
        path=f"{widgets}/w/status",
        type=JSON_PATCH,
        body=[
            {"op": "replace", "path": "/metadata/resourceVersion", "value": told.version},
            {"op": "add", "path": "/status", "value": {"x": 4}},
        ],
    )
    yield Ask(
        what="a status replaced without a version",
        method="PUT",
        path=f"{widgets}/w/status",
        body=widget(status={"x": 5}),
    )
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
    yield Ask(what="a lease", method="POST", path=leases, body=lease)
    yield Ask(
        what="a lease without its version",
        method="PATCH",
        path=f"{leases}/l",
        body={"metadata": {"resourceVersion": None}, "spec": {"holderIdentity": "you"}},
    )
    jobs = f"/apis/batch/v1/namespaces/{ns}/jobs"
    pod = {"restartPolicy": "Never", "containers": [{"name": "m", "image": "x"}]}
    job = {"metadata": {"name": "j"}, "spec": {"suspend": True, "template": {"spec": pod}}}
    yield Ask(what="a job", method="POST", path=jobs, body=job)
    yield Ask(
        what="a job's status with another uid",
        method="PATCH",
        path=f"{jobs}/j/status",
        body={"metadata": {"uid": "other"}, "status": {"ready": 0}},
    )
    yield Ask(
        what="a status that is not there",
        method="PATCH",
        path=f"{widgets}/none/status",
        body={"status": {}},
    )
    plains = f"{WIDGETS}/namespaces/{ns}/plains"
    plain = {"apiVersion": f"{GROUP}/v1", "kind": "Plain", "metadata": {"name": "p"}}
    yield Ask(
        what="a plain",
        method="POST",
        path=plains,
        body={**plain, "spec": {"a": 1}, "status": {"b": 1}},
    )
    yield Ask(
        what="a plain's status raises its generation",
        method="PATCH",
        path=f"{plains}/p",
        body={"status": {"b": 2}},
    )
    yield Ask(
        what="apply without a manager",
        method="PATCH",
        path=f"{maps}/c",
        type=APPLY,
        body=config_map(),
    )
    yield Ask(
        what="apply makes it",
        method="PATCH",
        path=f"{maps}/applied",
        type=APPLY,
        query={"fieldManager": "me"},
        body=config_map("applied", data={"a": "1"}),
    )
    for what, meta in (("version", {"resourceVersion": "1"}), ("uid", {"uid": "other"})):
        for data in ({"a": "1"}, {"a": "2"}):
            yield Ask(
                what=f"applied to another {what}",
                method="PATCH",
                path=f"{maps}/applied",
                type=APPLY,
                query={"fieldManager": "me"},
                body=config_map("applied", data=data) | {"metadata": {"name": "applied", **meta}},
            )
    yield Ask(what="force of another patch", method="PATCH", path=f"{maps}/c",
              query={"force": "true"}, body={})  # fmt: skip
