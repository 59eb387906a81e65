"""What Queues and quotas are at this moment, for whoever scrapes the metrics (spec 18.2)."""

from collections.abc import Iterator

from kq.core.plugins import Problem
from kq.core.resources import CPU, Resources
from kq.decide.book import Book
from kq.metrics import Sample


def samples(book: Book) -> Iterator[Sample]:
    """Counts of every Queue; limit, min and usage of every quota, in base units."""
    for name in book.queues:
        waiting = book.places.waiting(name)
        yield "queueunits_in_active_queue", (name,), len(waiting) if waiting else 0
        pending, reserving, admitted = book.counts(name)
        yield "kq_pending_units", (name,), pending
        yield "kq_reserving_units", (name,), reserving
        yield "kq_admitted_units", (name,), admitted
    for name in book.quotas.names():
        chain = book.quotas.chain(name)
        level = None if isinstance(chain, Problem) or not chain else chain[0]
        limit, minimum = (level.limit, level.minimum) if level else (Resources({}), Resources({}))
        yield from _amounts("kq_quota_limit", name, limit)
        yield from _amounts("kq_quota_min", name, minimum)
        yield from _amounts("kq_quota_usage", name, Resources(book.usage.of(name)))


def _amounts(metric: str, quota: str, amounts: Resources) -> Iterator[Sample]:
    for resource, amount in amounts.items():
        yield metric, (quota, resource), amount / 1000 if resource == CPU else float(amount)
