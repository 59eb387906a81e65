"""What every load stands in."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench import frame
from bench.failure import BenchError


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def failing(error: BaseException) -> Callable[[Path], Callable[[], None]]:
    def work(folder: Path) -> Callable[[], None]:
        (folder / "kq").mkdir()
        (folder / "kq" / "manager-1.log").write_text("it went so\n")
        raise error

    return work


def test_what_was_found_is_shown_once_the_folder_is_gone(tmp_path: Path) -> None:
    shown = []

    def work(folder: Path) -> Callable[[], None]:
        assert folder.is_dir()
        return lambda: shown.append(list(tmp_path.iterdir()))

    assert frame.framed("load", work) == 0
    assert shown == [[]]


@pytest.mark.parametrize(
    ("error", "told"),
    [(BenchError("no job came"), "failed: no job came"), (ValueError(3), "failed: ValueError(3)")],
)
def test_a_failure_names_logs_and_the_folder_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], error: Exception, told: str
) -> None:
    assert frame.framed("load", failing(error)) == 1
    out = "".join(capsys.readouterr())
    assert told in out
    assert "it went so" in out
    [folder] = tmp_path.iterdir()
    assert f"all logs and data stay in {folder}" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_breaks_it_off_finds_nothing_left_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    def work(folder: Path) -> Callable[[], None]:
        signal.raise_signal(number)
        raise AssertionError("it went on")

    assert frame.framed("load", work) == frame.INTERRUPTED
    assert "interrupted; nothing was left" in "".join(capsys.readouterr())
    assert list(tmp_path.iterdir()) == []


def test_figures_are_written_with_their_conditions(tmp_path: Path) -> None:
    frame.write_figures({"released": 3}, {"cores": 2}, tmp_path / "f.json")
    assert json.loads((tmp_path / "f.json").read_text()) == {
        "released": 3,
        "conditions": {"cores": 2},
    }
    frame.write_figures({}, {}, None)
    assert frame.title_of({"load_average_before": 0.1, "cores": 2}) == (
        "load average before 0.1, cores 2"
    )
