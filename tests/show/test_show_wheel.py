"""A wheel has all that a show and a simulated cluster need, and runs without the repository."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "manifests" / "kustomize"
SECONDS = 60.0


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installed wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=SECONDS)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def test_the_manifests_are_in_the_wheel(installed: Path) -> None:
    wanted = {path.relative_to(MANIFESTS) for path in MANIFESTS.rglob("*.yaml")}
    carried = installed / "kq" / "manifests" / "kustomize"
    assert {path.relative_to(carried) for path in carried.rglob("*.yaml")} == wanted


def test_the_show_runs_from_it(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kq", "demo", "--jobs", "1"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "The one job finished, once" in done.stdout
    assert "make" not in done.stdout
