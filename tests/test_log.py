import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
import structlog

from kq.log import WORK, LogFormat, configure
from kq.reconcile.controller import Attended, Request


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def lines(capture: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in capture.readouterr().err.splitlines()]


def test_a_line_is_json_with_time_level_event_and_keys(capfd: pytest.CaptureFixture[str]) -> None:
    configure("info", LogFormat.JSON)
    structlog.get_logger(component="queue").info("queue unit dequeued", unit="team/a")
    (line,) = lines(capfd)
    time = datetime.fromisoformat(line.pop("time"))
    assert time.utcoffset() == timedelta(0)
    assert line == {
        "level": "info",
        "event": "queue unit dequeued",
        "component": "queue",
        "unit": "team/a",
    }


def test_known_keys_come_first_and_in_one_order(capfd: pytest.CaptureFixture[str]) -> None:
    configure("info", LogFormat.JSON)
    structlog.get_logger().info("done", extra=1, reason="Blocked", component="queue")
    (line,) = lines(capfd)
    assert list(line) == ["time", "level", "event", "component", "reason", "extra"]


def test_what_is_worked_on_is_in_every_line(capfd: pytest.CaptureFixture[str]) -> None:
    configure("info", LogFormat.JSON)
    attended = WORK.set(Attended("job", "a1", 31, Request("team", "train", "Job")))
    structlog.get_logger().info("suspended")
    WORK.reset(attended)
    structlog.get_logger().info("outside")
    inside, outside = lines(capfd)
    assert (inside["component"], inside["request_id"]) == ("job", "a1-1f")
    assert (inside["key"], inside["kind"]) == ("team/train", "Job")
    assert "request_id" not in outside


@pytest.mark.parametrize(
    ("level", "seen"),
    [
        pytest.param("debug", ["d", "i", "w"], id="debug"),
        pytest.param("info", ["i", "w"], id="info"),
        pytest.param("WARNING", ["w"], id="warning, in capitals"),
    ],
)
def test_lines_below_the_level_are_left_out(
    level: str, seen: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    configure(level, LogFormat.JSON)
    log = structlog.get_logger()
    log.debug("d")
    log.info("i")
    log.warning("w")
    assert [line["event"] for line in lines(capfd)] == seen


def test_values_that_json_does_not_know_are_written_as_text(
    capfd: pytest.CaptureFixture[str],
) -> None:
    configure("info", LogFormat.JSON)
    structlog.get_logger().info("failed", error=ValueError("no number"))
    (line,) = lines(capfd)
    assert line["error"] == "no number"


def test_an_exception_is_written_with_its_traceback_in_one_line(
    capfd: pytest.CaptureFixture[str],
) -> None:
    configure("info", LogFormat.JSON)
    structlog.get_logger().error("failed", exc_info=ValueError("no number"))
    (line,) = lines(capfd)
    assert line["exception"] == "ValueError: no number"


def test_what_libraries_log_comes_out_in_the_same_form(capfd: pytest.CaptureFixture[str]) -> None:
    configure("info", LogFormat.JSON)
    logging.getLogger("aiohttp.server").warning("cannot read %s", "a request")
    logging.getLogger("aiohttp.server").debug("not seen")
    (line,) = lines(capfd)
    assert line["component"] == "aiohttp.server"
    assert line["event"] == "cannot read a request"
    assert line["level"] == "warning"


def test_the_console_form_is_text(capfd: pytest.CaptureFixture[str]) -> None:
    configure("info", LogFormat.CONSOLE)
    structlog.get_logger().info("queue unit dequeued", unit="team/a")
    text = capfd.readouterr().err
    assert "queue unit dequeued" in text
    assert "unit=team/a" in text
