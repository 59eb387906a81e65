"""What an administrator may set: one frozen dataclass a section, read once at the start (spec 16).

`parse()` reads a configuration file that is already a mapping; flags and environment are laid over
it by `kq.cli`. Names and defaults are those of spec 16.4.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from typing import Any

from kq.core.keys import EXCLUDED_NAMESPACES
from kq.core.options import QuotaOptions, Selection
from kq.errors import ConfigError

API_VERSION = "scheduling.k8s.io/v1"
KIND = "KoordQueueConfiguration"
QUOTA_PLUGINS = ("ElasticQuotaV2",)
OTHER_PLUGINS = ("Priority", "DefaultGroup", "defaultgroup")

_POLICIES = ("Priority", "Block")
_NAMESPACES = ("all", "labelled")
_UNMATCHED = ("ignore", "hold", "reject")
_SLIPPED = ("suspend", "count", "ignore")
_FAILURE = ("Ignore", "Fail")
_PARENTS = ("refuse", "allow")
_NAMESPACE_QUOTA = ("enforce", "default")
_LEVELS = ("debug", "info", "warning", "error")
_FORMATS = ("json", "console")


def one_of(*values: str) -> Any:
    """A field whose value is one of these; the first is the default."""
    return field(default=values[0], metadata={"values": values})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """Which jobs are managed (spec 5)."""

    enabled: tuple[str, ...] = ("job",)
    """Keys of spec 8.1."""
    namespaces: str = one_of(*_NAMESPACES)
    """`labelled`: only namespaces with koord-queue/managed: "true" take part."""
    excludedNamespaces: tuple[str, ...] = ()
    """Added to those of spec 5.2."""
    unmatchedJobs: str = one_of(*_UNMATCHED)
    """What becomes of jobs that no quota is found for (spec 5.4)."""
    defaultQuota: str = ""
    """The quota of jobs that nothing else gives one (spec 5.3)."""
    copiedAnnotations: tuple[str, ...] = ()
    """Further domains of annotations that units take over (spec 2.7)."""
    slippedJobs: str = one_of(*_SLIPPED)
    """What becomes of jobs that started without a grant (spec 5.12, 5.13)."""
    slippedGraceSeconds: int = 300
    """Jobs that started longer ago are counted, not suspended."""
    finishedUnitTTLSeconds: int = 0
    """Deletes units of finished jobs after that time; 0: they go with their job (spec 9.16)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingSettings:
    """Order and policies (spec 10)."""

    defaultPolicy: str = ""
    """Policy of Queues that name none; empty: by the environment (spec 10.5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaSettings:
    """How quotas are read (spec 11)."""

    oversellRate: Decimal = Decimal(1)
    """Limits are multiplied by it (spec 11.2)."""
    parentQuotas: str = one_of(*_PARENTS)
    """Whether a quota marked is-parent takes jobs (spec 11.3)."""
    terminatingLimitSeconds: int = 300
    """A pod that ends for longer no longer counts as live; 0: no limit (spec 11.9a)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BypassSettings:
    """Who may let a job through without a queue (spec 5.9)."""

    enabled: bool = False
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySettings:
    """Who may do what (spec 15)."""

    namespaceQuota: str = one_of(*_NAMESPACE_QUOTA)
    """`default`: the mapping of a namespace to a quota binds nobody (spec 15.4a)."""
    bypass: BypassSettings = field(default_factory=BypassSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class MutatingSettings:
    """What becomes of jobs when the webhook fails (spec 6.11)."""

    failurePolicy: str = one_of(*_FAILURE)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """What the webhook says and adds (spec 6)."""

    announce: bool = True
    """Tells a person that the job is held (spec 6.2a)."""
    labelPodTemplates: bool = True
    """Puts the quota label on pod templates (spec 6.6)."""
    terminationDrainSeconds: int = 10
    """Goes on accepting for that time after SIGTERM (spec 17.12)."""
    mutating: MutatingSettings = field(default_factory=MutatingSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """Requests to the API server."""

    qps: float = 0
    """Requests a second at most; 0: the server's own limits alone."""
    burst: int = 0
    maxInFlight: int = 64
    """Requests under way at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """Lines on stderr (spec 18.5)."""

    level: str = field(default="info", metadata={"values": _LEVELS})
    format: str = one_of(*_FORMATS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All sections, and where the process itself runs."""

    jobs: JobSettings = field(default_factory=JobSettings)
    scheduling: SchedulingSettings = field(default_factory=SchedulingSettings)
    quota: QuotaSettings = field(default_factory=QuotaSettings)
    security: SecuritySettings = field(default_factory=SecuritySettings)
    webhook: WebhookSettings = field(default_factory=WebhookSettings)
    api: ApiSettings = field(default_factory=ApiSettings)
    log: LogSettings = field(default_factory=LogSettings)
    quotaPlugin: str = "ElasticQuotaV2"
    """The quota mode; empty: no limits (spec 11.1)."""
    installNamespace: str = "koord-queue"
    """Where Queues live (spec 3.1)."""

    @property
    def selection(self) -> Selection:
        """Which namespaces take part (spec 5.2)."""
        excluded = (*EXCLUDED_NAMESPACES, self.installNamespace, *self.jobs.excludedNamespaces)
        return Selection(
            excluded=frozenset(excluded), labelled_only=self.jobs.namespaces == "labelled"
        )

    @property
    def quota_options(self) -> QuotaOptions:
        """How quotas are read."""
        return QuotaOptions(
            oversell=self.quota.oversellRate,
            parents_take_jobs=self.quota.parentQuotas == "allow",
            enforce_namespaces=self.security.namespaceQuota == "enforce",
            default_quota=self.jobs.defaultQuota,
        )

    @property
    def manager_user(self) -> str:
        """The user name of the manager's service account (spec 6.9)."""
        return f"system:serviceaccount:{self.installNamespace}:koord-queue"


def parse(body: object, *, install_namespace: str = "koord-queue") -> Settings:
    """The settings of a configuration file; ConfigError names path, value and nearest key."""
    if body is None:
        return Settings(installNamespace=install_namespace)
    if not isinstance(body, Mapping):
        raise ConfigError(f"the configuration is {body!s:.60}, not a map")
    _check_type(body)
    sections = {each.name: each.default_factory for each in fields(Settings) if _is_section(each)}
    known = {*sections, "apiVersion", "kind", "plugins", "pluginConfigs"}
    known |= {"defaultReclaimProtectTime"}
    values: dict[str, Any] = {}
    for key, value in body.items():
        if key not in known:
            raise ConfigError(f"{key} is not a known key{_nearest(str(key), known)}")
        if key in sections:
            values[key] = _section(sections[key], value, str(key))
    return Settings(
        **values, quotaPlugin=quota_plugin(body.get("plugins")), installNamespace=install_namespace
    )


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


def _check_type(body: Mapping[Any, Any]) -> None:
    for key, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if body.get(key, wanted) != wanted:
            raise ConfigError(f"{key} is {body[key]}, not {wanted}")


def _is_section(each: Any) -> bool:
    return isinstance(each.default_factory, type) and is_dataclass(each.default_factory)


def _section(section: Any, value: object, path: str) -> Any:
    """One section, each key checked."""
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
        return _number(default, value, path)
    allowed = known.metadata.get("values")
    if not isinstance(value, str) or (allowed and value not in allowed):
        wanted = " or ".join(allowed) if allowed else "a text"
        raise ConfigError(f"{path} is {value!s:.60}, not {wanted}")
    return value


def _number(default: int | float | Decimal, value: object, path: str) -> Any:
    """A number of the default's type, 0 or more; whole seconds also as Go durations (`1m30s`)."""
    if isinstance(default, int) and isinstance(value, str) and path.endswith("Seconds"):
        return seconds(value, path)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ConfigError(f"{path} is {value!s:.60}, not a number of 0 or more")
    try:
        number = type(default)(Decimal(str(value)))
    except ArithmeticError as err:
        raise ConfigError(f"{path} is {value!s:.60}, not a number of 0 or more") from err
    if not 0 <= number < 2**31 or Decimal(str(value)) != Decimal(str(number)):
        raise ConfigError(f"{path} is {value!s:.60}, not a number of 0 or more")
    return number


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
