"""The operators that run on one cluster: started when asked for, found again, ended."""

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from controlplane import plane, probes, processes
from controlplane.build import Say
from controlplane.cluster import Cluster
from controlplane.errors import ControlPlaneError, Refused
from controlplane.operators import OPERATORS, certificates, chosen, manifests, program
from controlplane.operators.operator import Operator, Place, Start, Webhooks
from controlplane.operators.program import Program
from controlplane.processes import Process

READY_SECONDS = 60.0
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def check_served(cluster: Cluster, *names: str) -> None:
    """Raises if a cluster that is not ours lacks an operator; nothing is installed there."""
    operators = chosen(names)
    asked = frozenset(each.name for each in operators)
    for each in operators:
        for kind in each.kinds_beside(asked):
            if not probes.serves(cluster, kind):
                raise ControlPlaneError(f"the cluster lacks {each.name}: it does not serve {kind}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """Starts operators beside the control plane of a folder, which ends them with itself."""

    cluster: Cluster
    folder: Path
    """The control plane's."""
    environ: Mapping[str, str]
    say: Say
    leashed: bool = True
    _ours: list[Process] = field(default_factory=list)

    def ensure(self, *names: str) -> None:
        """Returns when those operators work, and those that they need; builds what is missing.

        An MPIJob is of v1 after training without mpi was asked for, of v2beta1 after mpi was.
        """
        asked = {each.name for each in chosen(names)}
        programs = {name: self._program(name) for name in asked - self.running()}
        asked |= self._make_way(asked)
        missing = [each for each in chosen(asked) if each.name not in self.running()]
        if not missing:
            return
        started = time.monotonic()
        self.say(f"starting {', '.join(each.name for each in missing)} ...")
        self._start(missing, {each.name: self._program(each.name) for each in missing} | programs)
        self.say(f"ready after {time.monotonic() - started:.1f} s")

    def running(self) -> set[str]:
        """The names of the operators that run now, whoever started them."""
        alive = {each.name for each in self._noted() if processes.is_running(each)}
        return {name for name, operator in OPERATORS.items() if operator.process in alive}

    def end(self, name: str) -> None:
        """Ends one operator; its kinds and objects stay."""
        names = {OPERATORS[name].process, *OPERATORS[name].helpers}
        for process in self._noted():
            if process.name in names:
                processes.kill(process)
        self._note([each for each in self._noted() if each.name not in names])
        self._ours[:] = [each for each in self._ours if each.name not in names]

    def check(self) -> None:
        """Raises Crashed if one that was started here ended without having been told to."""
        noted = self._noted()
        for process in self._ours:
            if process in noted:
                processes.check(process)

    def _make_way(self, asked: set[str]) -> set[str]:
        """Ends those that hold a kind in another version than is asked for; who is to come back."""
        running = self.running()
        back = set()
        for name, operator in OPERATORS.items():
            for rival, kind in operator.leaves.items():
                holds = name in running and probes.serves(self.cluster, kind)
                if rival in asked and holds:
                    self.end(name)
                    back.add(name)
                elif name in asked and rival not in asked and not holds:
                    for each in {name, rival} & running:
                        self.end(each)
        return back

    def _start(self, missing: Sequence[Operator], programs: Mapping[str, Program]) -> None:
        beside = frozenset(self.running() | {each.name for each in missing})
        hosts = [each.webhooks.host for each in OPERATORS.values() if each.webhooks]
        certificates.ensure(self._certificates, hosts)
        ports = dict(zip(programs, probes.free_ports(len(programs)), strict=True))
        self._install(missing, programs, ports, beside)
        starts: list[Start] = []
        for each in missing:
            place = Place(
                cluster=self.cluster,
                folder=self.folder / "operators" / each.name,
                program=programs[each.name].binary,
                certificates=self._certificates,
                webhook_port=ports[each.name],
                beside=beside,
            )
            place.folder.mkdir(parents=True, exist_ok=True)
            starts += each.starts(place)
        try:
            self._run(starts)
        except BaseException:
            for each in missing:
                self.end(each.name)
            raise

    def _install(
        self,
        missing: Sequence[Operator],
        programs: Mapping[str, Program],
        ports: Mapping[str, int],
        beside: frozenset[str],
    ) -> None:
        kinds = {
            kind: programs[each.name].source / file
            for each in missing
            for kind, file in each.kinds_beside(beside).items()
        }
        with ThreadPoolExecutor() as pool:
            list(pool.map(self._define, kinds, kinds.values()))
        for each in missing:
            for made in each.objects:
                self.cluster.apply(manifests.path_of(made), made)
            if each.webhooks:
                source = programs[each.name].source
                self._install_webhooks(each.webhooks, source, ports[each.name])
        for kind in kinds:
            served = partial(probes.serves, self.cluster, kind)
            probes.until(served, f"{kind} is served", READY_SECONDS)
        # An operator that cannot find a kind ends, or looks again only much later.
        probes.until(
            lambda: kinds.keys() <= probes.discovered(self.cluster),
            "kinds are found",
            READY_SECONDS,
        )

    def _install_webhooks(self, webhooks: Webhooks, source: Path, port: int) -> None:
        rendered = self.cluster.kubectl("kustomize", str(source / webhooks.folder)).stdout
        ca = (self._certificates / "ca.crt").read_bytes()
        for made in (
            manifests.service(webhooks),
            *manifests.configurations(rendered, webhooks, port, ca),
        ):
            self.cluster.apply(manifests.path_of(made), made)

    def _define(self, kind: str, file: Path) -> None:
        """Makes a kind from the file of its CRD, in place of one with other versions."""
        path = f"{DEFINITIONS}/{manifests.definition_name(kind)}"
        try:
            if manifests.has_version(self.cluster.api("GET", path), kind):
                return
            self.cluster.api("DELETE", path)
        except Refused as err:
            if err.status != 404:
                raise
        self.cluster.wait_gone(path)
        # Neither kubectl nor an apply: over a definition as large as these they take seconds.
        text = file.read_text()
        self.cluster.api("POST", DEFINITIONS, text, content_type="application/yaml")

    def _run(self, starts: Iterable[Start]) -> None:
        waiting: list[tuple[Process, Start]] = []
        for each in starts:
            log = self.folder / "logs" / f"{each.name}.log"
            if log.exists():
                log.rename(log.with_suffix(".previous.log"))
            with processes.uninterrupted():
                process = processes.start(
                    each.name,
                    each.command,
                    log,
                    leashed=self.leashed,
                    environment={"KUBECONFIG": str(self.cluster.kubeconfig), **each.environment},
                    expendable=True,
                )
                self._ours.append(process)
                self._note([*(old for old in self._noted() if old.name != each.name), process])
            waiting.append((process, each))
        for process, each in waiting:
            ready = partial(self._is_ready, process, each)
            probes.until(ready, f"{each.name} is ready; its log is {process.log}", READY_SECONDS)

    def _is_ready(self, process: Process, start: Start) -> bool:
        ready = start.is_ready(process)
        self.check()
        return ready

    def _program(self, name: str) -> Program:
        return program.ensure(OPERATORS[name], self.environ, self.say)

    @property
    def _certificates(self) -> Path:
        return self.folder / "operators" / "certificates"

    def _noted(self) -> list[Process]:
        return processes.load(plane.state_file(self.folder))

    def _note(self, noted: Iterable[Process]) -> None:
        processes.save(noted, plane.state_file(self.folder))
