"""From a go.mod with tool lines to a folder of binaries: built once, kept outside the tree."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from controlplane import edits, leash, lock, toolchain
from controlplane.edits import Edit
from controlplane.errors import BuildError

Say = Callable[[str], None]

HEARTBEAT_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A folder with go.mod and go.sum, and the commands that are built from it."""

    name: str
    folder: Path
    tools: Mapping[str, str]
    """The package of each binary, in the order of building."""
    linker_flags: str = "-s -w"
    effort: str = "about 6 minutes on two cores"
    """How long a person waits for the first build."""
    edits: Sequence[Edit] = ()

    def key(self) -> str:
        """The digest of all that decides how the binaries come out."""
        digest = hashlib.sha256()
        texts = [self.go_mod(), self.go_sum(), *self.flags(), *self.tools.values()]
        for text in (*texts, *(each for edit in self.edits for each in astuple(edit))):
            digest.update(text.encode() + b"\0")
        return digest.hexdigest()[:16]

    def go_mod(self) -> str:
        return (self.folder / "go.mod").read_text()

    def go_sum(self) -> str:
        return (self.folder / "go.sum").read_text()

    def flags(self) -> list[str]:
        return ["-trimpath", "-ldflags", self.linker_flags]


def control_plane_module() -> Module:
    """The module that sits beside this file."""
    folder = Path(__file__).parent
    version = required_version((folder / "go.mod").read_text(), "k8s.io/kubernetes")
    return Module(
        name="controlplane",
        folder=folder,
        tools={
            "etcd": "go.etcd.io/etcd/server/v3",
            "kwok": "sigs.k8s.io/kwok/cmd/kwok",
            "kubectl": "k8s.io/kubernetes/cmd/kubectl",
            "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
            "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
            "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
        },
        linker_flags=f"-s -w {version_stamp(version)}",
    )


def required_version(go_mod: str, module: str) -> str:
    """The version of a module that a go.mod requires."""
    found = re.search(rf"^\s*{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if not found:
        raise BuildError(f"go.mod does not require {module}")
    return found[1]


def version_stamp(version: str) -> str:
    """The linker flags without which the server reports a version that no client can parse."""
    major, minor, *_ = version.removeprefix("v").split(".")
    values = {
        "gitVersion": version,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(f"-X {package}.{k}={v}" for package in packages for k, v in values.items())


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where everything is kept that outlives one run."""
    if own := environ.get("KQ_CACHE"):
        return Path(own).absolute()
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kq"


def is_built(module: Module, environ: Mapping[str, str]) -> bool:
    """Whether the module's binaries are in the cache."""
    return _target(module, environ).exists()


def ensure_binaries(module: Module, environ: Mapping[str, str], say: Say) -> Path:
    """The folder of the module's binaries; builds those that are not there yet."""
    if assets := environ.get("KUBEBUILDER_ASSETS"):
        return ready_made(module, Path(assets))
    target = _target(module, environ)
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with lock.held(target.with_suffix(".lock"), "building", say):
            if not target.exists():
                _build(module, target, environ, say)
    return target / "bin"


def _target(module: Module, environ: Mapping[str, str]) -> Path:
    return cache_folder(environ) / module.name / module.key()


def ready_made(module: Module, folder: Path) -> Path:
    """The folder that KUBEBUILDER_ASSETS names, if it holds all that the module would build."""
    missing = [name for name in module.tools if not os.access(folder / name, os.X_OK)]
    if missing:
        raise BuildError(
            f"KUBEBUILDER_ASSETS={folder} lacks {', '.join(missing)}; "
            "add them, or unset the variable to have all of them built"
        )
    return folder.absolute()


def source_folder(module: Module, path: str, environ: Mapping[str, str], say: Say) -> Path:
    """Where Go keeps the files of a module that go.mod requires; fetched if they are not there."""
    wanted = toolchain.wanted_version(module.go_mod())
    go = toolchain.find_go(wanted, cache_folder(environ), environ.get("PATH"), say)
    done = subprocess.run(
        [str(go), "mod", "download", "-json", path],
        cwd=module.folder,
        env=_build_environment(environ),
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout or "{}")
    if done.returncode or "Dir" not in found:
        why = found.get("Error") or done.stderr.strip()
        raise BuildError(f"the files of {path} could not be had: {why}")
    return Path(found["Dir"])


def _build(module: Module, target: Path, environ: Mapping[str, str], say: Say) -> None:
    log = target.with_suffix(".log")
    partial = target.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    (partial / "bin").mkdir(parents=True)
    log.unlink(missing_ok=True)
    wanted = toolchain.wanted_version(module.go_mod())
    go = toolchain.find_go(wanted, cache_folder(environ), environ.get("PATH"), say)
    started = time.monotonic()
    say(f"building {', '.join(module.tools)} with {go}; {module.effort}, once only")
    say(f"into {target}, log {log}")
    try:
        edited = partial / "edited"
        flags = [*module.flags(), *_edited(module, edited, environ, say)]
        for position, (name, package) in enumerate(module.tools.items(), start=1):
            command = [str(go), "build", "-mod=readonly", *flags]
            command += ["-o", str(partial / "bin" / name), package]
            title = f"{name} ({position} of {len(module.tools)})"
            with log.open("ab") as output:
                process = subprocess.Popen(
                    leash.leashed(command),
                    cwd=module.folder,
                    env=_build_environment(environ),
                    stdout=output,
                    stderr=output,
                )
                _follow(process, title, log, say)
        shutil.rmtree(edited, ignore_errors=True)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    say(f"built in {time.monotonic() - started:.0f} s")


def _edited(module: Module, folder: Path, environ: Mapping[str, str], say: Say) -> Sequence[str]:
    if not module.edits:
        return ()
    sources = {
        name: source_folder(module, name, environ, say)
        for name in {edit.module for edit in module.edits}
    }
    return edits.flags(module.go_mod(), module.go_sum(), module.edits, sources, folder)


def _build_environment(environ: Mapping[str, str]) -> dict[str, str]:
    # GOFLAGS and a go.work of the caller's would build something other than what go.mod pins.
    ours = {"GOFLAGS": "-buildvcs=false", "GOWORK": "off", "GOTOOLCHAIN": "local"}
    return {**environ, **ours}


def _follow(process: subprocess.Popen[bytes], title: str, log: Path, say: Say) -> None:
    started = time.monotonic()
    say(f"{title} ...")
    with process:
        try:
            while _still_runs(process):
                say(f"{title} ... {time.monotonic() - started:.0f} s")
        finally:
            process.terminate()
    if process.returncode:
        lines = log.read_text(errors="replace").splitlines()[-10:]
        raise BuildError(
            f"{title} failed; the end of {log}:\n"
            + "\n".join(lines)
            + "\nto try again run the same command; what is compiled already is kept"
        )
    say(f"{title} done after {time.monotonic() - started:.0f} s")


def _still_runs(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(HEARTBEAT_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False
