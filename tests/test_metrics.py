import re

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from kq.metrics import Metrics, ReconcileResult


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> Metrics:
    return Metrics(registry, version="1.2.3")


def exposed(registry: CollectorRegistry) -> str:
    return generate_latest(registry).decode()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("workqueue_depth", "gauge"),
        ("workqueue_adds_total", "counter"),
        ("workqueue_queue_duration_seconds", "histogram"),
        ("workqueue_work_duration_seconds", "histogram"),
        ("workqueue_unfinished_work_seconds", "gauge"),
        ("workqueue_longest_running_processor_seconds", "gauge"),
        ("workqueue_retries_total", "counter"),
        ("kq_reconcile_total", "counter"),
        ("kq_reconcile_panics_total", "counter"),
        ("kq_reconcile_seconds", "histogram"),
        ("rest_client_requests_total", "counter"),
        ("rest_client_request_duration_seconds", "histogram"),
        ("kq_admission_requests_total", "counter"),
        ("kq_admission_errors_total", "counter"),
        ("kq_admission_seconds", "histogram"),
        ("queueunits_in_active_queue", "gauge"),
        ("job_scheduling_algorithm_latency", "histogram"),
        ("job_schedule_attempts", "gauge"),
        ("kq_pending_units", "gauge"),
        ("kq_reserving_units", "gauge"),
        ("kq_admitted_units", "gauge"),
        ("kq_quota_limit", "gauge"),
        ("kq_quota_min", "gauge"),
        ("kq_quota_usage", "gauge"),
        ("kq_admission_wait_seconds", "histogram"),
        ("kq_start_seconds", "histogram"),
        ("kq_cycles_total", "counter"),
        ("kq_cycle_seconds", "histogram"),
        ("kq_evictions_total", "counter"),
        ("kq_slipped_jobs_total", "counter"),
        ("kq_hold_ineffective_total", "counter"),
        ("kq_unknown_states_total", "counter"),
        ("kq_watch_idle_seconds", "gauge"),
        ("kq_undecodable_total", "counter"),
        ("kq_loop_lag_seconds", "histogram"),
        ("kq_build_info", "gauge"),
    ],
)
def test_a_metric_is_exposed_under_its_name(
    name: str, kind: str, metrics: Metrics, registry: CollectorRegistry
) -> None:
    metrics.show(list)
    assert f"# TYPE {name} {kind}\n" in exposed(registry)


def test_the_build_is_told(metrics: Metrics, registry: CollectorRegistry) -> None:
    assert 'kq_build_info{version="1.2.3"} 1.0\n' in exposed(registry)


def test_schedule_attempts_are_counted_without_a_suffix(
    metrics: Metrics, registry: CollectorRegistry
) -> None:
    metrics.scheduling.attempts.labels("main", "scheduled").inc(2)
    assert 'job_schedule_attempts{queue="main",result="scheduled"} 2.0\n' in exposed(registry)
    assert "job_schedule_attempts_total" not in exposed(registry)


def test_no_creation_times_are_exposed(metrics: Metrics, registry: CollectorRegistry) -> None:
    metrics.scheduling.cycles.labels("main").inc()
    assert "_created" not in exposed(registry)


def test_the_results_of_a_controller_start_at_zero(
    metrics: Metrics, registry: CollectorRegistry
) -> None:
    metrics.controller("job")
    text = exposed(registry)
    shown = re.findall(r'kq_reconcile_total\{controller="job",result="(\w+)"\} 0\.0', text)
    assert sorted(shown) == sorted(ReconcileResult)
    assert 'kq_reconcile_panics_total{controller="job"} 0.0\n' in text


def bounds(text: str, name: str) -> list[str]:
    return re.findall(rf'^{name}_bucket{{.*le="([^"]+)".*}}', text, re.MULTILINE)


def test_durations_of_work_queues_have_the_buckets_of_client_go(
    metrics: Metrics, registry: CollectorRegistry
) -> None:
    metrics.work_queue("job")(list)
    assert bounds(exposed(registry), "workqueue_queue_duration_seconds") == [
        *("1e-08", "1e-07", "1e-06", "1e-05", "0.0001"),
        *("0.001", "0.01", "0.1", "1.0", "10.0", "+Inf"),
    ]


def test_a_cycle_is_measured_in_fifteen_doubling_buckets(
    metrics: Metrics, registry: CollectorRegistry
) -> None:
    found = bounds(exposed(registry), "job_scheduling_algorithm_latency")
    assert len(found) == 16
    assert (found[0], found[1], found[-2], found[-1]) == ("0.01", "0.02", "163.84", "+Inf")


def test_the_ages_of_a_work_queue_are_read_when_somebody_looks(
    metrics: Metrics, registry: CollectorRegistry
) -> None:
    ages: list[float] = []
    metrics.work_queue("job")(lambda: ages)
    name = {"name": "job"}
    assert registry.get_sample_value("workqueue_longest_running_processor_seconds", name) == 0
    ages.extend([1.0, 2.5])
    assert registry.get_sample_value("workqueue_longest_running_processor_seconds", name) == 2.5
    assert registry.get_sample_value("workqueue_unfinished_work_seconds", name) == 3.5


def test_the_series_of_a_queue_that_is_gone_disappear(
    metrics: Metrics, registry: CollectorRegistry
) -> None:
    scheduling = metrics.scheduling
    for queue in ("gone", "kept"):
        scheduling.cycles.labels(queue).inc()
        scheduling.attempts.labels(queue, "scheduled").inc()
        scheduling.evictions.labels(queue, "Preempted").inc()
        scheduling.start.labels(queue).observe(3)
    scheduling.forget_queue("gone")
    text = exposed(registry)
    assert "gone" not in text
    assert 'kq_cycles_total{queue="kept"} 1.0\n' in text


def test_queues_and_quotas_are_read_when_somebody_looks(
    metrics: Metrics, registry: CollectorRegistry
) -> None:
    now = [("kq_pending_units", ("main",), 3.0), ("kq_quota_limit", ("a", "cpu"), 1.5)]
    metrics.show(lambda: now)
    assert registry.get_sample_value("kq_pending_units", {"queue": "main"}) == 3
    limit = {"quota": "a", "resource": "cpu"}
    assert registry.get_sample_value("kq_quota_limit", limit) == 1.5
    now.pop()
    assert registry.get_sample_value("kq_quota_limit", limit) is None


def test_two_processes_in_one_do_not_share_metrics(metrics: Metrics) -> None:
    other = CollectorRegistry()
    Metrics(other, version="other")
    metrics.scheduling.cycles.labels("main").inc()
    assert 'queue="main"' not in exposed(other)
