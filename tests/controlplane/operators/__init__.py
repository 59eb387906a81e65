"""The controllers of other people's jobs, real ones, as processes beside a control plane.

Each is built from the Go modules in modules/, brings its own CRDs and webhooks straight from Go's
cache, and drives pods that KWOK plays. Nothing of them is copied into this tree.

    operator            what one operator consists of
    training ... spark  one module each
    program             its binary, and where its module's files are
    manifests           its CRDs and webhooks, made to fit a cluster whose webhooks are processes
    crew                those that run on one cluster: started, found again, ended
    ray_dashboard       stands in for the dashboard of a Ray cluster
    spark_submit        stands in for Spark's command
"""

from collections.abc import Iterable, Mapping

from controlplane.errors import ControlPlaneError
from controlplane.operators import argo, jobset, mpi, ray, spark, trainer, training
from controlplane.operators.operator import Operator

OPERATORS: Mapping[str, Operator] = {
    each.name: each
    for each in (
        training.OPERATOR,
        mpi.OPERATOR,
        jobset.OPERATOR,
        trainer.OPERATOR,
        ray.OPERATOR,
        argo.OPERATOR,
        spark.OPERATOR,
    )
}
"""All there are, in the order of starting: whoever needs another comes after it."""


def chosen(names: Iterable[str]) -> list[Operator]:
    """The operators of those names and those that they need, in the order of starting."""
    asked = {name.strip() for name in names} - {""}
    if unknown := sorted(asked - OPERATORS.keys()):
        raise ControlPlaneError(
            f"no operator is called {', '.join(unknown)}; there are {', '.join(OPERATORS)}"
        )
    needed = {need for name in asked for need in OPERATORS[name].needs}
    return [each for name, each in OPERATORS.items() if name in asked | needed]
