import pytest
from cluster_objects import (
    NOW,
    ago,
    came,
    changed,
    driven,
    job,
    owned_by,
    pod,
    refused,
    view_of,
    went,
    words,
    written,
)

from kq.sim.api.status import ApiStatus
from kq.sim.cluster.collector import Collector
from kq.sim.control.controller import Key
from kq.sim.control.writes import Propagation


def deleting(finalizer, name="a"):
    return job(name, meta={"deletionTimestamp": ago(1), "finalizers": [finalizer]})


def concerned(happened, *objects):
    view = view_of(*objects)
    view.apply(happened)
    return [due.key.about for due in Collector().concerns(happened, view, NOW)]


def writes_for(uid, *objects):
    return written(Collector().sync(Key("", "", uid), view_of(*objects), NOW))


def test_dependents_of_what_is_gone_are_looked_at():
    owner = job()
    assert concerned(went(owner), owner, pod("p", owner=owner), pod("q")) == ["pod-p"]


def test_dependents_of_what_waits_for_them_are_looked_at_too():
    owner, now = job(), deleting("foregroundDeletion")
    assert concerned(changed(owner, now), owner, pod("p", owner=owner)) == ["job-a", "pod-p"]


def test_an_owner_that_waits_is_looked_at_when_a_dependent_goes():
    owner = deleting("foregroundDeletion")
    made = pod("p", owner=owner)
    assert concerned(went(made), owner, made) == ["job-a"]


def test_what_is_made_for_an_owner_that_is_not_there_is_looked_at():
    assert concerned(came(pod("p", owner=job()))) == ["pod-p"]


def test_what_is_made_for_an_owner_that_is_there_is_not():
    owner = job()
    assert concerned(came(pod("p", owner=owner)), owner) == []


def test_an_owner_of_another_namespace_is_none():
    owner = job(meta={"namespace": "other"})
    assert concerned(came(pod("p", owner=owner)), owner) == ["pod-p"]


def test_what_has_lost_its_owners_is_deleted():
    [delete] = writes_for("pod-p", pod("p", owner=job()))
    assert (delete.name, delete.uid, delete.version) == ("p", "pod-p", "3")
    assert delete.propagation is Propagation.BACKGROUND


@pytest.mark.parametrize(
    ("finalizer", "propagation"),
    [("orphan", Propagation.ORPHAN), ("foregroundDeletion", Propagation.FOREGROUND)],
)
def test_a_wish_about_dependents_is_kept(finalizer, propagation):
    made = pod("p", owner=job(), meta={"finalizers": [finalizer]}, tracked=False)
    [delete] = writes_for("pod-p", made)
    assert delete.propagation is propagation


def test_what_still_has_an_owner_only_loses_the_reference():
    gone, stays = job("gone"), job("stays")
    made = pod("p", owner=gone)
    made["metadata"]["ownerReferences"].append(owned_by(stays, controller=False))
    [patch] = writes_for("pod-p", stays, made)
    left = patch.body["metadata"]["ownerReferences"]
    assert [each["uid"] for each in left] == ["job-stays"]
    assert patch.body["metadata"]["resourceVersion"] == "3"


def test_what_has_its_owner_is_left_alone():
    owner = job()
    assert writes_for("pod-p", owner, pod("p", owner=owner)) == []


def test_dependents_are_deleted_before_an_owner_that_waits():
    owner = deleting("foregroundDeletion")
    made = pod("p", owner=owner)
    assert words(writes_for("pod-p", owner, made)) == ["delete p"]
    assert writes_for("job-a", owner, made) == []


def test_a_dependent_with_dependents_waits_for_them_in_turn():
    cron = {**deleting("foregroundDeletion", "c"), "kind": "CronJob"}
    child = job("a", meta={"ownerReferences": [owned_by(cron)]})
    [delete] = writes_for("job-a", cron, child, pod("p", owner=child))
    assert delete.propagation is Propagation.FOREGROUND


def test_an_owner_without_dependents_waits_no_longer():
    [patch] = writes_for("job-a", deleting("foregroundDeletion"))
    assert patch.body["metadata"]["finalizers"] is None


def test_a_dependent_that_does_not_block_holds_up_nobody():
    owner = deleting("foregroundDeletion")
    made = pod("p", owner=owner)
    made["metadata"]["ownerReferences"] = [owned_by(owner, blockOwnerDeletion=False)]
    assert words(writes_for("job-a", owner, made)) == ["patch meta of a"]


def test_orphans_are_let_go_of_before_their_owner():
    owner = deleting("orphan")
    first, last = writes_for("job-a", owner, pod("p", owner=owner))
    assert (first.name, first.body["metadata"]["ownerReferences"]) == ("p", None)
    assert (last.name, last.body["metadata"]["finalizers"]) == ("a", None)


def test_a_conflict_is_tried_again():
    plan = Collector().sync(Key("", "", "pod-p"), view_of(pod("p", owner=job())), NOW)
    with pytest.raises(ApiStatus):
        driven(plan, lambda _: refused("Conflict"))


def test_what_is_gone_already_is_no_failure():
    plan = Collector().sync(Key("", "", "pod-p"), view_of(pod("p", owner=job())), NOW)
    assert words(written(plan, lambda _: refused("NotFound", 404))) == ["delete p"]


def test_what_is_gone_is_not_looked_at():
    assert writes_for("pod-p") == []
