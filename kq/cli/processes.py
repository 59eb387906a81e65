"""`kq manager` and `kq webhook`: flags, environment and configuration file, then the process."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import structlog
import yaml

from kq.app import manager as manager_app
from kq.app import webhook as webhook_app
from kq.app.options import Address, ClusterOptions, ManagerOptions, WebhookOptions
from kq.cli.help import HELP
from kq.errors import ConfigError
from kq.jobs import ALIASES, INTEGRATIONS
from kq.log import LogFormat, configure
from kq.policies import POLICIES
from kq.settings import QUOTA_PLUGINS, JobSettings, Settings, number, parse

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
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "leaderElection",
    "leader-elect",
    "enableVisibilityServer",
    "visibility-bind-address",
)
"""Flags of old manifests, and of what this release does not have: one warning each (spec 16.5)."""

SERVICE = "koord-queue-webhook"
DEBUG_FROM = 5
ON = ("true", "1")
QUOTA_MODES = {each.lower(): each for each in QUOTA_PLUGINS}
"""As the environment names them, in any case."""

log = structlog.get_logger()

Command = Callable[..., None]


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
        click.option("--health-probe-bind-address", default=":8081", show_default=True),
        click.option("-v", "--v", "verbosity", type=int, default=4, show_default=True),
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
@click.option("--metrics-bind-address", default=":10259", show_default=True)
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
def manager(**flags: Any) -> None:
    """The manager: queues jobs and releases them."""
    settings = load_settings(flags, os.environ)
    options = ManagerOptions(
        cluster=ClusterOptions(kubeconfig=flags["kubeconfig"], context=flags["context"]),
        metrics=Address.parse(flags["metrics_bind_address"]),
        health=Address.parse(flags["health_probe_bind_address"]),
        default_policy=default_policy(settings, flags, os.environ),
    )
    if flags["check_config"]:
        click.echo("the configuration is fine")
        return
    start(settings, flags)
    serve(manager_app.run(settings, options))


@click.command(context_settings=HELP)
@common_flags
@click.option("--metrics-bind-address", default=":8080", show_default=True)
@click.option("--bind-address", default=":9443", show_default=True, help="HTTPS listener.")
@click.option("--tls-dir", default="/etc/koord-queue/tls", show_default=True)
def webhook(**flags: Any) -> None:
    """The webhook: holds jobs as they are submitted."""
    settings = load_settings(flags, os.environ)
    options = WebhookOptions(
        cluster=ClusterOptions(kubeconfig=flags["kubeconfig"], context=flags["context"]),
        metrics=Address.parse(flags["metrics_bind_address"]),
        health=Address.parse(flags["health_probe_bind_address"]),
        reviews=Address.parse(flags["bind_address"]),
        tls_dir=Path(flags["tls_dir"]),
        service=f"{SERVICE}.{settings.installNamespace}.svc",
    )
    if flags["check_config"]:
        click.echo("the configuration is fine")
        return
    start(settings, flags)
    serve(webhook_app.run(settings, options))


def serve(process: Coroutine[Any, Any, None]) -> None:
    """Runs a process to its end, on the faster event loop where there is one for the platform."""
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        runner.run(process)


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # it is not made for every platform
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def load_settings(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """Flag before environment before file before default (spec 16.2)."""
    body = read_file(flags["config"]) if flags["config"] else None
    namespace = environ.get("POD_NAMESPACE") or "koord-queue"
    settings = parse(body, install_namespace=namespace)
    if flags["enabled_extensions"]:
        enabled = [each.strip() for each in flags["enabled_extensions"].split(",")]
        settings = replace(
            settings, jobs=replace(settings.jobs, enabled=tuple(filter(None, enabled)))
        )
    settings = replace(settings, jobs=_kinds(settings.jobs, environ))
    plugin = environ.get("QueueGroupPlugin")
    if plugin:
        if plugin.lower() not in QUOTA_MODES:
            known = ", ".join(QUOTA_MODES)
            raise ConfigError(f"QueueGroupPlugin is {plugin}, not one of {known}")
        settings = replace(settings, quotaPlugin=QUOTA_MODES[plugin.lower()])
    return _numbers(settings, flags)


def _kinds(jobs: JobSettings, environ: Mapping[str, str]) -> JobSettings:
    """The enabled kinds by their keys, each once, and what PAI_ENV does to them (spec 8.4)."""
    enabled = tuple(dict.fromkeys(ALIASES.get(each, each) for each in jobs.enabled))
    for each in enabled:
        if each not in INTEGRATIONS:
            known = ", ".join(INTEGRATIONS)
            raise ConfigError(f"jobs.enabled names {each}, not one of {known}")
    if environ.get("PAI_ENV"):
        jobs = replace(jobs, removeSuspendAnnotation=True, unitSuffixes=False)
    return replace(jobs, enabled=enabled)


def _numbers(settings: Settings, flags: Mapping[str, Any]) -> Settings:
    """Flags of the manager that replace a single value."""
    quota, api = settings.quota, settings.api
    if flags.get("oversellrate") is not None:
        rate = number(quota.oversellRate, flags["oversellrate"], "--oversellrate")
        if not rate:
            raise ConfigError("--oversellrate is 0, not a number above 0")
        quota = replace(quota, oversellRate=rate)
    if flags.get("preemptible") is not None:
        quota = replace(quota, defaultPreemptible=flags["preemptible"])
    if flags.get("qps") is not None:
        api = replace(api, qps=number(api.qps, flags["qps"], "--qps"))
    if flags.get("burst") is not None:
        api = replace(api, burst=number(api.burst, flags["burst"], "--burst"))
    return replace(settings, quota=quota, api=api)


def default_policy(settings: Settings, flags: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """The policy of Queues that name none (spec 10.5)."""
    named = flags["default_queue_policy"] or settings.scheduling.defaultPolicy
    if named:
        if named not in POLICIES:
            known = ", ".join(POLICIES)
            raise ConfigError(f"the default queue policy is {named}, not one of {known}")
        return str(named)
    return "Block" if environ.get("StrictPriority", "").lower() in ON else "Priority"


def read_file(path: str) -> object:
    """The configuration file's YAML."""
    try:
        return yaml.safe_load(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as err:
        raise ConfigError(f"{path} cannot be read: {err}") from err
    except (yaml.YAMLError, RecursionError) as err:
        raise ConfigError(f"{path} is no YAML: {' '.join(str(err).split())}") from err


def start(settings: Settings, flags: Mapping[str, Any]) -> None:
    """Logs from now on; what was given without effect is said once."""
    level = "debug" if flags["verbosity"] >= DEBUG_FROM else settings.log.level
    configure(level, LogFormat(settings.log.format))
    for name in IGNORED:
        if flags.get(_ignored(name)) is not None:
            log.warning("flag has no effect", reason=f"--{name}")
