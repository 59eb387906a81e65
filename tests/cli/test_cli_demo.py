"""`kq demo` as a person runs it: in a pipe, on a terminal, broken off; and its exit code."""

import os
import pty
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from rich.console import Console

from kq.cli import demo as module
from kq.show.cast import ROLES, Cast, cast_of

DEMO = (sys.executable, "-m", "kq", "demo")
SECONDS = 100.0
ESCAPE = "\x1b"


def environment(**more: str) -> dict[str, str]:
    """That of these tests, but nothing in it speaks of colours or widths."""
    left_out = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM", "TTY_COMPATIBLE")
    return {name: value for name, value in os.environ.items() if name not in left_out} | more


def in_a_pipe(*flags: str, **more: str) -> str:
    """What it prints there; it must end well."""
    done = subprocess.run(
        [*DEMO, *flags],
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


def on_a_terminal(*flags: str, **more: str) -> str:
    """What it prints there."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*DEMO, *flags],
        env=environment(TERM="xterm-256color", **more),
        stdout=theirs,
        stderr=theirs,
        close_fds=True,
    ) as process:
        os.close(theirs)
        text = b"".join(iter(lambda: read(ours), b"")).decode()
    os.close(ours)
    assert process.returncode == 0, text
    return text


def read(terminal: int) -> bytes:
    """The next bytes; none at its end, which Linux tells by an error."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


@pytest.mark.timeout(2 * SECONDS)
def test_a_seed_gives_the_same_text_each_time() -> None:
    first = in_a_pipe("--jobs", "14", "--seed", "3", PYTHONHASHSEED="1")
    again = in_a_pipe("--jobs", "14", "--seed", "3", PYTHONHASHSEED="2")
    assert first == again
    assert "All 14 jobs finished, each once" in first
    assert ESCAPE not in first
    assert max(map(len, first.splitlines())) <= module.OFF_TERMINAL_WIDTH


@pytest.mark.timeout(2 * SECONDS)
def test_a_terminal_gets_colours_unless_they_are_not_wanted() -> None:
    flags = ("--jobs", "1", "--speed", "1000")
    in_colour, plain = on_a_terminal(*flags), on_a_terminal(*flags, NO_COLOR="1")
    assert ESCAPE in in_colour
    assert ESCAPE not in plain
    assert "resnet finished" in plain


def test_a_flag_takes_the_colours_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert module.console_of(plain=False).color_system
    assert module.console_of(plain=True).color_system is None


@pytest.mark.parametrize("moment", ["4 guaranteed", "preempted", "manager is back"])
def test_ctrl_c_ends_it_in_one_line(moment: str) -> None:
    with subprocess.Popen(
        [*DEMO, "--speed", "100"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Whoever runs the tests in the background has them ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if moment in line:
                break
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == module.INTERRUPTED
    assert rest.splitlines()[-1] == module.BROKEN_OFF
    assert "Traceback" not in rest


def test_a_reader_that_goes_away_ends_it_in_silence() -> None:
    with subprocess.Popen(
        [*DEMO], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leaves logs and chances to whoever comes after."""
    monkeypatch.setattr(module, "configure", lambda level, log_format: None)
    state = random.getstate()
    yield
    random.setstate(state)


def with_a_job_too_large(jobs: int, chance: Random) -> Cast:
    cast = cast_of(jobs, chance)
    return replace(cast, roles=[replace(cast.roles[0], gpus=99)])


@pytest.mark.usefixtures("in_this_process")
def test_a_show_that_ends_wrong_is_a_failure(kq_main: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cast_of", with_a_job_too_large)
    code, out, _err = kq_main("demo", "--jobs", "1")
    assert code == 1
    assert "job vision/resnet has not finished: Enqueued, cannot start" in out


@pytest.mark.parametrize(
    ("encoding", "bars"),
    [("utf-8", {}), ("ascii", {"full": "#", "free": "."}), ("latin-1", {"full": "#", "free": "."})],
)
def test_bars_are_of_what_can_be_written(encoding: str, bars: dict[str, str]) -> None:
    with open(os.devnull, "w", encoding=encoding) as nowhere:
        assert module.bars(Console(file=nowhere)) == bars


@pytest.mark.parametrize("flags", [["--jobs", "0"], ["--speed", "0"], ["--seed", "x"]], ids=str)
def test_what_makes_no_show_is_refused(kq_main: Any, flags: list[str]) -> None:
    code, out, err = kq_main("demo", *flags)
    assert (code, out) == (2, "")
    assert flags[0] in err


def test_the_story_is_the_default() -> None:
    jobs = next(each for each in module.demo.params if each.name == "jobs")
    assert jobs.default == len(ROLES)
