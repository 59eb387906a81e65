"""The kinds of jobs of histories: Job, and in some of them those of operators."""

from collections.abc import Iterable
from dataclasses import replace

import kind_cases_data as data
import kind_cases_kubeflow as kubeflow
import objects
from ground import Object
from kind_cases import KindCase, Played, has, spec_suspends

from kq.core.kinds import JOB


def has_ended(job: Object) -> bool:
    """Whether a Job is over, well or badly."""
    return bool(has("Complete")(job) or has("Failed")(job))


def one_job(name: str, played: Played) -> Object:
    """A Job of one pod."""
    marks = {"run-for": played.run_for, "linger-for": played.linger_for}
    return objects.job(name, "", {"cpu": 1}, played=marks)


ONE_JOB = KindCase(
    kind=JOB,
    operators=(),
    suffix="",
    manifest=one_job,
    pods=1,
    cpu=1,
    pod_sets=(("main", 1),),
    is_held=spec_suspends,
    is_noticed=has("Suspended"),
    is_ended=has_ended,
    suspension={"spec": {"suspend": True}},
)
CASES = {
    case.kind.kind: case
    for case in (
        kubeflow.TF_JOB,
        kubeflow.PYTORCH_JOB,
        kubeflow.training("XGBoostJob", "-xgb-qu"),
        kubeflow.training("PaddleJob", "-paddle-qu"),
        kubeflow.MPI_JOB,
        kubeflow.JOB_SET,
        # Its JobSet stands between it and its pods.
        replace(kubeflow.TRAIN_JOB, operators=("jobset", "trainer")),
        data.RAY_JOB,
        data.RAY_CLUSTER,
        data.SPARK_APPLICATION,
        data.WORKFLOW,
    )
}
"""Those of operators."""


def case_of(kind: str) -> KindCase:
    """What is to be known of a kind."""
    return CASES.get(kind, ONE_JOB)


def served_by(operators: Iterable[str]) -> list[KindCase]:
    """The kinds that some operators look after."""
    names = set(operators)
    return [case for case in CASES.values() if names & set(case.operators)]
