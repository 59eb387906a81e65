"""Jobs of any kind whose pods are played otherwise, or ask for something else."""

import copy
from collections.abc import Callable
from typing import Any

import kind_cases_data as data
import kind_cases_kubeflow as kubeflow
from ground import Object

KINDS = (
    kubeflow.TF_JOB,
    kubeflow.MPI_JOB,
    kubeflow.JOB_SET,
    kubeflow.TRAIN_JOB,
    data.RAY_JOB,
    data.RAY_CLUSTER,
    data.SPARK_APPLICATION,
    data.WORKFLOW,
)
"""One of each operator, and of each way to be held."""


def altered(job: Object, change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """A copy of a job with that done to each map in its spec, the outer ones first."""
    made: dict[str, Any] = copy.deepcopy(dict(job))
    _each(made["spec"], change)
    return made


def _each(value: Any, change: Callable[[dict[str, Any]], None]) -> None:
    if isinstance(value, dict):
        change(value)
        for each in list(value.values()):
            _each(each, change)
    elif isinstance(value, list):
        for each in value:
            _each(each, change)


def never_starting(job: Object) -> dict[str, Any]:
    """Its pods stay Pending."""

    def change(part: dict[str, Any]) -> None:
        if "run-for" in part:
            part["start-after"] = "9h"

    return altered(job, change)
