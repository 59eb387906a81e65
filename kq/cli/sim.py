"""`kq sim`: a whole cluster with kq at work on it, in this process, for kubectl and others."""

import os
import random
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from kq.app.process import stop_on_signals
from kq.cli.help import HELP
from kq.cli.laying import default_policy, load_settings
from kq.cli.processes import serve
from kq.clock import utc_now
from kq.core.kinds import Object
from kq.errors import ConfigError
from kq.kube.informer import quiet_collector
from kq.log import LogFormat, configure
from kq.settings import Settings
from kq.sim.access import HOST, Access, check_free, remove
from kq.sim.cluster.cluster import NODE_RESOURCES, node
from kq.sim.http import HttpFront
from kq.sim.loading import read_objects
from kq.sim.operators import ALL, OPERATORS, extensions
from kq.sim.world import Simulation, Terms

LEVELS = ("debug", "info", "warning", "error")
STDOUT = Path("-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """How clients get to the cluster."""

    port: int
    kubeconfig: Path


@click.command(context_settings=HELP)
@click.option("--port", default=0, show_default=True, help="On loopback; 0: a free one.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("kq-sim.kubeconfig"),
    show_default=True,
    help="The file to write; it goes again at the end. `-`: print it.",
)
@click.option("--nodes", default=1, show_default=True, help="How many of them.")
@click.option("--cpu", default="1000", show_default=True, help="Of each node.")
@click.option(
    "--operators",
    default="",
    help="Those whose kinds of jobs are queued too, comma-separated: "
    f"{', '.join(OPERATORS)}; or {ALL}.",
)
@click.option(
    "--objects",
    "files",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    multiple=True,
    help="A file of objects to begin with (YAML, JSON, or one a line in .jsonl); may be repeated. "
    "Those that have a UID are put back as they were, status and all.",
)
@click.option("--config", type=click.Path(dir_okay=False), help="Configuration file of kq.")
@click.option("--enabled-extensions", help="Job kinds, comma-separated.")
@click.option("--default-queue-policy", help="Policy of Queues that name none.")
@click.option("--without-kq", is_flag=True, help="Only the cluster: a `kq manager` runs beside it.")
@click.option(
    "--log-level", type=click.Choice(LEVELS), default="warning", show_default=True, help="Of kq."
)
def sim(**flags: Any) -> None:
    """A simulated cluster with kq at work, until Ctrl-C.

    kq is configured as its manager is, by --config and the environment (QueueGroupPlugin).
    """
    configure(flags["log_level"], LogFormat("console"))
    kubeconfig = flags["kubeconfig"]
    front = Front(
        port=flags["port"],
        kubeconfig=kubeconfig if kubeconfig == STDOUT else kubeconfig.absolute(),
    )
    check_free(front.kubeconfig)
    serve(_run(front, _terms(flags)))


def _terms(flags: dict[str, Any]) -> Terms:
    # The installation of a simulated cluster is in the namespace that its manifests name.
    environ = {**os.environ, "POD_NAMESPACE": ""}
    names = [each.strip() for each in flags["operators"].split(",") if each.strip()]
    settings = _with_kinds(load_settings(flags, environ), extensions(names))
    room = {**NODE_RESOURCES, "cpu": flags["cpu"]}
    return Terms(
        nodes=[node(f"node-{number}", room) for number in range(1, flags["nodes"] + 1)],
        operators=names,
        settings=settings,
        default_policy=default_policy(settings, flags, environ),
        loaded=_objects(flags["files"]),
        has_kq=not flags["without_kq"],
        latency=0.0,
    )


def _with_kinds(settings: Settings, kinds: Iterable[str]) -> Settings:
    enabled = tuple(dict.fromkeys((*settings.jobs.enabled, *kinds)))
    return replace(settings, jobs=replace(settings.jobs, enabled=enabled))


def _objects(files: Iterable[Path]) -> Iterable[Object]:
    return (each for file in files for each in read_objects(file))


async def _run(front: Front, terms: Terms) -> None:
    access = Access.issue(utc_now())
    # Seeds UIDs and generated names, which are no secrets here.
    chance = random.Random()  # noqa: S311
    simulation = Simulation(clock=utc_now, random=chance, terms=terms)
    server = HttpFront(simulation.server, tokens=access.tokens, tls=access.context())
    async with AsyncExitStack() as stack:
        stop = stack.enter_context(stop_on_signals())
        with quiet_collector():
            await stack.enter_async_context(simulation)
        port = await stack.enter_async_context(server.serving(port=front.port))
        if front.kubeconfig == STDOUT:
            click.echo(access.kubeconfig(port=port))
        else:
            stack.callback(remove, front.kubeconfig, _written(front.kubeconfig, access, port))
            work = "without kq" if not terms.has_kq else "with kq at work"
            click.echo(f"a simulated cluster {work} on https://{HOST}:{port}; try")
            click.echo(f"  export KUBECONFIG={front.kubeconfig}\n  kubectl get nodes")
        await stop.wait()


def _written(path: Path, access: Access, port: int) -> str:
    """What is in the file that now leads to the cluster."""
    try:
        access.write_kubeconfig(path, port=port)
        return path.read_text("utf-8")
    except OSError as err:
        raise ConfigError(f"{path} cannot be written: {err}") from err
