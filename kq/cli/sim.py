"""`kq sim`: a whole cluster with kq at work on it, in this process, for kubectl and others."""

import random
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import click

from kq.app.process import stop_on_signals
from kq.cli.help import HELP
from kq.cli.processes import serve
from kq.clock import utc_now
from kq.errors import ConfigError
from kq.log import LogFormat, configure
from kq.settings import Settings
from kq.sim.access import HOST, Access
from kq.sim.cluster.cluster import NODE_RESOURCES, node
from kq.sim.http import HttpFront
from kq.sim.operators import OPERATORS, extensions
from kq.sim.world import Simulation, Terms

LEVELS = ("debug", "info", "warning", "error")


@click.command(context_settings=HELP)
@click.option("--port", default=0, show_default=True, help="On loopback; 0: a free one.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("kq-sim.kubeconfig"),
    show_default=True,
    help="The file to write; it goes again at the end.",
)
@click.option("--nodes", default=1, show_default=True, help="How many of them.")
@click.option("--cpu", default="1000", show_default=True, help="Of each node.")
@click.option(
    "--operators",
    default="",
    help=f"Those whose kinds of jobs are queued too, comma-separated: {', '.join(OPERATORS)}.",
)
@click.option(
    "--log-level", type=click.Choice(LEVELS), default="warning", show_default=True, help="Of kq."
)
def sim(
    *, port: int, kubeconfig: Path, nodes: int, cpu: str, operators: str, log_level: str
) -> None:
    """A simulated cluster with kq at work, until Ctrl-C."""
    configure(log_level, LogFormat("console"))
    room = {**NODE_RESOURCES, "cpu": cpu}
    made = [node(f"node-{number}", room) for number in range(1, nodes + 1)]
    names = [each.strip() for each in operators.split(",") if each.strip()]
    settings = Settings()
    settings = replace(settings, jobs=replace(settings.jobs, enabled=extensions(names)))
    terms = Terms(nodes=made, operators=names, settings=settings, latency=0.0)
    serve(_run(port, kubeconfig.absolute(), terms))


async def _run(port: int, kubeconfig: Path, terms: Terms) -> None:
    access = Access.issue(utc_now())
    # Seeds UIDs and generated names, which are no secrets here.
    chance = random.Random()  # noqa: S311
    simulation = Simulation(clock=utc_now, random=chance, terms=terms)
    front = HttpFront(simulation.server, tokens=access.tokens, tls=access.context())
    async with AsyncExitStack() as stack:
        stop = stack.enter_context(stop_on_signals())
        await stack.enter_async_context(simulation)
        bound = await stack.enter_async_context(front.serving(port=port))
        try:
            access.write_kubeconfig(kubeconfig, port=bound)
        except OSError as err:
            raise ConfigError(f"{kubeconfig} cannot be written: {err}") from err
        stack.callback(kubeconfig.unlink, missing_ok=True)
        click.echo(f"a simulated cluster with kq at work on https://{HOST}:{bound}; try")
        click.echo(f"  export KUBECONFIG={kubeconfig}\n  kubectl get nodes")
        await stop.wait()
