"""What would become of a job that is not submitted (spec 19.6a)."""

import pytest
from builders import NOW, queue, quota, unit
from explain_scene import settled

from kq.core.model import Phase
from kq.explain.explanation import explain_unsent


@pytest.mark.parametrize(
    ("fields", "starts", "can_fit", "nearest", "position"),
    [
        ({"cpu": 1}, True, True, [], 1),
        ({"cpu": 3}, False, True, [], 1),
        ({"cpu": 3, "minute": 9}, False, True, [], 2),
        ({"cpu": 9}, False, False, [], 1),
        ({"quota": "taem-a"}, False, None, ["team-a", "team-b"], None),
    ],
    ids=["starts", "waits", "behind another", "never", "no such quota"],
)
def test_what_becomes_of_a_job_that_is_not_submitted(fields, starts, can_fit, nearest, position):
    """Spec 19.6a."""
    views = (queue(), unit("r", cpu=2, phase=Phase.RUNNING), unit("w", cpu=4, minute=1))
    of = settled(quota(cpu=4), quota("team-b"), views=views)
    found = explain_unsent(of, unit("new", **fields), NOW)
    assert (found.starts, found.can_fit, list(found.nearest)) == (starts, can_fit, nearest)
    assert found.explanation.position == position
    assert bool(found.obstacle) == (can_fit is False)


def test_a_job_not_submitted_whose_queue_is_only_made_for_it():
    """Spec 10.2."""
    found = explain_unsent(settled(quota(cpu=4), views=()), unit("new"), NOW)
    assert (found.queue, found.starts, found.request) == ("team-a", True, {"cpu": "1"})
