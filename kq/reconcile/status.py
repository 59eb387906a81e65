"""Writes the status of Queues: counts, usage, conditions, the line (spec 3.1, 3.9)."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from heapq import nsmallest
from itertools import filterfalse, islice
from typing import Any

from kq.backoff import Pace
from kq.core import codec, messages
from kq.core.kinds import QUEUE
from kq.core.messages import Reason
from kq.core.model import Condition, Queue
from kq.core.plugins import AutoMade, Blocking, Problem, own_levels
from kq.core.resources import Resources, is_firm, plain
from kq.decide import autoqueue, queuesettings
from kq.decide.quotafaults import QuotaRemarks
from kq.kube.client import Client
from kq.kube.errors import NotFound
from kq.kube.store import Lister
from kq.reconcile.controller import Request, Result
from kq.reconcile.events import Teller
from kq.reconcile.hub import Hub
from kq.reconcile.usagemarks import UsageMarks

COUNTS_INTERVAL = 5.0
ITEMS = "queueItemDetails"
MOST_ITEMS = 1000
HIDE_KEYS = tuple(f"{each}/disable-show-queue-items" for each in ("koord-queue", "kube-queue"))
Item = tuple[str, str, int, int]


class StatusReconciler:
    """One Queue; at most one write in its interval, and none if nothing differs."""

    def __init__(
        self,
        *,
        client: Client,
        hub: Hub,
        teller: Teller,
        queues: Lister[Queue],
        namespace: str,
        policies: tuple[str, ...],
        remarks: QuotaRemarks,
        marks: UsageMarks | None = None,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
    ) -> None:
        self._client = client
        self._hub = hub
        self._teller = teller
        self._queues = queues
        self._namespace = namespace
        self._policies = policies
        self._remarks = remarks
        self._marks = marks
        self._clock = clock
        self._monotonic = monotonic
        self._written = Pace()
        self._items_written = Pace()

    async def reconcile(self, request: Request) -> Result:
        """The Queue of that name; one in a wrong namespace, which is named then, is only told."""
        self._hub.status_taken(request.name)
        queue = self._queues.get(request.namespace or self._namespace, request.name)
        if queue is None:
            return Result()
        left = self._written.left(queue.uid, COUNTS_INTERVAL, self._monotonic())
        if left:
            return Result(requeue_after=left)
        is_ours = queue.namespace == self._namespace
        patch = self._patch(queue) if is_ours else self._told_wrong(queue)
        if not patch:
            return await self._marks.bring(queue) if self._marks and is_ours else Result()
        self._written.done(queue.uid, self._monotonic())
        try:
            await self._client.merge_patch(
                QUEUE,
                queue.name,
                queue.namespace,
                {"status": patch},
                subresource="status",
                resource_version=queue.resource_version,
                into=bytes,
            )
        except NotFound:
            self._written.forget(queue.uid)
        if (
            ITEMS in patch
        ):  # not before: a conflict would keep the line waiting for a whole interval
            self._items_written.done(queue.uid, self._monotonic())
        return Result()

    def _told_wrong(self, queue: Queue) -> dict[str, Any]:
        """Only Queues of the install namespace count (spec 3.1)."""
        text = f"queues count in namespace {self._namespace} only"
        wrong = Condition("Active", False, "WrongNamespace", text)
        return self._conditions_patch(queue, [wrong])

    def _conditions_patch(self, queue: Queue, wanted: Sequence[Condition]) -> dict[str, Any]:
        conditions = queue.conditions
        for each in wanted:
            conditions = codec.with_condition(conditions, each, self._clock())
        if conditions == queue.conditions:
            return {}
        self._tell_faults(queue)
        return {"conditions": codec.conditions_to_wire(conditions)}

    def _tell_faults(self, queue: Queue) -> None:
        """Each once, for as long as the condition Active names it (spec 22.1)."""
        if queue.namespace != self._namespace:
            return
        said = "; ".join(each.message for each in queue.conditions if each.type == "Active")
        for text in queuesettings.faults(queue, self._policies):
            if text not in said:
                self._teller.tell(queue, True, "AddQueueFail", text)

    def _patch(self, queue: Queue) -> dict[str, Any]:
        """What differs from what the Queue says."""
        patch: dict[str, Any] = {}
        counts = self._hub.book.counts(queue.name)
        if counts != queue.counts:
            names = ("pendingUnits", "reservingUnits", "admittedUnits")
            patch |= dict(zip(names, counts, strict=True))
        patch |= self._conditions_patch(queue, self._conditions(queue))
        patch |= self._items_patch(queue)
        usage = self._usage(queue.name)
        if usage != queue.usage:
            gone = dict.fromkeys(name for name in queue.usage if name not in usage)
            patch["usage"] = {**usage, **gone}
        if queue.observed != queue.generation:
            patch["observedGeneration"] = queue.generation
        return patch

    def _usage(self, queue: str) -> dict[str, str]:
        """What the Queue's quota has in use, as far as it limits it; of several the most."""
        made = self._hub.book.quotas.auto_made(queue)
        used: dict[str, int] = {}
        for level, limit in self._limits(made) if made is not None else ():
            of_level = self._hub.book.usage.of(level)
            for name in filterfalse(is_firm, limit):
                used[plain(name)] = max(used.get(plain(name), 0), of_level.get(name, 0))
        return Resources.of(used).to_wire()

    def _limits(self, made: AutoMade) -> Iterable[tuple[str, Resources]]:
        """The levels of a quota's own; one that takes no units itself has what is below it."""
        chain = self._hub.book.quotas.chain(made.quota)
        if not isinstance(chain, Problem):
            return [(level.name, level.limit) for level in own_levels(chain)]
        return [(made.quota, made.follows.limit)] if made.follows is not None else []

    def _items_patch(self, queue: Queue) -> dict[str, Any]:
        """The line, if it differs and its own interval is over (spec 3.9)."""
        items = self._items(queue)
        if items == queue.items:
            return {}
        interval = queuesettings.interval_of(queue)
        left = self._items_written.left(queue.uid, interval, self._monotonic())
        if left:
            self._hub.queues.status.add_after(Request("", queue.name), left)
            return {}
        return {ITEMS: {"active": [_item(each) for each in items]}}

    def _items(self, queue: Queue) -> tuple[Item, ...]:
        if any(key in queue.annotations for key in HIDE_KEYS):
            return ()
        units = self._hub.book.units
        line = islice(self._line(queue), MOST_ITEMS)
        return tuple(
            (units[key].name, units[key].namespace, units[key].priority or 0, position)
            for position, key in enumerate(line, 1)
        )

    def _line(self, queue: Queue) -> Iterable[str]:
        """Who waits, in the order in which they are tried, or will be once it goes on again."""
        book = self._hub.book
        if not queuesettings.is_stopped(queue):
            return (place[2] for place in book.places.in_order(queue.name))
        policy = book.lines.policy(queue)
        places = []
        for key in book.places.at_queue(queue.name):
            verdict = book.verdict(key)
            if verdict is not None and verdict.reason == Reason.STOPPED:
                order = policy.order_key(book.units[key])
                places.append((policy.rank(order), order))
        return [order[2] for _, order in nsmallest(MOST_ITEMS, places)]

    def _conditions(self, queue: Queue) -> list[Condition]:
        return [self._active(queue), self._blocked(queue)]

    def _blocked(self, queue: Queue) -> Condition:
        """Who bars others; of several one that can never fit, as that one does not pass (10.10)."""
        book = self._hub.book
        policy, outcome = book.lines.policy(queue), book.lines.outcomes.get(queue.name)
        heads = [
            (not short.impossible, place, short)
            for place, short in (outcome.blocking.values() if outcome else ())
            if policy.blocks(policy.rank(place), policy.rank(place)) is Blocking.BARRED
        ]
        if not heads:
            return Condition("Blocked", False, "NotBlocked", "")
        _, place, short = min(heads, key=lambda each: each[:2])
        reason = "HeadCanNeverFit" if short.impossible else "HeadDoesNotFit"
        return Condition("Blocked", True, reason, f"{place[2]}: {short.problem.message}")

    def _active(self, queue: Queue) -> Condition:
        """Whether its units can start, and what of its settings or its quota is wrong."""
        faults = queuesettings.faults(queue, self._policies)
        found = self._stopped(queue) or self._without_quota(queue)
        if found is not None:
            told = "; ".join((found.message, *faults))
            return Condition("Active", False, found.reason, told)
        known = not queue.policy or queue.policy in self._policies
        told = messages.cut("; ".join((*faults, *self._of_its_quota(queue))))
        return Condition("Active", True, "Ready" if known else "UnknownPolicy", told)

    def _of_its_quota(self, queue: Queue) -> tuple[str, ...]:
        """What is wrong with its quota, or one above, and keeps nobody waiting (spec 11.6)."""
        quotas = self._hub.book.quotas
        made = quotas.auto_made(queue.name)
        return self._remarks.of(made.quota, quotas) if made is not None else ()

    def _stopped(self, queue: Queue) -> Problem | None:
        if not queuesettings.is_stopped(queue):
            return None
        return Problem("Stopped", messages.m22(queue.name))

    def _without_quota(self, queue: Queue) -> Problem | None:
        """What is wrong with its quota. One made by hand takes units of any (spec 10.3)."""
        made = self._hub.book.quotas.auto_made(queue.name)
        if made is None and not autoqueue.is_auto_made(queue):
            return None
        chain = self._hub.book.quotas.chain(made.quota if made is not None else queue.name)
        if isinstance(chain, Problem) and chain.reason in (Reason.NOT_FOUND, Reason.INVALID):
            return chain
        return None


def _item(item: Item) -> dict[str, object]:
    name, namespace, priority, position = item
    return {"name": name, "namespace": namespace, "priority": priority, "position": position}
