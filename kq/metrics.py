"""Every Prometheus metric of kq, named once (spec 18.2).

Labels come from closed sets, never from the name of a job or unit. Whoever observes on a hot path
keeps the labelled child: `work_queue`, `controller`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

WORK_QUEUE_BUCKETS = tuple(float(f"1e{exponent}") for exponent in range(-8, 2))
"""client-go's: 1e-8 * 10^n seconds, ten of them."""

CYCLE_BUCKETS_MS = tuple(0.01 * 2**exponent for exponent in range(15))
BRIEF_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
LASTING_BUCKETS = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 14400, 43200, 86400, 604800)

Ages = Callable[[], list[float]]
"""Gives, for each item that a work queue has in process, the seconds since it was taken."""


class ReconcileResult(StrEnum):
    """How a reconcile ended, as `kq_reconcile_total` counts it."""

    SUCCESS = "success"
    ERROR = "error"
    REQUEUE_AFTER = "requeue_after"
    TERMINAL = "terminal"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerMetrics:
    """What one controller reports."""

    results: Mapping[ReconcileResult, Counter]
    panics: Counter
    seconds: Histogram


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkQueueMetrics:
    """What one work queue reports, with the meanings of client-go."""

    depth: Gauge
    adds: Counter
    waited_seconds: Histogram
    worked_seconds: Histogram
    retries: Counter

    def added(self) -> None:
        """One item more is dirty."""
        self.adds.inc()
        self.depth.inc()

    def taken(self, waited: float) -> None:
        """One item was handed out."""
        self.depth.dec()
        self.waited_seconds.observe(waited)

    def finished(self, worked: float) -> None:
        """The work on one item is over."""
        self.worked_seconds.observe(worked)

    def retried(self) -> None:
        """One item is to be added after a delay."""
        self.retries.inc()


class Families:
    """Makes metrics on one registry: a name, what it says, its labels."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.counter = partial(Counter, registry=registry)
        self.gauge = partial(Gauge, registry=registry)
        self.histogram = partial(Histogram, registry=registry)
        self.brief = partial(Histogram, registry=registry, buckets=BRIEF_BUCKETS)
        self.lasting = partial(Histogram, registry=registry, buckets=LASTING_BUCKETS)


class WorkQueueFamilies:
    """The metrics of all work queues, by `name`."""

    def __init__(self, make: Families) -> None:
        self._depth = make.gauge("workqueue_depth", "Items queued", ["name"])
        self._adds = make.counter("workqueue_adds", "Items added", ["name"])
        self._waited = make.histogram(
            "workqueue_queue_duration_seconds",
            "Seconds from add to get",
            ["name"],
            buckets=WORK_QUEUE_BUCKETS,
        )
        self._worked = make.histogram(
            "workqueue_work_duration_seconds",
            "Seconds from get to done",
            ["name"],
            buckets=WORK_QUEUE_BUCKETS,
        )
        self._unfinished = make.gauge(
            "workqueue_unfinished_work_seconds", "Sum of the ages of items in process", ["name"]
        )
        self._longest = make.gauge(
            "workqueue_longest_running_processor_seconds", "Age of the oldest in process", ["name"]
        )
        self._retries = make.counter("workqueue_retries", "Items added after a delay", ["name"])

    def of(self, name: str, ages: Ages) -> WorkQueueMetrics:
        """The metrics of one queue; the ages are read whenever somebody looks."""
        self._unfinished.labels(name).set_function(lambda: sum(ages()))
        self._longest.labels(name).set_function(lambda: max(ages(), default=0.0))
        return WorkQueueMetrics(
            depth=self._depth.labels(name),
            adds=self._adds.labels(name),
            waited_seconds=self._waited.labels(name),
            worked_seconds=self._worked.labels(name),
            retries=self._retries.labels(name),
        )


class ClientMetrics:
    """Requests to the API server."""

    def __init__(self, make: Families) -> None:
        self.requests = make.counter(
            "rest_client_requests", "Requests to the API server", ["code", "method", "host"]
        )
        self.seconds = make.brief(
            "rest_client_request_duration_seconds", "Seconds a request took", ["verb", "host"]
        )
        self.watch_idle = make.gauge(
            "kq_watch_idle_seconds", "Seconds since a watch last brought anything", ["kind"]
        )
        self.undecodable = make.counter("kq_undecodable", "Objects that cannot be read", ["kind"])
        self.available = make.gauge("kq_kind_available", "Whether a kind is served", ["kind"])
        self.handler_errors = make.counter("kq_handler_errors", "Handlers that failed", ["kind"])
        self.events = make.counter("kq_events", "Events, by what became of them", ["outcome"])


class AdmissionMetrics:
    """Calls of the webhook."""

    def __init__(self, make: Families) -> None:
        self.requests = make.counter(
            "kq_admission_requests", "Reviews answered", ["webhook", "kind", "result"]
        )
        self.errors = make.counter(
            "kq_admission_errors", "Reviews that met an error of ours", ["webhook", "kind"]
        )
        self.seconds = make.brief(
            "kq_admission_seconds", "Seconds a review took", ["webhook", "kind"]
        )


class TlsMetrics:
    """The certificate that is served."""

    def __init__(self, make: Families) -> None:
        self._expiry = make.gauge("kq_tls_expiry_seconds", "Unix time of the end", ["which"])
        self._refusals = make.counter("kq_tls_reload_errors", "Pairs that were refused")

    def loaded(self, serving_until: datetime, ca_until: datetime) -> None:
        """A new pair is served from now on."""
        self._expiry.labels("serving").set(serving_until.timestamp())
        self._expiry.labels("ca").set(ca_until.timestamp())

    def refused(self) -> None:
        """The files were looked at and refused."""
        self._refusals.inc()


SHOWN = {
    "queueunits_in_active_queue": ("Candidates", ("queue",)),
    "kq_pending_units": ("Units that wait", ("queue",)),
    "kq_reserving_units": ("Units with checks pending", ("queue",)),
    "kq_admitted_units": ("Units that hold quota and go", ("queue",)),
    "kq_quota_limit": ("Limit, in base units", ("quota", "resource")),
    "kq_quota_min": ("Guaranteed minimum, in base units", ("quota", "resource")),
    "kq_quota_usage": ("Usage, in base units", ("quota", "resource")),
}
"""Gauges that are read when somebody looks: help and labels."""

Sample = tuple[str, tuple[str, ...], float]
"""One of `SHOWN`, the values of its labels, its value."""


class Shown(Collector):
    """What Queues and quotas are at this moment; series of what is gone are gone too."""

    def __init__(self, read: Callable[[], Iterable[Sample]]) -> None:
        self._read = read

    def collect(self) -> Iterable[Metric]:
        """All families, with their samples of now."""
        families = {
            name: GaugeMetricFamily(name, text, labels=labels)
            for name, (text, labels) in SHOWN.items()
        }
        for name, labels, value in self._read():
            families[name].add_metric(labels, value)
        return families.values()


class SchedulingMetrics:
    """Queues, quotas and the units in them; shown by the leader only."""

    def __init__(self, make: Families) -> None:
        self.cycle_ms = make.histogram(
            "job_scheduling_algorithm_latency",
            "Milliseconds of one cycle",
            buckets=CYCLE_BUCKETS_MS,
        )
        # It counts, yet is a gauge: counters of this library cannot be without `_total`.
        self.attempts = make.gauge(
            "job_schedule_attempts", "Candidates tried (only rises)", ["queue", "result"]
        )
        self.admission_wait = make.lasting(
            "kq_admission_wait_seconds", "Seconds from queued to dequeued", ["queue"]
        )
        self.start = make.lasting("kq_start_seconds", "Seconds from dequeued to running", ["queue"])
        self.cycles = make.counter("kq_cycles", "Scheduling cycles", ["queue"])
        self.cycle_seconds = make.brief("kq_cycle_seconds", "Seconds of one cycle")
        self.evictions = make.counter("kq_evictions", "Grants taken back", ["queue", "reason"])
        self.slipped_jobs = make.counter(
            "kq_slipped_jobs", "Jobs that ran before they were let go", ["kind"]
        )
        self.unknown_states = make.counter(
            "kq_unknown_states",
            "Jobs in a state that kq does not know, at its first sight",
            ["kind"],
        )
        self.hold_ineffective = make.counter(
            "kq_hold_ineffective", "Jobs whose pods ran though they were held", ["kind"]
        )

    def forget_queue(self, queue: str) -> None:
        """Drop every series of a queue that is gone."""
        for family in (self.attempts, self.admission_wait, self.start, self.cycles, self.evictions):
            family.remove_by_labels({"queue": queue})


class Metrics:
    """All metrics of one process, on the registry that its `/metrics` shows."""

    def __init__(self, registry: CollectorRegistry, *, version: str) -> None:
        # A `_created` series for each counter and bucket would nearly double the text.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = registry
        make = Families(registry)
        self.client = ClientMetrics(make)
        self.admission = AdmissionMetrics(make)
        self.tls = TlsMetrics(make)
        self.scheduling = SchedulingMetrics(make)
        self.loop_lag = make.brief("kq_loop_lag_seconds", "Seconds the event loop came late")
        make.gauge("kq_build_info", "Always 1", ["version"]).labels(version).set(1)
        self._work_queues = WorkQueueFamilies(make)
        self._reconciles = make.counter(
            "kq_reconcile", "Reconciles by how they ended", ["controller", "result"]
        )
        self._panics = make.counter(
            "kq_reconcile_panics", "Reconciles that met an error nobody foresaw", ["controller"]
        )
        self._reconcile_seconds = make.brief(
            "kq_reconcile_seconds", "Seconds of one reconcile", ["controller"]
        )

    def show(self, read: Callable[[], Iterable[Sample]]) -> None:
        """Have Queues and quotas read at each scrape."""
        self._registry.register(Shown(read))

    def work_queue(self, name: str) -> Callable[[Ages], WorkQueueMetrics]:
        """The `metrics` argument for the work queue of that name."""
        return lambda ages: self._work_queues.of(name, ages)

    def controller(self, name: str) -> ControllerMetrics:
        """The metrics of the controller of that name; every result is shown from 0 on."""
        return ControllerMetrics(
            results={result: self._reconciles.labels(name, result) for result in ReconcileResult},
            panics=self._panics.labels(name),
            seconds=self._reconcile_seconds.labels(name),
        )
