"""What quotas have in use, in the annotations in which koord-queue shows it (spec 3.10)."""

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kq.backoff import Pace
from kq.core import keys
from kq.core.kinds import QUEUE
from kq.core.model import Queue, Quota
from kq.core.resources import PSEUDO, ZERO, Resources, is_firm, plain
from kq.decide.book import Book
from kq.kube.client import Client
from kq.kube.errors import NotFound
from kq.reconcile.controller import Result
from kq.reconcile.hub import Hub

INTERVAL = 60.0
"""Seconds between two writes of one Queue's annotations."""


class Firm(NamedTuple):
    """What units use that nobody may preempt: by quota, and with all below it."""

    own: Mapping[str, Resources]
    whole: Mapping[str, Resources]


class UsageMarks:
    """Writes them where they differ, at most once a minute."""

    def __init__(
        self, *, client: Client, hub: Hub, preemptible: bool, monotonic: Callable[[], float]
    ) -> None:
        self._client = client
        self._hub = hub
        self._preemptible = preemptible
        self._monotonic = monotonic
        self._written = Pace()
        self._firm: tuple[int, Firm] | None = None

    async def bring(self, queue: Queue) -> Result:
        """The annotations of that Queue; those of a quota object alone."""
        made = self._hub.book.quotas.auto_made(queue.name)
        if made is None or made.follows is None:
            return Result()
        wanted = marks(self._hub.book, made.quota, made.follows, self._firm_now())
        differing = {
            key: text for key, text in wanted.items() if queue.annotations.get(key) != text
        }
        if not differing:
            return Result()
        left = self._written.left(queue.uid, INTERVAL, self._monotonic())
        if left:
            return Result(requeue_after=left)
        self._written.done(queue.uid, self._monotonic())
        try:
            await self._client.merge_patch(
                QUEUE,
                queue.name,
                queue.namespace,
                {"metadata": {"annotations": differing}},
                resource_version=queue.resource_version,
                uid=queue.uid,
                into=bytes,
            )
        except NotFound:
            self._written.forget(queue.uid)
        return Result()

    def _firm_now(self) -> Firm:
        """Of this second: all Queues that a change concerns are looked at together."""
        second = int(self._monotonic())
        if self._firm is None or self._firm[0] != second:
            self._firm = (second, firm_usage(self._hub.book, self._preemptible))
        return self._firm[1]


def firm_usage(book: Book, preemptible: bool) -> Firm:
    """Of all units at once; `preemptible` is what counts for those that say nothing of it."""
    own: dict[str, Resources] = {}
    whole: dict[str, Resources] = {}
    for holder, (quota, amount) in book.usage.charges().items():
        unit = book.units.get(holder)
        if unit is None or keys.is_preemptible(unit.labels, preemptible):
            continue
        own[quota] = own[quota] + amount if quota in own else amount
        for level in book.quotas.ancestry(quota):
            whole[level] = whole[level] + amount if level in whole else amount
    return Firm(own, whole)


def marks(book: Book, quota: str, limits: Quota, firm: Firm) -> dict[str, str]:
    """The six annotations, by key; each names what the quota limits and whatever else is asked."""
    whole, own = Resources(book.usage.of(quota)), Resources(book.usage.own(quota))
    firm_whole, firm_own = firm.whole.get(quota, ZERO), firm.own.get(quota, ZERO)
    shown = (
        whole,
        own,
        whole - own,
        firm_whole,
        firm_own,
        firm_whole - firm_own,
    )
    asked = {name for name in whole if not is_firm(name)}
    names = {*limits.limit, *asked} - (PSEUDO - {*limits.limit})
    return {
        key: _text(names, amounts)
        for key, amounts in zip(keys.USAGE_ANNOTATIONS, shown, strict=True)
    }


def _text(names: set[str], amounts: Resources) -> str:
    """cpu in thousandths, all else in whole units, as they are kept (spec 3.10)."""
    found = {plain(name): amounts.get(name, 0) for name in names}
    return json.dumps(found, sort_keys=True, separators=(",", ":"))
