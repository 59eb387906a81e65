"""The operators of kinds of jobs that a simulated cluster can have beside its own controllers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from kq.core.kinds import Object
from kq.errors import ConfigError
from kq.jobs import INTEGRATIONS
from kq.jobs.options import JobOptions
from kq.sim.argo.workflows import WORKFLOWS, WorkflowController
from kq.sim.cluster.operators import OperatorController
from kq.sim.control.controller import Controller
from kq.sim.crds.definitions import job_kinds
from kq.sim.jobset.jobsets import JOB_SETS, JobSets
from kq.sim.jobset.trainjobs import RUNTIMES, TRAIN_JOBS, TrainJobController
from kq.sim.kubeflow.mpi import MPI_JOBS, MpiController
from kq.sim.kubeflow.trades import PADDLE, PYTORCH, TF, XGBOOST, Trade
from kq.sim.kubeflow.training import TrainingJobs
from kq.sim.ray.clusters import RayClusterController
from kq.sim.ray.jobs import RayJobController
from kq.sim.ray.parts import RAY_CLUSTERS, RAY_JOBS
from kq.sim.spark.applications import SPARK_APPLICATIONS, SparkController


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """What one operator brings to a cluster."""

    kinds: Sequence[str]
    """The kinds that it serves, by the names of their CRDs."""
    makers: Sequence[Callable[[], Controller]]
    needs: Sequence[str] = ()
    """Other operators whose kinds it makes."""


def _training(trade: Trade) -> Controller:
    return OperatorController(TrainingJobs(trade))


def _jobset() -> Controller:
    return OperatorController(JobSets())


TRADES = (TF, PYTORCH, XGBOOST, PADDLE)
OPERATORS: dict[str, Operator] = {
    "training": Operator(
        kinds=[trade.kind for trade in TRADES],
        makers=[partial(_training, trade) for trade in TRADES],
    ),
    "mpi": Operator(kinds=[MPI_JOBS], makers=[MpiController]),
    "jobset": Operator(kinds=[JOB_SETS], makers=[_jobset]),
    "trainer": Operator(
        kinds=[TRAIN_JOBS, *RUNTIMES.values()], makers=[TrainJobController], needs=["jobset"]
    ),
    "ray": Operator(
        kinds=[RAY_JOBS, RAY_CLUSTERS], makers=[RayJobController, RayClusterController]
    ),
    "argo": Operator(kinds=[WORKFLOWS], makers=[WorkflowController]),
    "spark": Operator(kinds=[SPARK_APPLICATIONS], makers=[SparkController]),
}
"""By the names that `kq sim --operators` knows."""
ALL = "all"
"""Stands for every one of them."""


def chosen(names: Iterable[str]) -> list[Operator]:
    """Those operators and the ones that they need, each once."""
    wanted = dict.fromkeys(names)
    if ALL in wanted:
        wanted = dict.fromkeys(OPERATORS)
    if unknown := [each for each in wanted if each not in OPERATORS]:
        known = ", ".join((*OPERATORS, ALL))
        raise ConfigError(f"no operator is called {', '.join(unknown)}; there are {known}")
    needed = {each for name in wanted for each in OPERATORS[name].needs}
    return [each for name, each in OPERATORS.items() if name in wanted or name in needed]


def operator_controllers(names: Iterable[str]) -> list[Controller]:
    """Their controllers anew, knowing nothing."""
    return [make() for operator in chosen(names) for make in operator.makers]


def operator_kinds(names: Iterable[str]) -> list[Object]:
    """The definitions of the kinds that they serve."""
    served = _served(names)
    return [each for each in job_kinds() if each["metadata"]["name"] in served] if served else []


def extensions(names: Iterable[str]) -> tuple[str, ...]:
    """What kq has to be told to queue their kinds too, by the keys of `--enabled-extensions`."""
    served = {"jobs.batch", *_served(names)}
    return tuple(key for key in INTEGRATIONS if not served.isdisjoint(kinds_of([key])))


def kinds_of(keys: Iterable[str]) -> set[str]:
    """The names of the kinds that keys of `--enabled-extensions` stand for."""
    made = (INTEGRATIONS[key](JobOptions()) for key in keys)
    return {f"{kind.plural}.{kind.group}" for each in made for kind in each.kinds}


def serving(api_version: str, kind: str) -> str:
    """The operator that has a kind; empty if none has."""
    definitions = {each["metadata"]["name"]: each["spec"] for each in job_kinds()}
    for name, operator in OPERATORS.items():
        for spec in (definitions[each] for each in operator.kinds):
            versions = [f"{spec['group']}/{each['name']}" for each in spec["versions"]]
            if spec["names"]["kind"] == kind and api_version in versions:
                return name
    return ""


def _served(names: Iterable[str]) -> set[str]:
    return {kind for operator in chosen(names) for kind in operator.kinds}
