"""What kq knows of each job kind, one module a family.

Belongs here: how a kind shows its pod sets and its state, and the patches that hold it and let it
run (spec 8). Does not: when to do so (`decide`), or any I/O. `INTEGRATIONS` is the registry, in the
order of spec 8.1.
"""

from collections.abc import Callable, Iterable

from kq.jobs.batch import BatchJob
from kq.jobs.integration import JobIntegration
from kq.jobs.options import JobOptions

INTEGRATIONS: dict[str, Callable[[JobOptions], JobIntegration]] = {
    "job": BatchJob,
}
"""By the key of `--enabled-extensions`."""


def make_integrations(enabled: Iterable[str], options: JobOptions) -> list[JobIntegration]:
    """Those of the keys, each kind once, in the order of spec 8.1."""
    keys = set(enabled)
    return [make(options) for key, make in INTEGRATIONS.items() if key in keys]
