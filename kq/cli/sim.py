"""`kq sim`: a whole cluster with kq at work on it, in this process, for kubectl and others."""

import asyncio
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
from kq.cli.loaded import remarks
from kq.cli.objects import STDIN, read_files
from kq.cli.processes import serve
from kq.clock import utc_now
from kq.core.quantity import parse_quantity
from kq.errors import ConfigError, QuantityError
from kq.kube.informer import quiet_collector
from kq.log import LogFormat, configure
from kq.settings import Settings
from kq.sim.access import HOST, Access, check_free, claimed
from kq.sim.cluster.cluster import NODE_RESOURCES, node
from kq.sim.http import HttpFront, listen
from kq.sim.operators import ALL, OPERATORS, extensions
from kq.sim.world import Simulation, Terms

LEVELS = ("debug", "info", "warning", "error")
STDOUT = Path("-")
HIGHEST_PORT = 65535
BROKEN_OFF = "ended before the simulated cluster was ready; nothing was left behind"
INTERRUPTED = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """How clients get to the cluster."""

    port: int
    kubeconfig: Path


def _amount(context: click.Context, parameter: click.Parameter, text: str) -> str:
    """An amount of something that there is."""
    try:
        if parse_quantity(text).nano > 0:
            return text
    except QuantityError:
        pass
    raise click.BadParameter(f"'{text}' is not an amount above 0, such as 8 or 500m.")


@click.command(context_settings=HELP)
@click.option(
    "--port",
    type=click.IntRange(0, HIGHEST_PORT),
    default=0,
    show_default=True,
    help="On loopback; 0: a free one.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("kq-sim.kubeconfig"),
    show_default=True,
    help="The file to write; it goes again at the end. `-`: print it.",
)
@click.option(
    "--nodes", type=click.IntRange(0), default=1, show_default=True, help="How many of them."
)
@click.option("--cpu", default="1000", show_default=True, callback=_amount, help="Of each node.")
@click.option(
    "--operators",
    default="",
    help="Those whose kinds of jobs are queued too, comma-separated: "
    f"{', '.join(OPERATORS)}; or {ALL}.",
)
@click.option(
    "--objects",
    "files",
    type=click.Path(path_type=Path, dir_okay=False, exists=True, allow_dash=True),
    multiple=True,
    help="A file of objects to begin with (YAML, JSON, or one a line in .jsonl; `-`: from stdin);"
    " may be repeated. Those that have a UID are put back as they were, status and all.",
)
@click.option("--config", type=click.Path(dir_okay=False), help="Configuration file of kq.")
@click.option("--enabled-extensions", help="Job kinds, comma-separated.")
@click.option("--default-queue-policy", help="Policy of Queues that name none.")
@click.option("--without-kq", is_flag=True, help="Only the cluster: a `kq manager` runs beside it.")
@click.option(
    "--log-level", type=click.Choice(LEVELS), default="warning", show_default=True, help="Of kq."
)
def sim(**flags: Any) -> int:
    """A simulated cluster with kq at work, until Ctrl-C.

    kq is configured as its manager is, by --config and the environment (QueueGroupPlugin). Ctrl-C
    and SIGTERM end it with exit code 0, before it is ready with 130 or 143.
    """
    configure(flags["log_level"], LogFormat("console"))
    kubeconfig = flags["kubeconfig"]
    front = Front(
        port=flags["port"],
        kubeconfig=kubeconfig if kubeconfig == STDOUT else kubeconfig.absolute(),
    )
    if front.kubeconfig != STDOUT:
        check_free(front.kubeconfig)
    return serve(_run(front, _terms(flags)))


def _terms(flags: dict[str, Any]) -> Terms:
    # The installation of a simulated cluster is in the namespace that its manifests name.
    environ = {**os.environ, "POD_NAMESPACE": ""}
    names = [each.strip() for each in flags["operators"].split(",") if each.strip()]
    settings = _with_kinds(load_settings(flags, environ), extensions(names))
    room = {**NODE_RESOURCES, "cpu": flags["cpu"]}
    if flags["files"].count(STDIN) > 1:
        raise ConfigError("--objects - is there twice, stdin can be read once")
    return Terms(
        nodes=[node(f"node-{each}", room, now=utc_now()) for each in range(1, flags["nodes"] + 1)],
        operators=names,
        settings=settings,
        default_policy=default_policy(settings, flags, environ),
        loaded=read_files(flags["files"]),
        has_kq=not flags["without_kq"],
        latency=0.0,
        tracks_managers=True,
    )


def _with_kinds(settings: Settings, kinds: Iterable[str]) -> Settings:
    enabled = tuple(dict.fromkeys((*settings.jobs.enabled, *kinds)))
    return replace(settings, jobs=replace(settings.jobs, enabled=enabled))


async def _run(front: Front, terms: Terms) -> int:
    """The cluster until a signal, which may come at any moment; the exit code."""
    with stop_on_signals() as stop:
        ready = asyncio.Event()
        living = asyncio.create_task(_live(front, terms, ready, stop), name="cluster")
        ending = asyncio.create_task(stop.wait(), name="end")
        await asyncio.wait({living, ending}, return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if not ready.is_set():
            living.cancel()
        try:
            await living
        except asyncio.CancelledError:
            click.echo(BROKEN_OFF, err=True)
            return INTERRUPTED
    return 0


async def _live(front: Front, terms: Terms, ready: asyncio.Event, stop: asyncio.Event) -> None:
    access = Access.issue(utc_now())
    # Seeds UIDs and generated names, which are no secrets here.
    chance = random.Random()  # noqa: S311
    simulation = Simulation(clock=utc_now, random=chance, terms=terms)
    server = HttpFront(simulation.server, tokens=access.tokens, tls=access.context())
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(listen(front.port))
        with quiet_collector():
            await stack.enter_async_context(simulation)
        port = await stack.enter_async_context(server.serving(listener))
        for each in remarks(simulation):
            click.echo(f"kq: {each}", err=True)
        if front.kubeconfig == STDOUT:
            click.echo(access.kubeconfig(port=port))
        else:
            _write(front.kubeconfig, access, port)
            stack.callback(_remove, front.kubeconfig, access)
            work = "without kq" if not terms.has_kq else "with kq at work"
            click.echo(f"a simulated cluster {work} on https://{HOST}:{port}; try")
            click.echo(f"  export KUBECONFIG={front.kubeconfig}\n  kubectl get nodes")
        ready.set()
        await stop.wait()


def _write(path: Path, access: Access, port: int) -> None:
    try:
        with claimed(path, port):
            access.write_kubeconfig(path, port=port)
    except OSError as err:
        raise ConfigError(f"{path} cannot be written: {err.strerror}") from err


def _remove(path: Path, access: Access) -> None:
    what = "removed" if access.remove(path) else "left as it is: it leads elsewhere too"
    click.echo(f"the simulated cluster has ended; {path} is {what}", err=True)
