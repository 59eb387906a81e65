"""`kq`: commands, exit codes, and what importing it costs (spec 16.5, 19.1)."""

import subprocess
import sys
from typing import Any

import click
import pytest

from kq import __version__
from kq.cli import commands as module
from kq.cli.commands import COMMANDS
from kq.errors import ConfigError, KqError

HEAVY = ("aiohttp", "kubernetes_asyncio", "cryptography", "yaml", "prometheus_client")


def test_help_lists_every_command(kq_main: Any) -> None:
    code, out, _err = kq_main("--help")
    assert code == 0
    for name, (_, _, text) in COMMANDS.items():
        assert f"  {name} " in out
        assert text in out


@pytest.mark.parametrize("arguments", [["version"], ["--version"]], ids=" ".join)
def test_it_says_its_version(kq_main: Any, arguments: list[str]) -> None:
    code, out, _err = kq_main(*arguments)
    assert (code, __version__ in out) == (0, True)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_of_the_table_exists_and_has_help(kq_main: Any, name: str) -> None:
    code, out, _err = kq_main(name, "-h")
    assert code == 0
    assert out.startswith(f"Usage: kq {name}")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["nope"], id="unknown command"),
        pytest.param(["manager", "--nope"], id="unknown flag"),
        pytest.param(["manager", "extra"], id="an argument too many"),
        pytest.param(["manager", "--config"], id="a value is missing"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(kq_main: Any, arguments: list[str]) -> None:
    code, out, err = kq_main(*arguments)
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "asks"),
    [
        ("nope", "kq --help"),
        ("--nope", "kq --help"),
        ("manager --nope", "kq manager --help"),
        ("certs issue", "kq certs issue --help"),
        ("certs isue", "kq certs --help"),
    ],
)
def test_wrong_use_says_where_the_right_one_stands(kq_main: Any, arguments: str, asks: str) -> None:
    code, _, err = kq_main(*arguments.split())
    assert code == 2
    assert err.endswith(f" (see {asks})\n")


@pytest.mark.parametrize("arguments", ["", "certs"])
def test_without_a_command_there_is_help_in_its_lines(kq_main: Any, arguments: str) -> None:
    code, out, err = kq_main(*arguments.split())
    assert (code, out) == (2, "")
    assert err.startswith("Usage: kq")
    assert "\nCommands:\n" in err


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_flag_that_is_shown_says_what_it_is(name: str) -> None:
    command = module.kq.get_command(click.Context(module.kq), name)
    assert command is not None
    parts = list(command.commands.values()) if isinstance(command, click.Group) else []
    for part in [command, *parts]:
        shown = [each for each in part.params if isinstance(each, click.Option) and not each.hidden]
        assert [each.name for each in shown if not each.help] == []
    assert [part.name for part in parts if "..." in part.get_short_help_str(60)] == []


def test_ctrl_c_is_one_line_wherever_it_falls(
    kq_main: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    @click.command()
    def broken_off() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.LazyGroup, "get_command", lambda *_: broken_off)
    code, out, err = kq_main("version")
    assert (code, out, err.split("\n")) == (130, "", ["", "kq: interrupted", ""])


@pytest.mark.parametrize(
    "arguments",
    [
        "--check-config",
        "-check-config",
        "-check-config -metrics-bind-address=:1",
        "-check-config -health-probe-bind-address :1",
        "-check-config -v=5",
        "-check-config --v=5",
        "-check-config -v 5",
    ],
)
def test_flags_may_have_one_dash(kq_main: Any, arguments: str) -> None:
    code, out, _err = kq_main("manager", *arguments.split())
    assert (code, out) == (0, "the configuration is fine\n")


@pytest.mark.parametrize(
    ("error", "code"), [(ConfigError("a is b, not c"), 2), (KqError("it failed"), 1)]
)
def test_errors_of_ours_are_one_line(
    kq_main: Any, monkeypatch: pytest.MonkeyPatch, error: KqError, code: int
) -> None:
    @click.command()
    def failing() -> None:
        raise error

    monkeypatch.setattr(module.LazyGroup, "get_command", lambda *_: failing)
    code, out, err = kq_main("version")
    assert (code, out, err.splitlines()) == (code, "", [f"kq: {error}"])


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "sys.argv = ['kq', '--help']\n"
        "from kq.cli.main import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "print('imported', [m for m in sorted(sys.modules) if '.' not in m])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    imported = ended.stdout.splitlines()[-1]
    assert "'click'" in imported
    assert [name for name in HEAVY if f"'{name}'" in imported] == []
