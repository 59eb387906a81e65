"""The binary of an operator and the files of its module: built and fetched once."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from controlplane import build
from controlplane.build import Module, Say
from controlplane.operators.operator import MODULES, Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One operator in the version that its go.mod pins."""

    binary: Path
    source: Path
    """Where Go keeps the module that the manifests are in."""


def module(operator: Operator) -> Module:
    """What is built of an operator's module; each operator is kept by itself."""
    return Module(
        name=f"operators/{operator.name}",
        folder=MODULES / operator.module,
        tools={operator.process: operator.package},
        effort=operator.effort,
        edits=operator.edits,
    )


def is_built(operator: Operator, environ: Mapping[str, str]) -> bool:
    """Whether the binary is in the cache."""
    return build.is_built(module(operator), environ)


def ensure_binary(operator: Operator, environ: Mapping[str, str], say: Say) -> Path:
    """The binary, built if it is not in the cache yet."""
    # A folder of ready-made binaries is one of a control plane: operators are built all the same.
    environ = {key: value for key, value in environ.items() if key != "KUBEBUILDER_ASSETS"}
    return build.ensure_binaries(module(operator), environ, say) / operator.process


def ensure(operator: Operator, environ: Mapping[str, str], say: Say) -> Program:
    """Binary and manifests."""
    return Program(
        binary=ensure_binary(operator, environ, say),
        source=build.source_folder(module(operator), operator.source, environ, say),
    )
