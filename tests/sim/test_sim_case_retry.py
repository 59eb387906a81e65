"""Retry modes, their switches, and displacement, simulated (spec 10.18-10.22, 13.12)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import pytest
from reading import phase_of
from sim_case import Case, on_stage
from simulated_ground import manifests

from kq.cli.laying import default_policy, load_settings
from kq.core import keys
from kq.core.kinds import JOB, QUEUE_UNIT
from kq.core.messages import M29
from kq.sim.world import Terms

NO_FLAGS = {"config": None, "enabled_extensions": None, "default_queue_policy": None}
PRIORITY = {"StrictPriority": "true"}
CONSISTENCY = {"StrictConsistency": "true"}
ROWS = [
    pytest.param("event", {}, "high", True, id="event"),
    pytest.param("event", PRIORITY, "high", False, id="event, StrictPriority"),
    pytest.param("event", CONSISTENCY, "high", True, id="event, StrictConsistency"),
    pytest.param("event", PRIORITY | CONSISTENCY, "high", False, id="event, both"),
    pytest.param("backoff", {}, "new", True, id="backoff"),
    pytest.param("backoff", PRIORITY, "high", False, id="backoff, StrictPriority"),
    pytest.param("backoff", CONSISTENCY, "high", True, id="backoff, StrictConsistency"),
    pytest.param("backoff", PRIORITY | CONSISTENCY, "high", False, id="backoff, both"),
]
"""The table of 10.21: who gets what is freed, and whether low ones pass a high one."""


@contextmanager
def set_up(mode: str, environ: Mapping[str, str]) -> Iterator[Case]:
    settings = load_settings(NO_FLAGS, environ)
    settings = replace(settings, scheduling=replace(settings.scheduling, retry=mode))
    policy = default_policy(settings, NO_FLAGS, environ)
    terms = Terms(objects=manifests(), settings=settings, default_policy=policy)
    with on_stage(terms=terms) as case:
        yield case


@pytest.mark.parametrize(("mode", "environ", "first", "low_ones_pass"), ROWS)
def test_who_gets_what_a_finished_job_leaves(
    mode: str, environ: Mapping[str, str], first: str, low_ones_pass: bool
) -> None:
    """Spec 10.21, case D2. The seed's example: a running job ends while the high one, whose request
    failed, sits out its back-off; may low ones take the resources, and pass it where it lacks some?
    """
    with set_up(mode, environ) as case:
        world = case.world
        quota = world.quota("a", cpu=4)
        world.job("holds", quota, cpu=4, run_for="20s")
        world.wait_phase("holds", "Running")
        world.job("high", quota, cpu=4, priority=5, run_for="5s")
        waits = f"waiting for quota {quota}: 4 cpu requested, not enough free of 4"
        rests = mode == "backoff" and "StrictPriority" not in environ
        world.wait_message("high", f"{waits}; {M29}" if rests else waits)
        world.wait_complete("holds")
        world.job("new", quota, cpu=2, run_for="5s")
        case.until(lambda: "Running" in case.phases().values(), "one of them starts")
        assert {n for n, phase in case.phases().items() if phase == "Running"} == {first}
        world.wait_complete("high", "new")

        world.job("one", quota, cpu=2, run_for="10s")
        world.job("two", quota, cpu=2, run_for="40s")
        world.wait_phase("two", "Running")
        world.job("big", quota, cpu=4, priority=5, run_for="5s")
        world.job("small", quota, cpu=2, run_for="5s")
        case.passes(35)
        assert case.phases()["two"] == "Running"
        assert (case.phases()["small"] == "Succeed") is low_ones_pass
        assert case.phases()["big"] == "Enqueued"
        world.wait_complete("big", "small")


def test_a_unit_in_back_off_is_written_once() -> None:
    """Spec 24.9, 9.10: its reason stays the same for a minute of tries."""
    with set_up("backoff", {}) as case:
        quota = case.world.quota("a", cpu=2)
        case.world.job("holds", quota, cpu=2, run_for="300s")
        case.world.wait_phase("holds", "Running")
        case.world.job("waits", quota, cpu=1)
        case.passes(3)
        written = len(case.asked("patch", "queueunits", "waits"))
        case.passes(60)
        assert case.message("waits").endswith(M29)
        assert len(case.asked("patch", "queueunits", "waits")) == written == 1


def test_one_whose_pods_do_not_start_makes_way_for_one_that_goes_first(case: Case) -> None:
    """Spec 13.12, 13.5: no node has room for the pods of the one, which is displaced."""
    once = {keys.WAIT_FOR_PODS[0]: "true"}
    quota = case.world.quota("a", cpu=4, annotations=once)
    case.world.job("stuck", quota, cpu=1, pod_spec={"nodeSelector": {"disk": "none"}})
    case.world.wait_phase("stuck", "Dequeued", "Running")
    case.world.job("younger", quota, cpu=1, run_for="5s")
    case.world.wait_message(
        "younger", f"queue {quota} waits until all pods of its last started unit run"
    )
    case.world.job("first", quota, cpu=1, priority=5, run_for="5s")
    case.world.wait_complete("first")
    told = case.world.wait_event("stuck", "Preempted", JOB)
    assert told["message"] == (
        f"Preempted by team-a/first for quota {quota}: it goes first in queue {quota}"
    )
    assert "Preempted" in {each["reason"] for each in case.world.events("stuck", QUEUE_UNIT)}
    assert case.phases()["younger"] == "Enqueued"
    case.passes(5)
    lost = case.world.wait_unit("stuck", lambda unit: phase_of(unit) != "Enqueued")
    assert lost["status"]["attempts"] == 2
