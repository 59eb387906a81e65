"""What kq knows of each job kind, one module a family.

Belongs here: how a kind shows its pod sets and its state, and the patches that hold it and let it
run (spec 8). Does not: when to do so (`decide`), or any I/O. `INTEGRATIONS` is the registry, in the
order of spec 8.1.
"""

from collections.abc import Callable, Iterable
from functools import partial

from kq.jobs.argo import Workflow
from kq.jobs.batch import BatchJob
from kq.jobs.integration import JobIntegration
from kq.jobs.jobset import JobSet
from kq.jobs.kubeflow import PADDLEJOB, PYTORCHJOB, TFJOB, XGBOOSTJOB, KubeflowJob
from kq.jobs.mpi import MpiJob
from kq.jobs.options import JobOptions
from kq.jobs.ray import RayCluster, RayJob
from kq.jobs.spark import SparkApplication
from kq.jobs.trainjob import TrainJob

INTEGRATIONS: dict[str, Callable[[JobOptions], JobIntegration]] = {
    "job": BatchJob,
    "tfjob": partial(KubeflowJob, TFJOB),
    "pytorchjob": partial(KubeflowJob, PYTORCHJOB),
    "mpijob": MpiJob,
    "xgboostjob": partial(KubeflowJob, XGBOOSTJOB),
    "paddlejob": partial(KubeflowJob, PADDLEJOB),
    "sparkapp": SparkApplication,
    "workflow": Workflow,
    "rayjob": RayJob,
    "raycluster": RayCluster,
    "jobset": JobSet,
    "trainjob": TrainJob,
}
"""By the key of `--enabled-extensions`."""

ALIASES = {"rayjobv1alpha1": "rayjob"}
"""Keys of the reference that say the same."""


def make_integrations(enabled: Iterable[str], options: JobOptions) -> list[JobIntegration]:
    """Those of the keys, each kind once, in the order of spec 8.1."""
    keys = set(enabled)
    return [make(options) for key, make in INTEGRATIONS.items() if key in keys]
