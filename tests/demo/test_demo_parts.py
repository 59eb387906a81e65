"""What the demo decides by itself: when it stops waiting, which log it names."""

from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from demo import examples, failure, story
from demo.failure import DemoError
from demo.picture import Entry, Picture
from demo.show import Show

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def entry(name: str, phase: str, *, reason: str = "", job: str = "Suspended") -> Entry:
    """A job of 4 cpu."""
    return Entry(name=name, phase=phase, reason=reason, message="", job=job, cpu=4, created=T0)


def seen(first: Entry, second: Entry) -> Picture:
    """Both jobs under a quota of 4 cpu."""
    return Picture(taken=T0, entries=(first, second), limit=4)


RUNS = entry(story.FIRST, "Running", job="Running")
ENDED = entry(story.FIRST, "Succeed", job="Complete")
NEW = entry(story.SECOND, "")
WAITS = entry(story.SECOND, "Enqueued", reason="WaitingForQuota")
STARTS = entry(story.SECOND, "Dequeued", reason="QuotaReserved")


@pytest.mark.parametrize(
    ("first", "second", "reached"),
    [
        pytest.param(entry(story.FIRST, ""), NEW, False, id="both are new"),
        pytest.param(RUNS, NEW, False, id="the second says nothing yet"),
        pytest.param(RUNS, WAITS, True, id="the second waits"),
    ],
)
def test_the_story_goes_on_once_the_second_waits(
    first: Entry, second: Entry, reached: bool
) -> None:
    assert story.one_waits(seen(first, second)) is reached


def test_a_second_that_never_waited_is_a_failure() -> None:
    with pytest.raises(DemoError, match="my-job-blocked never waited for my-job"):
        story.one_waits(seen(RUNS, STARTS))


def test_two_that_hold_quota_at_once_are_a_failure() -> None:
    with pytest.raises(DemoError, match="my-job and my-job-blocked hold quota at once"):
        story.second_starts(seen(RUNS, STARTS))


def test_the_second_starts_after_the_first() -> None:
    assert not story.second_starts(seen(RUNS, WAITS))
    assert story.second_starts(seen(ENDED, STARTS))


@pytest.mark.parametrize(
    ("second", "over"),
    [
        pytest.param(entry(story.SECOND, "Running", job="Running"), False, id="it runs"),
        pytest.param(
            entry(story.SECOND, "Running", job="Complete"), False, id="its unit is behind"
        ),
        pytest.param(entry(story.SECOND, "Succeed", job="Complete"), True, id="both say so"),
    ],
)
def test_a_round_is_over_when_jobs_and_units_say_so(second: Entry, over: bool) -> None:
    assert seen(ENDED, second).all_complete is over


def test_usage_is_that_of_units_with_quota() -> None:
    assert [seen(RUNS, WAITS).used, seen(ENDED, STARTS).used, seen(ENDED, ENDED).used] == [4, 4, 0]


@pytest.mark.parametrize("name", ["jobs.yaml", "jobs-without-suspend.yaml"])
def test_an_example_is_changed_in_its_run_time_alone(tmp_path: Path, name: str) -> None:
    example = examples.shortened(name, tmp_path)
    original = (examples.FOLDER / name).read_text()
    assert example.path.read_text() == original.replace("run-for: 30s", "run-for: 5s")
    assert "its 2 pods run 5s, not 30s" in example.remark


def logs(folder: Path) -> tuple[Path, Path]:
    """One log of the control plane, one of kq."""
    server, manager = folder / "control-plane/logs/kwok.log", folder / "kq/manager-1.log"
    for log in (server, manager):
        log.parent.mkdir(parents=True)
        log.write_text(f"the end of {log.name}\n")
    return server, manager


def test_a_log_that_the_failure_names_is_shown(tmp_path: Path) -> None:
    server, _ = logs(tmp_path)
    lines = failure.report(DemoError(f"not ready; its log is {server}"), tmp_path)
    assert f"log {server}, its last lines:" in lines
    assert "    the end of kwok.log" in lines
    assert not any("manager" in line for line in lines)


def test_the_logs_of_kq_are_shown_if_the_failure_names_none(tmp_path: Path) -> None:
    _, manager = logs(tmp_path)
    lines = failure.report(DemoError("not done after 90 s"), tmp_path)
    assert f"log {manager}, its last lines:" in lines
    assert not any("kwok" in line for line in lines)


def test_a_log_that_the_failure_quotes_is_not_shown_twice(tmp_path: Path) -> None:
    _, manager = logs(tmp_path)
    lines = failure.report(DemoError(f"the end of its log {manager}:\n    boom"), tmp_path)
    assert len(lines) == 2


def shown(*pictures: Picture, terminal: bool) -> str:
    """What a console got of these pictures."""
    console = Console(file=StringIO(), force_terminal=terminal, width=100, _environ={})
    show = Show(console)
    with show.live():
        for each in pictures:
            show.picture(each)
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def test_off_a_terminal_each_change_is_one_line() -> None:
    lines = shown(seen(RUNS, NEW), seen(RUNS, WAITS), seen(RUNS, WAITS), terminal=False)
    assert [line.split("cpu ")[1].split() for line in lines.splitlines()] == [
        ["4/4", "my-job", "Running", "job", "Running"],
        ["4/4", "my-job-blocked", "-", "job", "Suspended"],
        ["4/4", "my-job-blocked", "Enqueued", "job", "Suspended"],
    ]


def test_on_a_terminal_the_last_picture_stays() -> None:
    table = shown(seen(RUNS, WAITS), seen(ENDED, ENDED), terminal=True)
    assert "0 of 4 cpu in use" in table.rsplit("quota team-a", 1)[1]
