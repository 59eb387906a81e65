"""`kq manager` and `kq webhook`: flags, environment and configuration file, then the process."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
import structlog

from kq.app import manager as manager_app
from kq.app import webhook as webhook_app
from kq.app.options import Address, ClusterOptions, ManagerOptions, WebhookOptions
from kq.cli.help import HELP
from kq.cli.laying import default_policy, load_settings
from kq.errors import ConfigError
from kq.log import LogFormat, configure
from kq.settings import Settings

IGNORED = (
    "admissionCheckControllerWorker",
    "scheduleSuspendTimeInMillSecond",
    "enableParentLimit",
    "strictDequeueMode",
    "queue-list",
    "feature-gates",
    "enableApiHandler",
    "manage-all-jobs",
    "workers",
    "wqqps",
    "enable-pod-reclaim",
    "enable-reservation",
    "enable-network-aware",
    "default-requeue-period",
    "leaderElection",
    "leader-elect",
    "enableVisibilityServer",
    "visibility-bind-address",
)
"""Flags of old manifests, and of what this release does not have: one warning each (spec 16.5)."""

SERVICE = "koord-queue-webhook"
DEBUG_FROM = 5
log = structlog.get_logger()

Command = Callable[..., None]
T = TypeVar("T")


def _ignored(name: str) -> str:
    """The parameter of a flag without effect."""
    return f"ignored_{name.replace('-', '_').lower()}"


def common_flags(command: Command) -> Command:
    """Flags of both processes."""
    flags = [
        click.option("--config", type=click.Path(dir_okay=False), help="Configuration file."),
        click.option("--kubeconfig", help="Else in-cluster, then KUBECONFIG."),
        click.option("--context", help="Context of the kubeconfig."),
        click.option("--enabled-extensions", help="Job kinds, comma-separated."),
        click.option(
            "--health-probe-bind-address",
            default=":8081",
            show_default=True,
            help="/healthz and /readyz; host:port or :port.",
        ),
        click.option(
            "-v", "--v", "verbosity", type=int, default=4, show_default=True, help="5: debug."
        ),
        click.option("--check-config", is_flag=True, help="Only check the configuration."),
    ]
    flags.extend(
        click.option(f"--{name}", _ignored(name), hidden=True, flag_value="", is_flag=False)
        for name in IGNORED
    )
    for flag in reversed(flags):
        command = flag(command)
    return command


@click.command(context_settings=HELP)
@common_flags
@click.option(
    "--metrics-bind-address", default=":10259", show_default=True, help="/metrics of Prometheus."
)
@click.option("--default-queue-policy", help="Policy of Queues that name none.")
@click.option("--oversellrate", help="Limits are multiplied by it.")
@click.option(
    "--defaultPreemptible",
    "preemptible",
    type=bool,
    is_flag=False,
    flag_value="true",
    hidden=True,
)
@click.option("--qps", help="Requests to the API server a second; 0: no limit.")
@click.option("--burst", help="How many of them at once.")
@click.option("--podInitialBackoffSeconds", "initial_backoff", hidden=True)
@click.option("--podMaxBackoffSeconds", "max_backoff", hidden=True)
def manager(**flags: Any) -> None:
    """The manager: queues jobs and releases them."""
    settings = load_settings(flags, os.environ)
    options = ManagerOptions(
        cluster=ClusterOptions(kubeconfig=flags["kubeconfig"], context=flags["context"]),
        metrics=_address(flags, "--metrics-bind-address"),
        health=_address(flags, "--health-probe-bind-address"),
        default_policy=default_policy(settings, flags, os.environ),
    )
    if flags["check_config"]:
        click.echo("the configuration is fine")
        return
    start(settings, flags)
    if settings.strictConsistency and not settings.retry_options.backs_off:
        log.info("StrictConsistency changes nothing", reason="retry mode is event")
    serve(manager_app.run(settings, options))


@click.command(context_settings=HELP)
@common_flags
@click.option(
    "--metrics-bind-address", default=":8080", show_default=True, help="/metrics of Prometheus."
)
@click.option("--bind-address", default=":9443", show_default=True, help="HTTPS listener.")
@click.option(
    "--tls-dir",
    default="/etc/koord-queue/tls",
    show_default=True,
    help="Folder of tls.crt, tls.key and ca.crt.",
)
def webhook(**flags: Any) -> None:
    """The webhook: holds jobs as they are submitted."""
    settings = load_settings(flags, os.environ)
    options = WebhookOptions(
        cluster=ClusterOptions(kubeconfig=flags["kubeconfig"], context=flags["context"]),
        metrics=_address(flags, "--metrics-bind-address"),
        health=_address(flags, "--health-probe-bind-address"),
        reviews=_address(flags, "--bind-address"),
        tls_dir=Path(flags["tls_dir"]),
        service=f"{SERVICE}.{settings.installNamespace}.svc",
    )
    if flags["check_config"]:
        click.echo("the configuration is fine")
        return
    start(settings, flags)
    serve(webhook_app.run(settings, options))


def _address(flags: Mapping[str, Any], flag: str) -> Address:
    try:
        return Address.parse(flags[flag.removeprefix("--").replace("-", "_")])
    except ConfigError as err:
        raise ConfigError(f"{flag}: {err}") from err


def serve(process: Coroutine[Any, Any, T]) -> T:
    """Runs a process to its end, on the faster event loop where there is one for the platform."""
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        return runner.run(process)


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # it is not made for every platform
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def start(settings: Settings, flags: Mapping[str, Any]) -> None:
    """Logs from now on; what was given without effect is said once."""
    level = "debug" if flags["verbosity"] >= DEBUG_FROM else settings.log.level
    configure(level, LogFormat(settings.log.format))
    for name in IGNORED:
        if flags.get(_ignored(name)) is not None:
            log.warning("flag has no effect", reason=f"--{name}")
