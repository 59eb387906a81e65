from cluster_objects import NOW, changed, job, pod, view_of, went

from kq.sim.control.objects import JOBS, PODS, with_condition
from kq.sim.control.view import View


def names(objects):
    return [each["metadata"]["name"] for each in objects]


def test_objects_are_found_by_place_uid_and_namespace():
    view = view_of(job(), pod("p"), pod("q", meta={"namespace": "other"}))
    assert names(view.within(PODS, "n")) == ["p"]
    assert sorted(view.kinds_within("n")) == [JOBS, PODS]
    assert view.get(PODS, "other", "q")["metadata"]["uid"] == "pod-q"
    assert view.known("job-a").kind == JOBS


def test_dependents_are_found_by_their_owner():
    owner = job()
    view = view_of(owner, pod("p", owner=owner), pod("q", owner=owner), pod("r"))
    assert names(view.owned_of(PODS, "job-a")) == ["p", "q"]
    assert view.owned_of(JOBS, "job-a") == []


def test_a_dependent_that_is_let_go_of_is_owned_no_more():
    owner = job()
    made = pod("p", owner=owner)
    view = view_of(owner, made)
    view.apply(changed(made, pod("p")))
    assert view.owned("job-a") == []
    assert view.known("pod-p").obj == pod("p")


def test_dependents_outlive_their_owner_in_the_view():
    owner = job()
    view = view_of(owner, pod("p", owner=owner))
    view.apply(went(owner))
    assert view.known("job-a") is None
    assert names(view.owned_of(PODS, "job-a")) == ["p"]


def test_what_is_gone_is_found_nowhere():
    owner = job()
    made = pod("p", owner=owner)
    view = view_of(owner, made)
    view.apply(went(made))
    assert view.get(PODS, "n", "p") is None
    assert list(view.within(PODS, "n")) == []
    assert view.owned("job-a") == []
    assert list(view.kinds_within("n")) == [JOBS]


def test_an_empty_view_knows_nothing():
    view = View()
    assert (view.get(PODS, "n", "p"), view.known("x"), view.owned("x")) == (None, None, [])


SAID = {"type": "T", "status": "True", "reason": "R", "message": "M"}


def test_a_new_condition_is_put_at_the_end():
    found = with_condition([{"type": "S", "status": "True"}], SAID, NOW)
    assert [each["type"] for each in found] == ["S", "T"]


def test_a_condition_that_is_said_already_changes_nothing():
    assert with_condition([{**SAID, "lastTransitionTime": "x"}], SAID, NOW) is None


def test_a_condition_that_changes_keeps_its_place():
    conditions = [{**SAID, "reason": "Q"}, {"type": "S", "status": "True"}]
    found = with_condition(conditions, SAID, NOW)
    assert [(each["type"], each.get("reason")) for each in found] == [("T", "R"), ("S", None)]


def test_what_never_was_is_not_said_to_be_false():
    assert with_condition([], {**SAID, "status": "False"}, NOW) is None
