"""What Queues and quotas are at this moment, for whoever scrapes the metrics (spec 18.2)."""

from collections.abc import Iterator

from kq.core.plugins import Level, Problem, own_levels
from kq.core.resources import Resources, in_base_units, is_firm, plain
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
        if isinstance(chain, Problem) or not chain:
            yield from _amounts("kq_quota_usage", name, Resources(book.usage.of(name)))
            continue
        for level in own_levels(chain):
            yield from _amounts("kq_quota_limit", level.name, level.limit)
            yield from _amounts("kq_quota_min", level.name, level.minimum)
            yield from _amounts("kq_quota_usage", level.name, _counted(book, level))


def _counted(book: Book, level: Level) -> Resources:
    """What counts at a level; of one beside others, what it limits."""
    used = book.usage.of(level.name)
    if not level.beside:
        return Resources(used)
    return Resources({name: used.get(name, 0) for name in level.limit})


def _amounts(metric: str, quota: str, amounts: Resources) -> Iterator[Sample]:
    for resource, amount in amounts.items():
        if is_firm(resource):
            continue
        yield metric, (quota, plain(resource)), in_base_units(resource, amount)
