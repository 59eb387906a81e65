from datetime import timedelta

import pytest
from cluster_objects import (
    NOW,
    accepted,
    ago,
    came,
    driven,
    job,
    pod,
    refused,
    view_of,
    went,
    words,
    written,
)

from kq.sim.api.status import ApiStatus
from kq.sim.cluster.namespaces import AccountController, NamespaceController
from kq.sim.control.controller import Due, Key
from kq.sim.control.view import View
from kq.sim.control.writes import DeleteAll, Replace

KEY = Key("", "n")


def namespace(*, deleted=True, finalizers=("kubernetes",)):
    meta = {"name": "n", "uid": "ns-n", "resourceVersion": "1"}
    if deleted:
        meta["deletionTimestamp"] = ago(5)
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": meta,
        "spec": {"finalizers": list(finalizers)},
        "status": {"phase": "Terminating" if deleted else "Active"},
    }


def account():
    meta = {"name": "default", "namespace": "n", "uid": "sa"}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}


def emptying(view, *, keeps=()):
    """A server that deletes what it is told to, but for some kinds."""

    def answer(write):
        if isinstance(write, DeleteAll) and write.kind not in keeps:
            for obj in list(view.within(write.kind, write.namespace)):
                view.apply(went(obj))
        return accepted(write)

    return answer


def test_a_deleted_namespace_is_looked_at_after_a_while():
    found = NamespaceController().concerns(came(namespace()), View(), NOW)
    assert list(found) == [Due(KEY, 5.0)]


def test_a_namespace_that_stays_is_not():
    assert not list(NamespaceController().concerns(came(namespace(deleted=False)), View(), NOW))


def test_all_goes_and_then_the_namespace_itself():
    view = view_of(namespace(), job(), account(), pod())
    writes = written(NamespaceController().sync(KEY, view, NOW), emptying(view))
    kinds = [each.kind for each in writes if isinstance(each, DeleteAll)]
    assert kinds == ["pods", "jobs.batch", "serviceaccounts", "events"]
    assert words(writes)[-2:] == ["replace status of n", "replace finalize of n"]
    assert writes[-1].body["spec"]["finalizers"] == []


def test_nothing_else_goes_while_pods_stay():
    spec = {"terminationGracePeriodSeconds": 30}
    view = view_of(namespace(), job(), pod(spec=spec))
    writes, again = driven(
        NamespaceController().sync(KEY, view, NOW), emptying(view, keeps=["pods"])
    )
    assert [each.kind for each in writes if isinstance(each, DeleteAll)] == ["pods"]
    assert again == timedelta(seconds=16)


def test_what_stays_is_said_in_the_status():
    held = job(meta={"finalizers": ["x/y"]})
    view = view_of(namespace(), held)
    writes, again = driven(
        NamespaceController().sync(KEY, view, NOW), emptying(view, keeps=["jobs.batch"])
    )
    [status] = [each.body["status"] for each in writes if isinstance(each, Replace)]
    said = {each["type"]: (each["status"], each["message"]) for each in status["conditions"]}
    assert said["NamespaceContentRemaining"] == (
        "True",
        "Some resources are remaining: jobs.batch has 1 resource instances",
    )
    assert said["NamespaceFinalizersRemaining"] == (
        "True",
        "Some content in the namespace has finalizers remaining: x/y in 1 resource instances",
    )
    assert again == timedelta(seconds=8)


def test_a_namespace_that_others_hold_is_left_to_them():
    view = view_of(namespace(finalizers=["other"]))
    assert written(NamespaceController().sync(KEY, view, NOW)) == []


@pytest.mark.parametrize(
    ("happened", "due"),
    [
        pytest.param(came(namespace(deleted=False)), [Due(KEY)], id="a new namespace"),
        pytest.param(went(account()), [Due(KEY)], id="an account that is gone"),
        pytest.param(came(account()), [], id="an account that comes"),
    ],
)
def test_accounts_are_looked_for_when_they_may_lack(happened, due):
    assert list(AccountController().concerns(happened, View(), NOW)) == due


def test_a_namespace_gets_its_default_account():
    [create] = written(AccountController().sync(KEY, view_of(namespace(deleted=False)), NOW))
    assert create.body["metadata"] == {"name": "default", "namespace": "n"}


@pytest.mark.parametrize(
    "objects", [[namespace()], [namespace(deleted=False), account()], []], ids=len
)
def test_no_account_is_made_where_none_lacks(objects):
    assert written(AccountController().sync(KEY, view_of(*objects), NOW)) == []


def test_an_account_that_somebody_else_made_is_as_good():
    plan = AccountController().sync(KEY, view_of(namespace(deleted=False)), NOW)
    assert len(written(plan, lambda _: refused("AlreadyExists"))) == 1


def test_an_account_that_cannot_be_made_is_tried_again():
    plan = AccountController().sync(KEY, view_of(namespace(deleted=False)), NOW)
    with pytest.raises(ApiStatus):
        driven(plan, lambda _: refused("InternalError", 500))
