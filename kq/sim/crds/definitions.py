"""The CRDs of the kinds of jobs, read from the files beside this one."""

from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable

import yaml

from kq.core.kinds import Object


class Variant(StrEnum):
    """Another form in which some of the kinds are found in clusters."""

    ARENA = "arena"
    """As with Arena's own definitions: TFJob and PyTorchJob keep no runPolicy, MPIJob v1alpha1."""
    TRAINING = "training"
    """MPIJob as training-operator serves it: v1."""


def job_kinds(*variants: Variant) -> list[Object]:
    """The definitions of all kinds of jobs, those of the variants in place of the usual ones."""
    folder = files("kq.sim.crds")
    found = _read(folder)
    for variant in variants:
        found |= _read(folder.joinpath(variant))
    return [found[name] for name in sorted(found)]


def _read(folder: Traversable) -> dict[str, Object]:
    return {
        each.name: yaml.safe_load(each.read_text("utf-8"))
        for each in folder.iterdir()
        if each.name.endswith(".yaml")
    }
