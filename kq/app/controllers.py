"""The manager's controllers: which reconciler works off which queue, with how many workers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from kq.app.quotasources import SOURCES
from kq.clock import Clocks
from kq.decide.quotafaults import QuotaRemarks
from kq.decide.situation import Patience, Rules
from kq.jobs import INTEGRATIONS, make_integrations
from kq.jobs.integration import JobIntegration
from kq.kube.client import Client
from kq.kube.errors import AlreadyExists, Conflict, NotFound
from kq.kube.recorder import Recorder
from kq.metrics import Metrics
from kq.policies import POLICIES
from kq.quota.resolve import is_excluded
from kq.reconcile.controller import Controller, Reconciler, Request
from kq.reconcile.events import Teller
from kq.reconcile.execute import Executor
from kq.reconcile.family import Family
from kq.reconcile.gather import Gatherer
from kq.reconcile.grants import GrantsReconciler
from kq.reconcile.hub import Hub
from kq.reconcile.intake import IntakeReconciler
from kq.reconcile.job import JobReconciler
from kq.reconcile.jobwriter import JobWriter
from kq.reconcile.owners import Owners
from kq.reconcile.pods import PodsReconciler
from kq.reconcile.queue import QueueReconciler
from kq.reconcile.quotas import QuotasReconciler
from kq.reconcile.status import StatusReconciler
from kq.reconcile.strikes import Refusals, Strikes
from kq.reconcile.units import UnitsReconciler
from kq.reconcile.usagemarks import UsageMarks
from kq.reconcile.watches import Watches
from kq.settings import Settings
from kq.workqueue.queue import WorkQueue

WORKERS = {
    "job": 16,
    "intake": 8,
    "queue": 1,
    "grants": 16,
    "units": 4,
    "quotas": 1,
    "status": 2,
    "pods": 1,
}
"""Cycles run one at a time over all Queues (spec 10.8); the others may work side by side.

New jobs have workers of their own, and reasons have few: a thousand of either must not keep a job
that has its grant, or one that has ended, waiting for the API server.
"""

SHORTEST = 1
"""Seconds of a first back-off at least: what is refused at once is never tried in a tight loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What reconcilers are built from."""

    client: Client
    hub: Hub
    watches: Watches
    recorder: Recorder
    settings: Settings
    metrics: Metrics
    integrations: Mapping[str, JobIntegration]
    default_policy: str
    first_runs: Mapping[str, datetime]
    clocks: Clocks


def make_controllers(parts: Parts, gatherer: Gatherer) -> dict[str, Controller]:
    """All of them, by name."""
    teller = Teller(parts.recorder)
    executor = Executor(
        client=parts.client,
        hub=parts.hub,
        teller=teller,
        jobs=JobWriter(
            client=parts.client, integrations=parts.integrations, clock=parts.clocks.now
        ),
    )
    reconcilers = {**_deciders(parts, gatherer, executor, teller), **_keepers(parts, teller)}
    queues: Mapping[str, WorkQueue[Request]] = {
        name: getattr(parts.hub.queues, name) for name in WORKERS
    }
    return {
        name: Controller(
            name=name,
            reconciler=each,
            queue=queues[name],
            metrics=parts.metrics,
            workers=WORKERS[name],
            quiet=(Conflict, NotFound, AlreadyExists),
        )
        for name, each in reconcilers.items()
    }


def _deciders(
    parts: Parts, gatherer: Gatherer, executor: Executor, teller: Teller
) -> dict[str, Reconciler]:
    """Those who bring jobs and units on."""
    hub, scheduling = parts.hub, parts.metrics.scheduling
    strikes, refusals = Strikes(), Refusals()
    return {
        "job": JobReconciler(
            family=Family(parts.watches),
            hub=hub,
            executor=executor,
            gatherer=gatherer,
            strikes=strikes,
            refusals=refusals,
            metrics=scheduling,
            clock=parts.clocks.now,
            monotonic=parts.clocks.monotonic,
            pods_reached=lambda: parts.watches.pods.reached,
            keeps_time=bool(parts.settings.jobs.finishedUnitTTLSeconds),
        ),
        "intake": IntakeReconciler(
            family=Family(parts.watches),
            hub=hub,
            executor=executor,
            gatherer=gatherer,
            strikes=strikes,
            refusals=refusals,
            metrics=scheduling,
            clock=parts.clocks.now,
        ),
        "queue": QueueReconciler(
            hub=hub, metrics=scheduling, clock=parts.clocks.now, modest=lambda: modest(parts)
        ),
        "grants": GrantsReconciler(
            hub=hub, executor=executor, teller=teller, metrics=scheduling, clock=parts.clocks.now
        ),
        "units": UnitsReconciler(hub=hub, executor=executor, teller=teller, clock=parts.clocks.now),
    }


def make_gatherer(parts: Parts) -> Gatherer:
    """What looks up all that a job's plan rests on."""
    jobs, selection = parts.settings.jobs, parts.settings.selection
    return Gatherer(
        watches=parts.watches,
        hub=parts.hub,
        owners=Owners(parts.client),
        is_excluded=lambda namespace: is_excluded(namespace, selection),
        holds_unmatched=jobs.unmatchedJobs == "hold",
        bypass_enabled=parts.settings.security.bypass.enabled,
        suffixes=jobs.unitSuffixes,
        labels_pods=parts.settings.webhook.labelPodTemplates,
        demands_resources=jobs.workflow.missingMinResources == "hold",
        rules=Rules(
            slipped=jobs.slippedJobs,
            grace_seconds=jobs.slippedGraceSeconds,
            finished_ttl_seconds=jobs.finishedUnitTTLSeconds,
            patience=patience_of(parts.settings),
        ),
        first_runs=parts.first_runs,
    )


def modest(parts: Parts) -> set[str]:
    """PriorityClasses whose preemptionPolicy is Never (spec 13.2)."""
    classes = parts.watches.priority_classes.lister.values()
    return {each.name for each in classes if each.view.preemption_policy == "Never"}


def patience_of(settings: Settings) -> dict[str, Patience]:
    """How long jobs may take, by kind (spec 9.6, 9.7, 9.12)."""
    backoff, found = settings.scheduling.backoff, {}
    for key in INTEGRATIONS:
        of_kind = getattr(settings.jobs, key)
        (integration,) = make_integrations([key], settings.job_options)
        found[integration.kinds[0].kind] = Patience(
            start=timedelta(seconds=of_kind.runningTimeout),
            base=timedelta(seconds=max(SHORTEST, of_kind.backoffTimeout)),
            longest=timedelta(seconds=backoff.maxSeconds),
            limit=backoff.limit,
        )
    return found


def usage_marks(parts: Parts) -> UsageMarks | None:
    """Who shows usage in annotations, if that is wanted (spec 3.10)."""
    quota = parts.settings.quota
    if not quota.usageAnnotations:
        return None
    return UsageMarks(
        client=parts.client,
        hub=parts.hub,
        preemptible=quota.defaultPreemptible,
        monotonic=parts.clocks.monotonic,
    )


def _keepers(parts: Parts, teller: Teller) -> dict[str, Reconciler]:
    """Those who look after Queues, quotas and pods."""
    namespace, watches = parts.settings.installNamespace, parts.watches
    source = SOURCES[parts.settings.quotaPlugin]
    return {
        "quotas": QuotasReconciler(
            client=parts.client,
            hub=parts.hub,
            teller=teller,
            queues=watches.queues.lister,
            faults=lambda queue: source.faults(queue, watches.quotas.lister, parts.hub.book.quotas),
            namespace=namespace,
            default_policy=parts.default_policy,
        ),
        "status": StatusReconciler(
            client=parts.client,
            hub=parts.hub,
            teller=teller,
            queues=watches.queues.lister,
            namespace=namespace,
            policies=tuple(POLICIES),
            remarks=QuotaRemarks(lambda: source.texts(watches.quotas.lister.values())),
            marks=usage_marks(parts),
            clock=parts.clocks.now,
            monotonic=parts.clocks.monotonic,
        ),
        "pods": PodsReconciler(
            client=parts.client,
            pods=watches.pods.lister,
            hub=parts.hub,
            teller=teller,
            limit_seconds=parts.settings.quota.terminatingLimitSeconds,
            clock=parts.clocks.now,
        ),
    }
