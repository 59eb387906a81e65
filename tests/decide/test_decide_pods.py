"""The pods of one job: counted by deltas, stuck ones apart."""

import msgspec
from builders import NOW, amounts, pod
from hypothesis import given
from hypothesis import strategies as st

from kq.core.resources import ZERO, Resources
from kq.decide.pods import PodGroup


def numbered(number, **fields):
    return pod(f"p{number}", **fields)


steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("put"),
            st.integers(0, 3),
            st.sampled_from(("Pending", "Running", "Succeeded", "Failed", "Unknown")),
            st.sampled_from(("", "worker")),
            st.sampled_from((1, 2)),
        ),
        st.tuples(st.just("drop"), st.integers(0, 3)),
        st.tuples(st.just("stuck"), st.integers(0, 3)),
    ),
    max_size=20,
)


@given(steps)
def test_counts_are_those_of_the_pods_that_are_there(steps):
    group, pods, stuck = PodGroup(), {}, set()
    for step in steps:
        match step:
            case ("put", number, phase, role, cpu):
                pods[number] = numbered(number, phase=phase, pod_set=role, cpu=cpu)
                group.put(pods[number])
                if not pods[number].live:
                    stuck.discard(number)
            case ("drop", number):
                pods.pop(number, None)
                stuck.discard(number)
                group.drop(f"uid-of-p{number}")
            case ("stuck", number):
                group.set_stuck(f"uid-of-p{number}")
                if number in pods and pods[number].live:
                    stuck.add(number)
        live = [each for number, each in pods.items() if each.live and number not in stuck]
        running = sum(each.phase == "Running" for each in live)
        assert (group.live, group.running, group.pending) == (
            len(live),
            running,
            len(live) - running,
        )
        assert group.empty == (not pods)
        assert group.lingering == any(each.live for each in pods.values())
        assert group.total().get("cpu") == sum(each.request.get("cpu") for each in live)
        assert group.total().get("pods") == len(live)
        assert set(group.by_pod_set) == {each.pod_set for each in live}


def test_a_terminating_pod_is_live():
    """Spec 1.7."""
    group = PodGroup()
    group.put(pod(deleted_at=NOW))
    assert (group.live, group.running) == (1, 1)


def test_a_stuck_pod_stays_stuck_when_it_is_seen_again():
    group = PodGroup()
    group.put(pod())
    group.set_stuck(pod().uid)
    group.put(msgspec.structs.replace(pod(), resource_version="2"))
    assert group.live == 0
    assert group.lingering
    group.drop(pod().uid)
    assert group.empty


def test_facts_of_the_pods_as_a_whole():
    group = PodGroup()
    assert (group.quota, group.owner_kinds, group.namespace) == ("", set(), "")
    assert group.total() == ZERO
    group.put(pod("a", quota="", cpu=1))
    group.put(pod("b", quota="team-a", cpu=2))
    assert (group.quota, group.owner_kinds, group.namespace) == ("team-a", {"Job"}, "team-a")
    assert group.by_pod_set == {"": amounts(cpu=3, pods=2)}
    assert len(list(group.pods)) == 2


def test_what_a_unit_was_charged_to_goes_before_what_pods_say():
    group = PodGroup()
    group.put(pod(quota="other"))
    group.charged = "team-a"
    assert group.quota == "team-a"


def test_ended_pods_name_no_quota():
    group = PodGroup()
    group.put(pod(phase="Succeeded"))
    assert group.quota == ""
    group.put(pod("live", quota="other"))
    assert group.quota == "other"


def test_ended_pods_name_their_quota_where_pods_count_as_objects():
    group = PodGroup()
    request = Resources.of({"cpu@:": 1000, "count/pods@:": 1})
    group.put(pod(phase="Succeeded", request=request))
    assert group.quota == "team-a"
    assert group.total() == Resources.of({"count/pods@:": 1})
    assert (group.live, group.lingering) == (0, False)
