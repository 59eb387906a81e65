"""What a hold added is named for its release (spec 6.7)."""

import pytest

from kq.jobs import INTEGRATIONS
from kq.jobs.injected import injected
from kq.jobs.options import JobOptions


@pytest.mark.parametrize(
    ("kind", "job", "names"),
    [
        ("job", {"spec": {}}, {"suspend"}),
        ("job", {"spec": {"suspend": True}}, set()),
        ("tfjob", {"spec": {}}, {"suspend", "annotation"}),
        ("sparkapp", {"spec": {"suspend": False}}, {"suspend", "annotation"}),
        ("rayjob", {"spec": {}}, {"suspend", "shutdown-after-finish"}),
        ("rayjob", {"spec": {"shutdownAfterJobFinishes": True}}, {"suspend"}),
        ("workflow", {"spec": {"templates": [{"name": "a"}]}}, {"suspend", "template"}),
        ("workflow", {"spec": {"workflowTemplateRef": {"name": "t"}}}, {"suspend"}),
        (
            "workflow",
            {"spec": {"synchronization": {"mutexes": [{"name": "m"}]}}},
            {"suspend", "locks"},
        ),
        ("workflow", {"spec": {"suspend": True}, "status": {"phase": "Succeeded"}}, set()),
    ],
)
def test_each_thing_that_a_hold_adds_has_a_name(kind, job, names):
    job = {**job, "metadata": {"name": "j"}}
    hold = INTEGRATIONS[kind](JobOptions()).hold(job)
    assert injected(hold.to_json_patch(job)) == names
