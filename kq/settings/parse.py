"""Reads a configuration file that is already a mapping (spec 16.1-16.4)."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from kq.errors import ConfigError
from kq.settings.scheduling import SchedulingSettings, UnschedulableSettings
from kq.settings.sections import Settings

API_VERSION = "scheduling.k8s.io/v1"
KIND = "KoordQueueConfiguration"
QUOTA_PLUGINS = ("ElasticQuotaV2", "ElasticQuota", "ResourceQuota")
PROTECTION = "defaultReclaimProtectTime"
BACK_OFFS = {"podInitialBackoffSeconds": "initialSeconds", "podMaxBackoffSeconds": "maxSeconds"}
"""What the reference calls the keys of `scheduling.unschedulableBackoff` (spec 10.19)."""
DURATIONS = ("Seconds", "Timeout")
"""What the keys of durations end in."""
OTHER_PLUGINS = ("Priority", "DefaultGroup", "defaultgroup")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)


def parse(body: object, *, install_namespace: str = "koord-queue") -> Settings:
    """The settings of a configuration file; ConfigError names path, value and nearest key."""
    if body is None:
        return Settings(installNamespace=install_namespace)
    if not isinstance(body, Mapping):
        raise ConfigError(f"the configuration is {body!s:.60}, not a map")
    _check_type(body)
    sections = {each.name: each.default_factory for each in fields(Settings) if _is_section(each)}
    known = {*sections, "apiVersion", "kind", "plugins", "pluginConfigs"}
    known |= {PROTECTION}
    values: dict[str, Any] = {}
    for key, value in body.items():
        if key not in known:
            raise ConfigError(f"{key} is not a known key{_nearest(str(key), known)}")
        if key in sections:
            values[key] = _section(sections[key], value, str(key))
    found = plugin_back_offs(body.get("pluginConfigs"))
    values["scheduling"] = _with_back_offs(values.get("scheduling"), body.get("scheduling"), found)
    return Settings(
        **values,
        quotaPlugin=quota_plugin(body.get("plugins")),
        installNamespace=install_namespace,
        defaultReclaimProtectTime=protection(body.get(PROTECTION)),
    )


def protection(value: object) -> timedelta:
    """A Go duration, or nanoseconds as the reference has it (spec 13.8)."""
    if value is None:
        return timedelta(0)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
        return timedelta(microseconds=value // 1000)
    if isinstance(value, str):
        return timedelta(seconds=seconds(value, PROTECTION))
    raise ConfigError(f"{PROTECTION} is {value!s:.60}, not a duration such as 90s or 1m30s")


def quota_plugin(plugins: object) -> str:
    """The quota plugin that a list of plugins names; ElasticQuotaV2 without a list (spec 11.1)."""
    if plugins is None:
        return "ElasticQuotaV2"
    if not isinstance(plugins, Sequence) or isinstance(plugins, str):
        raise ConfigError(f"plugins is {plugins!s:.60}, not a list")
    names = [each.get("name") if isinstance(each, Mapping) else each for each in plugins]
    for name in names:
        if name not in (*QUOTA_PLUGINS, *OTHER_PLUGINS):
            known = ", ".join((*QUOTA_PLUGINS, *OTHER_PLUGINS))
            raise ConfigError(f"plugins names {name}, not one of {known}")
    quotas = [str(name) for name in names if name in QUOTA_PLUGINS]
    if len(quotas) > 1:
        raise ConfigError(f"plugins names more than one quota plugin: {', '.join(quotas)}")
    return quotas[0] if quotas else ""


def plugin_back_offs(configs: object) -> dict[str, int]:
    """The back-offs that arguments of plugins name, by our own keys; other keys are theirs."""
    found: dict[str, int] = {}
    for plugin, args in configs.items() if isinstance(configs, Mapping) else ():
        for key, own in BACK_OFFS.items():
            if isinstance(args, Mapping) and key in args:
                found[own] = number(1, args[key], f"pluginConfigs.{plugin}.{key}")
    return found


def _with_back_offs(
    section: SchedulingSettings | None, body: object, found: Mapping[str, int]
) -> SchedulingSettings:
    """The section with back-offs that it does not set itself."""
    section = section or SchedulingSettings()
    own = body.get("unschedulableBackoff") if isinstance(body, Mapping) else None
    values = {**found, **{key: getattr(section.unschedulableBackoff, key) for key in own or ()}}
    back_off = replace(UnschedulableSettings(), **values)
    return replace(section, unschedulableBackoff=back_off)


def _check_type(body: Mapping[Any, Any]) -> None:
    for key, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if body.get(key, wanted) != wanted:
            raise ConfigError(f"{key} is {body[key]}, not {wanted}")


def _is_section(each: Any) -> bool:
    return isinstance(each.default_factory, type) and is_dataclass(each.default_factory)


def _section(section: Any, value: object, path: str) -> Any:
    """One section, each key checked."""
    if value is None:
        return section()
    if not isinstance(value, Mapping):
        raise ConfigError(f"{path} is {value!s:.60}, not a map")
    known = {each.name: each for each in fields(section)}
    values = {}
    for key, each in value.items():
        if key not in known:
            raise ConfigError(f"{path}.{key} is not a known key{_nearest(str(key), known)}")
        values[key] = _value(known[key], each, f"{path}.{key}")
    return section(**values)


def _value(known: Any, value: object, path: str) -> Any:
    if _is_section(known):
        return _section(known.default_factory, value, path)
    default = known.default
    if isinstance(default, tuple):
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        raise ConfigError(f"{path} is {value!s:.60}, not a list of texts")
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        raise ConfigError(f"{path} is {value!s:.60}, not true or false")
    if isinstance(default, int | float | Decimal):
        return number(default, value, path)
    allowed = known.metadata.get("values")
    if not isinstance(value, str) or (allowed and value not in allowed):
        wanted = " or ".join(allowed) if allowed else "a text"
        raise ConfigError(f"{path} is {value!s:.60}, not {wanted}")
    return value


def number(default: int | float | Decimal, value: object, path: str) -> Any:
    """A number of the default's type, 0 or more; whole seconds also as Go durations (`1m30s`).

    Rates, which alone are decimals, are above 0.
    """
    if isinstance(default, int) and isinstance(value, str) and path.endswith(DURATIONS):
        return seconds(value, path)
    text = str(value) if isinstance(value, int | float | str) else ""
    exact = Decimal(text) if _NUMBER.fullmatch(text) else Decimal(-1)
    if not 0 <= exact < 2**31:
        raise ConfigError(f"{path} is {value!s:.60}, not a number of 0 or more")
    if isinstance(default, Decimal) and not exact:
        raise ConfigError(f"{path} is {value!s:.60}, not a number above 0")
    if isinstance(default, int) and exact != int(exact):
        raise ConfigError(f"{path} is {value!s:.60}, not a whole number of 0 or more")
    return type(default)(exact)


def seconds(text: str, path: str) -> int:
    """Whole seconds of a Go duration of hours, minutes and seconds (spec 16.4)."""
    match = re.fullmatch(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?", text, re.ASCII)
    if not text or match is None:
        raise ConfigError(f"{path} is {text}, not a duration such as 90s or 1m30s")
    hours, minutes, rest = (int(each or 0) for each in match.groups())
    return hours * 3600 + minutes * 60 + rest


def _nearest(key: str, known: Any) -> str:
    near = difflib.get_close_matches(key, [str(each) for each in known], 1)
    return f"; did you mean {near[0]}?" if near else ""
