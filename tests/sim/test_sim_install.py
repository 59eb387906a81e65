"""Where a simulated cluster takes kq's manifests from."""

from pathlib import Path

import pytest

from kq.errors import ConfigError
from kq.sim.install import FOLDERS, PLACES, manifests_in


def test_those_that_a_wheel_carries_come_first(tmp_path: Path) -> None:
    carried, beside = tmp_path / "carried", tmp_path / "beside"
    beside.mkdir()
    assert manifests_in([carried, beside]) == beside
    carried.mkdir()
    assert manifests_in([carried, beside]) == carried


def test_in_the_repository_they_are_beside_the_package() -> None:
    found = manifests_in(PLACES)
    assert found == Path(__file__).parents[2] / "manifests" / "kustomize"
    assert all((found / each / "kustomization.yaml").is_file() for each in FOLDERS)


def test_without_manifests_it_says_where_they_should_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"kq's manifests are in none of {tmp_path}/x"):
        manifests_in([tmp_path / "x"])
