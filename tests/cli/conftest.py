"""`kq` called in this process, as its entry point does."""

import sys
from collections.abc import Callable

import pytest

from kq.cli.main import main

Called = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kq_main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Called:
    """Runs `kq` with these arguments; its exit code, stdout and stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["kq", *arguments])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        return code, *capsys.readouterr()

    return run
