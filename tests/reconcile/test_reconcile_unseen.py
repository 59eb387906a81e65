"""Quota of jobs whose operators do not count pods, while the watch of pods is behind (24.3)."""

from typing import Any

import builders
import pytest
from shells import Ground

from kq.core.kinds import POD, ResourceKind
from kq.core.model import Condition, JobState, JobView, Phase, QueueUnit
from kq.reconcile.job import JobReconciler

TF = ResourceKind("kubeflow.org", "v1", "TFJob", "tfjobs")
RAY = ResourceKind("ray.io", "v1", "RayJob", "rayjobs")
RUNNING: dict[str, Any] = {"kind": TF, "resource_version": "50", "has_run": True}


class Behind(Ground):
    """A reconciler that knows pods up to a version."""

    def __init__(self, reached: int) -> None:
        super().__init__(builders.quota(cpu=5), kinds=("Job", "TFJob"))
        self.reconciler = JobReconciler(
            family=None,  # type: ignore[arg-type]
            hub=self.hub,
            executor=self.executor,
            gatherer=None,  # type: ignore[arg-type]
            strikes=None,  # type: ignore[arg-type]
            refusals=None,  # type: ignore[arg-type]
            metrics=self.metrics,
            clock=self.clock,
            monotonic=self.clock.monotonic,
            pods_reached=lambda: reached,
            keeps_time=False,
        )

    def may_have_pods(self, job: JobView, unit: QueueUnit) -> bool:
        return self.reconciler._may_have_pods(job, unit)


HELD = builders.unit(phase=Phase.RUNNING)
ENDED = builders.job_view(**RUNNING, state=JobState.SUCCEEDED, suspended=False)
STOPPED = builders.job_view(**RUNNING, suspended=True)


@pytest.mark.parametrize("job", [ENDED, STOPPED], ids=["ended", "stopped"])
def test_what_an_operator_said_later_than_pods_were_seen_is_looked_up(job: JobView) -> None:
    assert Behind(49).may_have_pods(job, HELD)
    assert not Behind(50).may_have_pods(job, HELD)


def test_who_counts_pods_or_holds_nothing_or_runs_is_not_looked_up() -> None:
    ground = Behind(0)
    runs = builders.job_view(**RUNNING, suspended=False)
    counted = builders.job_view(**RUNNING, suspended=True, counts_pods=True)
    fresh = builders.job_view(kind=TF, resource_version="50", suspended=True)
    assert not ground.may_have_pods(runs, HELD)
    assert not ground.may_have_pods(counted, HELD)
    assert not ground.may_have_pods(STOPPED, builders.unit())
    assert not ground.may_have_pods(fresh, builders.unit(phase=Phase.DEQUEUED))
    assert ground.may_have_pods(fresh, builders.unit(phase=Phase.DEQUEUED, attempts=2))


def test_an_operator_that_forgets_that_its_job_ran_is_not_believed() -> None:
    """KubeRay clears what it said of a run when it has suspended it."""
    marked = builders.unit(phase=Phase.DEQUEUED, conditions=(Condition("Evicted", True, "x", "x"),))
    forgot = builders.job_view(kind=RAY, resource_version="50", suspended=True)
    assert Behind(49).may_have_pods(forgot, marked)


def test_known_pods_speak_for_themselves() -> None:
    ground = Behind(0)
    ground.book.saw(builders.pod(job="train"))
    assert not ground.may_have_pods(ENDED, HELD)


async def test_pods_are_found_by_the_label_of_their_operator() -> None:
    ground = Behind(0)
    assert not await ground.executor.has_pods(ENDED)
    labels = {"training.kubeflow.org/job-name": "train"}
    ground.api.put(POD, {"metadata": {"namespace": "team-a", "name": "p", "labels": labels}})
    assert await ground.executor.has_pods(ENDED)


RAY_STOPPED = builders.job_view(kind=RAY, resource_version="50", has_run=True, suspended=True)


def test_a_rayjob_whose_cluster_nobody_names_is_looked_up_too() -> None:
    assert Behind(49).may_have_pods(RAY_STOPPED, HELD)
