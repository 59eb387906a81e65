"""Binaries are built once, whole or not at all, by one process at a time."""

import fcntl
import os
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane import build
from controlplane.build import Module
from controlplane.edits import Edit
from controlplane.errors import BuildError

GO = """#!/bin/sh
if [ "$1" = version ]; then echo go version go1.99.0 linux/amd64; exit; fi
while [ "$1" != -o ]; do shift; done
{body}
"""

WRITES = 'echo "$3" > "$2"'
FAILS = "echo no required module provides it; exit 1"


@pytest.fixture
def module(tmp_path: Path) -> Module:
    folder = tmp_path / "module"
    folder.mkdir()
    (folder / "go.mod").write_text("module kq/example\n\ngo 1.26.0\n")
    (folder / "go.sum").write_text("")
    return Module(name="example", folder=folder, tools={"one": "a/one", "two": "a/two"})


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    path = f"{tmp_path}:{os.environ['PATH']}"
    return {"KQ_CACHE": str(tmp_path / "cache"), "PATH": path}


def write_go(folder: Path, body: str) -> None:
    (folder / "go").write_text(GO.format(body=body))
    (folder / "go").chmod(0o755)


def test_a_build_leaves_every_binary_in_the_cache_and_says_how_far_it_is(
    module: Module, environ: dict[str, str], tmp_path: Path
) -> None:
    write_go(tmp_path, WRITES)
    said: list[str] = []
    folder = build.ensure_binaries(module, environ, said.append)
    assert folder == tmp_path / "cache" / "example" / module.key() / "bin"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "one": "a/one\n",
        "two": "a/two\n",
    }
    assert "two (2 of 2) ..." in said


def test_what_is_built_already_is_not_built_again(
    module: Module, environ: dict[str, str], tmp_path: Path
) -> None:
    write_go(tmp_path, WRITES)
    folder = build.ensure_binaries(module, environ, lambda line: None)
    write_go(tmp_path, FAILS)
    said: list[str] = []
    assert build.ensure_binaries(module, environ, said.append) == folder
    assert said == []


def test_a_failed_build_shows_its_log_and_leaves_nothing_that_looks_built(
    module: Module, environ: dict[str, str], tmp_path: Path
) -> None:
    write_go(tmp_path, FAILS)
    with pytest.raises(BuildError, match=r"(?s)one \(1 of 2\) failed.*no required module"):
        build.ensure_binaries(module, environ, lambda line: None)
    left = {path.suffix for path in (tmp_path / "cache" / "example").iterdir()}
    assert left == {".lock", ".log"}


def test_a_second_build_waits_for_the_first_one(
    module: Module, environ: dict[str, str], tmp_path: Path
) -> None:
    write_go(tmp_path, WRITES)
    home = tmp_path / "cache" / "example"
    home.mkdir(parents=True)
    said: list[str] = []
    with (home / f"{module.key()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def say(line: str) -> None:
            said.append(line)
            fcntl.flock(lock, fcntl.LOCK_UN)

        build.ensure_binaries(module, environ, say)
    assert said[0] == "another process is building; waiting (0 s)"
    assert said[-1].startswith("built in")


def test_a_long_build_shows_that_it_lives(
    module: Module,
    environ: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on = tmp_path / "go-on"
    write_go(tmp_path, f"until [ -e {go_on} ]; do sleep 0.02; done; {WRITES}")
    monkeypatch.setattr(build, "HEARTBEAT_SECONDS", 0.05)
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if line.endswith(" s"):
            go_on.touch()

    build.ensure_binaries(module, environ, say)
    assert "one (1 of 2) ... 0 s" in said


@pytest.mark.parametrize("file", ["go.mod", "go.sum"])
def test_another_dependency_gives_another_key(module: Module, file: str) -> None:
    before = module.key()
    with (module.folder / file).open("a") as text:
        text.write("\n")
    assert module.key() != before


def test_other_flags_give_another_key(module: Module) -> None:
    assert replace(module, linker_flags="-s").key() != module.key()


def editable(module: Module, folder: Path) -> Module:
    """The module with an edit of a dependency that Go keeps read-only."""
    kept = folder / "kept"
    (kept / "cmd").mkdir(parents=True)
    (kept / "cmd" / "main.go").write_text("port = 8080\n")
    for path in (kept / "cmd" / "main.go", kept / "cmd", kept):
        path.chmod(path.stat().st_mode & 0o555)
    edit = Edit(module="a.b/c", file="cmd/main.go", old="port = 8080", new="port = 0")
    return replace(module, edits=(edit,))


GO_WITH_MODULES = """#!/bin/sh
case "$1" in
version) echo go version go1.99.0 linux/amd64; exit;;
mod) echo '{{"Dir": "{folder}/kept"}}'; exit;;
esac
while [ "$1" != -modfile ]; do shift; done
copy=$(sed -n 's/^replace a.b.c => //p' "$2")
while [ "$1" != -o ]; do shift; done
cp "$copy/cmd/main.go" "$2"
"""


def test_a_dependency_is_built_as_edited(
    module: Module, environ: dict[str, str], tmp_path: Path
) -> None:
    edited = editable(module, tmp_path)
    (tmp_path / "go").write_text(GO_WITH_MODULES.format(folder=tmp_path))
    (tmp_path / "go").chmod(0o755)
    folder = build.ensure_binaries(edited, environ, lambda line: None)
    assert (folder / "one").read_text() == "port = 0\n"
    assert (tmp_path / "kept" / "cmd" / "main.go").read_text() == "port = 8080\n"
    left = {path.name for path in (tmp_path / "cache" / "example").iterdir()}
    assert left == {edited.key(), f"{edited.key()}.lock", f"{edited.key()}.log"}
    assert edited.key() != module.key()


def test_an_edit_that_no_longer_fits_is_told(
    module: Module, environ: dict[str, str], tmp_path: Path
) -> None:
    edited = editable(module, tmp_path)
    edited = replace(edited, edits=(replace(edited.edits[0], old="port = 9090"),))
    (tmp_path / "go").write_text(GO_WITH_MODULES.format(folder=tmp_path))
    (tmp_path / "go").chmod(0o755)
    with pytest.raises(BuildError, match=r"main.go does not hold 'port = 9090' once"):
        build.ensure_binaries(edited, environ, lambda line: None)


def test_the_control_plane_is_stamped_with_the_version_that_go_mod_pins() -> None:
    module = build.control_plane_module()
    version = build.required_version(module.go_mod(), "k8s.io/kubernetes")
    assert f"-X k8s.io/component-base/version.gitVersion={version}" in module.linker_flags


def test_every_tool_line_of_go_mod_is_built() -> None:
    module = build.control_plane_module()
    lines = module.go_mod().partition("tool (")[2].partition(")")[0].split()
    assert sorted(module.tools.values()) == sorted(lines)


def test_ready_made_binaries_are_used_where_they_are(module: Module, tmp_path: Path) -> None:
    for name in module.tools:
        (tmp_path / name).touch(mode=0o755)
    environ = {"KUBEBUILDER_ASSETS": str(tmp_path)}
    assert build.ensure_binaries(module, environ, lambda line: None) == tmp_path


def test_ready_made_binaries_that_are_missing_are_named(module: Module, tmp_path: Path) -> None:
    (tmp_path / "one").touch(mode=0o755)
    with pytest.raises(BuildError, match="lacks two;"):
        build.ready_made(module, tmp_path)


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        pytest.param({"KQ_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a", id="own variable"),
        pytest.param({"XDG_CACHE_HOME": "/b"}, "/b/kq", id="desktop standard"),
        pytest.param({}, str(Path.home() / ".cache" / "kq"), id="home"),
    ],
)
def test_the_cache_is_where_the_environment_says(environ: dict[str, str], folder: str) -> None:
    assert build.cache_folder(environ) == Path(folder)
