"""States that no operator of today writes (spec 8.6): they count as running, and are told of."""

from typing import Any

import pytest

from kq.core.model import JobState
from kq.jobs import INTEGRATIONS
from kq.jobs.options import JobOptions

WRITERS: dict[str, tuple[str, Any]] = {
    "mpijob": ("kubeflow.org/v1alpha1", lambda word: {"launcherStatus": word}),
    "sparkapp": (
        "sparkoperator.k8s.io/v1beta2",
        lambda word: {"applicationState": {"state": word}},
    ),
    "workflow": ("argoproj.io/v1alpha1", lambda word: {"phase": word}),
    "rayjob": ("ray.io/v1", lambda word: {"jobDeploymentStatus": word}),
    "raycluster": ("ray.io/v1", lambda word: {"state": word}),
}
"""By key: the API version, and the status in which a word for the state stands."""
KNOWN = {
    "mpijob": ("", "Active", "Succeeded", "Failed"),
    "sparkapp": (
        "",
        "NEW",
        "SUBMITTED",
        "RUNNING",
        "COMPLETED",
        "FAILED",
        "SUBMISSION_FAILED",
        "FAILED_SUBMISSION",
        "PENDING_RERUN",
        "INVALIDATING",
        "SUCCEEDING",
        "FAILING",
        "SUSPENDING",
        "SUSPENDED",
        "RESUMING",
        "UNKNOWN",
    ),
    "workflow": ("", "Pending", "Running", "Succeeded", "Failed", "Error"),
    "rayjob": (
        "",
        "Initializing",
        "Running",
        "Complete",
        "Failed",
        "ValidationFailed",
        "Suspending",
        "Suspended",
        "Retrying",
        "Waiting",
    ),
    "raycluster": ("", "ready", "failed", "unhealthy", "suspended"),
}


def seen(key: str, word: str) -> Any:
    version, status = WRITERS[key]
    body = {"apiVersion": version, "metadata": {"name": "train"}, "status": status(word)}
    return INTEGRATIONS[key](JobOptions()).view(body)


@pytest.mark.parametrize("key", WRITERS)
def test_a_state_that_nobody_knows_is_no_end_and_is_told_of(key):
    """Spec 8.6, last sentence."""
    view = seen(key, "Dreaming")
    assert (view.state, view.unknown_state) == (JobState.RUNNING, "Dreaming")


@pytest.mark.parametrize(("key", "word"), [(key, word) for key in KNOWN for word in KNOWN[key]])
def test_the_words_of_todays_operators_are_known(key, word):
    assert seen(key, word).unknown_state == ""
