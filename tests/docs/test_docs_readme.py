"""The README names every setting, and no flag or make target that does not exist."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from kq.cli import processes
from kq.jobs import INTEGRATIONS
from kq.settings import Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CONFIGURATION = README.split("## Configuration")[1].split("\n## ")[0]
COMMANDS = {"manager": processes.manager, "webhook": processes.webhook}


def keys_of(section: Any, path: str = "") -> Iterator[str]:
    """The keys of a configuration file, as the README writes them."""
    for each in fields(section):
        value = getattr(section, each.name)
        if is_dataclass(value):
            yield from keys_of(value, f"{path}{each.name}.")
        elif path:
            yield f"{path}{each.name}"


def documented() -> set[str]:
    """The keys of the table; `a.b`, `.c` in one row are a.b and a.c, `<key>` is each kind's."""
    found = set()
    for row in re.findall(r"^\| (`\S+`(?:, `\S+`)*) \|", CONFIGURATION, re.MULTILINE):
        named = re.findall(r"`([^`]+)`", row)
        parent = named[0].rpartition(".")[0]
        found |= {f"{parent}{name}" if name.startswith(".") else name for name in named}
    return {name.replace("<key>", key) for name in found for key in INTEGRATIONS}


def test_the_table_of_settings_is_whole() -> None:
    assert {key for key in documented() if "." in key} == set(keys_of(Settings()))


def options_of(command: click.Command, *, hidden: bool) -> set[str]:
    """The long flags of a command."""
    return {
        flag
        for each in command.params
        if isinstance(each, click.Option) and each.hidden is hidden
        for flag in each.opts
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_is_named(name: str) -> None:
    named = set(re.findall(r"`(?:\w+ )?(--[a-z-]+)`", CONFIGURATION))
    shown = options_of(COMMANDS[name], hidden=False)
    assert {each for each in shown if each.startswith("--")} <= named
    assert named <= set().union(*(options_of(each, hidden=False) for each in COMMANDS.values()))


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(
        re.findall(r"(?:`|^|\()(?:[A-Z]+=\w+ )?make (?:-s )?([a-z]+)", README, re.MULTILINE)
    )
    assert named <= targets
    assert {"demo", "test", "check", "up", "down", "status", "lock"} <= named
