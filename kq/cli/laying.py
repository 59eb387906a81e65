"""Settings from configuration file, environment and flags, laid over one another (spec 16.2)."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from kq.errors import ConfigError
from kq.jobs import ALIASES, INTEGRATIONS
from kq.policies import POLICIES
from kq.settings import (
    QUOTA_PLUGINS,
    JobSettings,
    Settings,
    UnschedulableSettings,
    number,
    parse,
)

ON = ("true", "1")
QUOTA_MODES = {each.lower(): each for each in QUOTA_PLUGINS}
"""As the environment names them, in any case."""

BACK_OFF_MODES = ("elasticquota", "resourcequota")
"""Those of kube-queue, whose units that lack quota are in back-off (spec 10.20)."""


def load_settings(flags: Mapping[str, Any], environ: Mapping[str, str]) -> Settings:
    """Flag before environment before file before default (spec 16.2)."""
    settings = _of_file(flags["config"], environ.get("POD_NAMESPACE") or "koord-queue")
    if flags["enabled_extensions"]:
        enabled = [each.strip() for each in flags["enabled_extensions"].split(",")]
        settings = replace(
            settings, jobs=replace(settings.jobs, enabled=tuple(filter(None, enabled)))
        )
    settings = replace(settings, jobs=_kinds(settings.jobs, flags, environ))
    plugin = environ.get("QueueGroupPlugin")
    if plugin:
        if plugin.lower() not in QUOTA_MODES:
            known = ", ".join(QUOTA_MODES)
            raise ConfigError(f"QueueGroupPlugin is {plugin}, not one of {known}")
        settings = replace(settings, quotaPlugin=QUOTA_MODES[plugin.lower()])
    return _numbers(_retrying(settings, environ), flags)


def _of_file(path: str | None, namespace: str) -> Settings:
    body = read_file(path) if path else None
    try:
        return parse(body, install_namespace=namespace)
    except ConfigError as err:
        raise ConfigError(f"{path}: {err}") from err


def _source(flags: Mapping[str, Any], flag: str, key: str) -> str:
    """Where a value comes from that is a flag or a key of the file."""
    named = flags.get(flag.removeprefix("--").replace("-", "_"))
    return flag if named else f"{flags['config']}: {key}"


def _retrying(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """When those who lack quota are tried again, as far as the environment says (spec 10.20)."""
    by_plugin = environ.get("QueueGroupPlugin", "").lower() in BACK_OFF_MODES
    retry = settings.scheduling.retry or ("backoff" if by_plugin else "")
    strict = environ.get("StrictConsistency", "").lower() in ON
    scheduling = replace(settings.scheduling, retry=retry)
    return replace(settings, scheduling=scheduling, strictConsistency=strict)


def _kinds(jobs: JobSettings, flags: Mapping[str, Any], environ: Mapping[str, str]) -> JobSettings:
    """The enabled kinds by their keys, each once, and what PAI_ENV does to them (spec 8.4)."""
    enabled = tuple(dict.fromkeys(ALIASES.get(each, each) for each in jobs.enabled))
    for each in enabled:
        if each not in INTEGRATIONS:
            known = ", ".join(INTEGRATIONS)
            source = _source(flags, "--enabled-extensions", "jobs.enabled")
            raise ConfigError(f"{source} names {each}, not one of {known}")
    if environ.get("PAI_ENV"):
        jobs = replace(jobs, removeSuspendAnnotation=True, unitSuffixes=False)
    return replace(jobs, enabled=enabled)


def _numbers(settings: Settings, flags: Mapping[str, Any]) -> Settings:
    """Flags of the manager that replace a single value."""
    quota, api = settings.quota, settings.api
    if flags.get("oversellrate") is not None:
        rate = number(quota.oversellRate, flags["oversellrate"], "--oversellrate")
        quota = replace(quota, oversellRate=rate)
    if flags.get("preemptible") is not None:
        quota = replace(quota, defaultPreemptible=flags["preemptible"])
    if flags.get("qps") is not None:
        api = replace(api, qps=number(api.qps, flags["qps"], "--qps"))
    if flags.get("burst") is not None:
        api = replace(api, burst=number(api.burst, flags["burst"], "--burst"))
    scheduling = replace(settings.scheduling, unschedulableBackoff=_back_offs(settings, flags))
    return replace(settings, quota=quota, api=api, scheduling=scheduling)


def _back_offs(settings: Settings, flags: Mapping[str, Any]) -> UnschedulableSettings:
    back_offs = settings.scheduling.unschedulableBackoff
    for flag, name, key in (
        ("initial_backoff", "podInitialBackoffSeconds", "initialSeconds"),
        ("max_backoff", "podMaxBackoffSeconds", "maxSeconds"),
    ):
        text = flags.get(flag)
        if text is not None:
            value = int(text) if text.isascii() and text.isdecimal() else text
            back_offs = replace(back_offs, **{key: number(1, value, f"--{name}")})
    return back_offs


def default_policy(settings: Settings, flags: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """The policy of Queues that name none (spec 10.5)."""
    named = flags["default_queue_policy"] or settings.scheduling.defaultPolicy
    if named:
        if named not in POLICIES:
            known = ", ".join(POLICIES)
            source = _source(flags, "--default-queue-policy", "scheduling.defaultPolicy")
            raise ConfigError(f"{source} is {named}, not one of {known}")
        return str(named)
    return "Block" if environ.get("StrictPriority", "").lower() in ON else "Priority"


def read_file(path: str) -> object:
    """The configuration file's YAML."""
    try:
        return yaml.safe_load(Path(path).read_text("utf-8"))
    except OSError as err:
        raise ConfigError(f"{path} cannot be read: {err.strerror}") from err
    except UnicodeDecodeError as err:
        raise ConfigError(f"{path} is no text in UTF-8: {err.reason}") from err
    except (yaml.YAMLError, RecursionError) as err:
        raise ConfigError(f"{path} is no YAML: {' '.join(str(err).split())}") from err
