"""The order inside a Queue, shared by the policies (spec 10.4)."""

from kq.core import codec, keys
from kq.core.model import QueueUnit
from kq.core.plugins import OrderKey


def by_priority_and_age(unit: QueueUnit) -> OrderKey:
    """Priority descending, then age of the job, then key; a requeued unit keeps its place."""
    created = codec.parse_time(unit.annotations.get(keys.JOB_CREATION)) or unit.created
    return (-(unit.priority or 0), created.timestamp(), unit.key)
