"""The command line: build the binaries, and keep a control plane up between commands."""

import argparse
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controlplane import build, components, lock, plane, processes
from controlplane.cluster import Cluster
from controlplane.errors import ControlPlaneError
from controlplane.operators import OPERATORS, chosen, program
from controlplane.operators.crew import Crew
from controlplane.plane import ControlPlane

NOT_RUNNING = 3
"""The exit code of status when there is nothing, as with init scripts."""

COMPONENTS = frozenset(components.COMMANDS)


def main(arguments: Sequence[str]) -> int:
    """Runs one command; returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options, os.environ))
    except ControlPlaneError as err:
        tell(f"error: {err}")
        return 1
    except KeyboardInterrupt:
        tell("interrupted; nothing was left half-started")
        return 130


def tell(line: str) -> None:
    """Says something to the person; standard output is kept for lines to copy."""
    print(line, file=sys.stderr, flush=True)


def build_binaries(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Makes sure that the binaries are there, and prints their folders."""
    operators = chosen(options.operators.split(","))
    print(build.ensure_binaries(build.control_plane_module(), environ, tell))
    for each in operators:
        print(program.ensure_binary(each, environ, tell).parent)
    return 0


def up(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Starts what is asked for and does not run yet, and lets it stay; prints how to use it."""
    operators = [each.name for each in chosen(options.operators.split(","))]
    if existing := environ.get("KQ_TEST_KUBECONFIG"):
        if operators:
            raise ControlPlaneError(
                f"KQ_TEST_KUBECONFIG names {existing}: operators are started beside our own only"
            )
        tell(f"KQ_TEST_KUBECONFIG names an existing cluster, {existing}: nothing to start")
        print(f"export KUBECONFIG={existing}")
        return 0
    binaries = build.ensure_binaries(build.control_plane_module(), environ, tell)
    with _standing(options.name, environ) as standing:
        if not standing.is_whole():
            standing.clear()
            started = time.monotonic()
            tell(f"starting the control plane {standing.name} ...")
            ControlPlane.start(
                standing.folder,
                binaries,
                audit=options.audit,
                unlimited=options.unlimited,
                leashed=False,
            )
            tell(f"it is up after {time.monotonic() - started:.1f} s; logs: {standing.logs}")
        else:
            tell(f"the control plane {standing.name} is up already; logs: {standing.logs}")
        standing.crew(environ, binaries).ensure(*operators)
        _print_environment(standing.kubeconfig, binaries, environ)
    return 0


def down(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Ends the control plane of that name and removes its data."""
    with _standing(options.name, environ) as standing:
        ended = plane.stop(standing.folder)
        shutil.rmtree(standing.folder, ignore_errors=True)
        if ended:
            tell(f"the control plane {standing.name} is down ({len(ended)} processes ended)")
        else:
            tell(f"no control plane {standing.name} is running; nothing to do")
    return 0


def status(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Prints each process of the control plane of that name."""
    with _standing(options.name, environ) as standing:
        started = processes.load(plane.state_file(standing.folder))
        for process in started:
            print(f"{process.name:<24} {_condition(process)}")
        if not started:
            tell(f"no control plane {standing.name} is running")
        lost = [each for each in started if not processes.is_running(each)]
        return 0 if standing.is_whole() and not lost else NOT_RUNNING


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """The place of one control plane that stays up between commands."""

    name: str
    folder: Path

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def is_whole(self) -> bool:
        """Whether the control plane's own processes run and the API server answers."""
        started = processes.load(plane.state_file(self.folder))
        if not {each.name for each in started if processes.is_running(each)} >= COMPONENTS:
            return False
        try:
            Cluster.of(self.kubeconfig).api("GET", "/readyz")
        except (ControlPlaneError, OSError):
            return False
        return True

    def crew(self, environ: Mapping[str, str], binaries: Path) -> Crew:
        """The operators beside it."""
        return Crew(
            cluster=Cluster.of(self.kubeconfig, kubectl_command=str(binaries / "kubectl")),
            folder=self.folder,
            environ=environ,
            say=tell,
            leashed=False,
        )

    def clear(self) -> None:
        """Ends what is left of a control plane that lost a part, and says which part."""
        for process in processes.load(plane.state_file(self.folder)):
            if not processes.is_running(process):
                tell(f"{process.name} had ended; the end of its log:\n{processes.log_end(process)}")
        if plane.stop(self.folder):
            tell("ended what was left of it")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)


@contextmanager
def _standing(name: str, environ: Mapping[str, str]) -> Iterator[_Standing]:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise ControlPlaneError(f"{name!r} is no name for a control plane: letters, digits, - _ .")
    home = build.cache_folder(environ) / "up"
    home.mkdir(parents=True, exist_ok=True)
    with lock.held(home / f"{name}.lock", f"at work on {name}", tell):
        yield _Standing(name=name, folder=home / name)


def _print_environment(path: Path, binaries: Path, environ: Mapping[str, str]) -> None:
    print(f"export KUBECONFIG={path}")
    if shutil.which("kubectl", path=environ.get("PATH")) != str(binaries / "kubectl"):
        print(f'export PATH={binaries}:"$PATH"')


def _condition(process: processes.Process) -> str:
    if not processes.is_running(process):
        return f"ended           log {process.log}"
    megabytes = processes.resident_bytes(process) / 2**20
    return f"pid {process.pid:<8} {megabytes:4.0f} MB  log {process.log}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="controlplane", description=__doc__)
    commands = parser.add_subparsers(required=True)
    building = commands.add_parser("build", help="make the binaries")
    building.set_defaults(run=build_binaries)
    starting = _add(commands, "up", up, "start a control plane that stays")
    starting.add_argument("--audit", action="store_true", help="write an audit log")
    starting.add_argument("--unlimited", action="store_true", help="lift limits, for load tests")
    for each in (building, starting):
        each.add_argument("--operators", default="", help=f"of {','.join(OPERATORS)}")
    _add(commands, "down", down, "end it")
    _add(commands, "status", status, "say what runs")
    return parser


def _add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: Callable[[argparse.Namespace, Mapping[str, str]], int],
    text: str,
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text)
    command.add_argument("name", nargs="?", default="dev", help="which one (default: dev)")
    command.set_defaults(run=run)
    return command
