"""Signals, waiting for the API server, and the lag of the loop."""

import asyncio
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from kq.app.process import Counted, before, measure_lag, stop_on_signals, until_answered
from kq.core.kinds import JOB
from kq.kube.errors import Forbidden, Unreachable
from kq.metrics import Metrics

SECOND_SIGNAL = """
import asyncio
from kq.app.process import stop_on_signals

async def main():
    with stop_on_signals() as stop:
        print("ready", flush=True)
        await stop.wait()
        print("stopping", flush=True)
        await asyncio.sleep(3600)

asyncio.run(main())
"""


def test_the_second_signal_ends_the_process_at_once() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SECOND_SIGNAL], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        lines = [process.stdout.readline(), process.stdout.readline()]
        assert "stopping\n" in lines
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 128 + signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_sets_the_stop(number: signal.Signals) -> None:
    with capture_logs() as logs, stop_on_signals() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stop.wait(), 10)
    assert [(each["event"], each["reason"]) for each in logs] == [("stopping", number.name)]


async def test_afterwards_signals_are_as_before() -> None:
    known = signal.getsignal(signal.SIGTERM)
    with stop_on_signals():
        pass
    assert signal.getsignal(signal.SIGTERM) is known


# -- before


async def test_work_that_is_done_gives_its_result() -> None:
    assert await before(asyncio.Event(), asyncio.sleep(0, "done")) == "done"


async def test_a_stop_that_comes_first_gives_the_work_up() -> None:
    stop, given_up = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            stop.set()
            await asyncio.Event().wait()
        finally:
            given_up.set()

    assert await before(stop, work()) is None
    await asyncio.wait_for(given_up.wait(), 10)


async def test_work_that_fails_raises() -> None:
    async def work() -> None:
        raise Forbidden("no", code=403)

    with pytest.raises(Forbidden):
        await before(asyncio.Event(), work())


async def test_a_wait_that_is_cancelled_leaves_nothing_running() -> None:
    waiting = asyncio.create_task(before(asyncio.Event(), asyncio.sleep(3600)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


# -- until_answered


@pytest.mark.looptime
async def test_the_api_server_is_asked_until_it_answers() -> None:
    answers: list[Any] = [Unreachable("no route"), Forbidden("not yours", code=403), "yes"]

    async def ask() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    started = asyncio.get_running_loop().time()
    with capture_logs() as logs:
        assert await until_answered("first run", ask) == "yes"
    assert asyncio.get_running_loop().time() - started == pytest.approx(4.0)
    assert [(each["request"], each["error"], each["reason"]) for each in logs] == [
        ("first run", "no route", ""),
        ("first run", "not yours", "the service account lacks a right"),
    ]


async def test_an_error_of_another_kind_is_not_waited_out() -> None:
    async def ask() -> None:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        await until_answered("first run", ask)


# -- metrics


@pytest.mark.looptime
async def test_the_lag_of_the_loop_is_measured_every_five_seconds() -> None:
    registry = CollectorRegistry()
    task = asyncio.create_task(measure_lag(Metrics(registry, version="test")))
    await asyncio.sleep(12)
    task.cancel()
    assert registry.get_sample_value("kq_loop_lag_seconds_count") == 2.0
    assert registry.get_sample_value("kq_loop_lag_seconds_sum") == pytest.approx(0.0, abs=0.01)


def test_what_client_informers_and_recorder_count_has_its_names() -> None:
    registry = CollectorRegistry()
    counted = Counted(Metrics(registry, version="test").client)
    counted.request(method="GET", code="200", host="api", seconds=0.5)
    counted.watch_idle(JOB, lambda: 42.0)
    counted.available(JOB, False)
    counted.undecodable(JOB)
    counted.handler_failed(JOB)
    counted.events("written")
    kind = {"kind": "Job"}
    for name, labels, value in (
        ("rest_client_requests_total", {"code": "200", "method": "GET", "host": "api"}, 1.0),
        ("rest_client_request_duration_seconds_sum", {"verb": "GET", "host": "api"}, 0.5),
        ("kq_watch_idle_seconds", kind, 42.0),
        ("kq_kind_available", kind, 0.0),
        ("kq_undecodable_total", kind, 1.0),
        ("kq_handler_errors_total", kind, 1.0),
        ("kq_events_total", {"outcome": "written"}, 1.0),
    ):
        assert registry.get_sample_value(name, labels) == value
