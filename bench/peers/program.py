"""Kueue itself: its program, built from its Go module, and the manifests that come with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from controlplane import build
from controlplane.build import Module, Say

KUEUE = "sigs.k8s.io/kueue"
MANIFESTS = "config/default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One version of Kueue."""

    version: str
    binary: Path
    manifests: Path
    """A kustomization: everything that an installation consists of."""


def module() -> Module:
    """The module that sits beside this file."""
    folder = Path(__file__).parent
    version = build.required_version((folder / "go.mod").read_text(), KUEUE)
    return Module(
        name="kueue",
        folder=folder,
        tools={"kueue": f"{KUEUE}/cmd/kueue"},
        linker_flags=f"-s -w -X {KUEUE}/pkg/version.GitVersion={version}",
        effort="about 4 minutes on two cores",
    )


def ensure(environ: Mapping[str, str], say: Say) -> Program:
    """Kueue, built if it is not in the cache yet."""
    made = module()
    # A folder of ready-made binaries is one of a control plane: Kueue is built all the same.
    environ = {key: value for key, value in environ.items() if key != "KUBEBUILDER_ASSETS"}
    binaries = build.ensure_binaries(made, environ, say)
    return Program(
        version=build.required_version(made.go_mod(), KUEUE),
        binary=binaries / "kueue",
        manifests=build.source_folder(made, KUEUE, environ, say) / MANIFESTS,
    )
