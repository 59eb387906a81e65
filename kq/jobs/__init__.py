"""What kq knows of each job kind, one module a family.

Belongs here: how a kind shows its pod sets and its state, and the patches that hold it and let it
run (spec 8). Does not: when to do so (`decide`), or any I/O. `INTEGRATIONS` is the registry, in the
order of spec 8.1.
"""

from kq.jobs.batch import BatchJob
from kq.jobs.integration import JobIntegration

INTEGRATIONS: dict[str, JobIntegration] = {
    "job": BatchJob(),
}
"""By the key of `--enabled-extensions`."""
