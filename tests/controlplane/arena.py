"""Arena's command line, built from its module, with the charts that it brings."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from controlplane import build
from controlplane.build import Module, Say
from controlplane.cluster import Cluster

SOURCE = "github.com/kubeflow/arena"
MODULE = Module(
    name="clients/arena",
    folder=Path(__file__).parent / "clients" / "arena",
    tools={"arena": f"{SOURCE}/cmd/arena"},
    effort="about 2 minutes on two cores",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """Arena as a person calls it, on one cluster and in one namespace."""

    command: Path
    home: Path
    """Where it looks for its charts and for kubectl."""
    kubeconfig: Path
    namespace: str

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs it, whatever comes of that."""
        return subprocess.run(
            [str(self.command), "--namespace", self.namespace, *arguments],
            env={
                **os.environ,
                "HOME": str(self.home),
                "KUBECONFIG": str(self.kubeconfig),
                "PATH": f"{self.home}:{os.environ.get('PATH', '')}",
            },
            capture_output=True,
            text=True,
            check=False,
        )


def arena_of(
    cluster: Cluster, namespace: str, home: Path, environ: Mapping[str, str], say: Say
) -> Arena:
    """Arena for that namespace; it is built if it is not in the cache yet."""
    # A folder of ready-made binaries is one of a control plane: this is built all the same.
    environ = {key: value for key, value in environ.items() if key != "KUBEBUILDER_ASSETS"}
    binaries = build.ensure_binaries(MODULE, environ, say)
    source = build.source_folder(MODULE, SOURCE, environ, say)
    (home / "charts").symlink_to(source / "charts")
    (home / "arena-kubectl").symlink_to(Path(cluster.kubectl_command).absolute())
    return Arena(
        command=binaries / "arena",
        home=home,
        kubeconfig=cluster.kubeconfig,
        namespace=namespace,
    )
