"""What an administrator may set: names, defaults, types, and what is said of a mistake."""

from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import timedelta
from decimal import Decimal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kq.core.keys import EXCLUDED_NAMESPACES
from kq.errors import ConfigError
from kq.jobs import INTEGRATIONS
from kq.settings import Settings, parse
from kq.settings.parse import quota_plugin, seconds

HEAD = {"apiVersion": "scheduling.k8s.io/v1", "kind": "KoordQueueConfiguration"}


def at(settings, path):
    for name in path.split("."):
        settings = getattr(settings, name)
    return settings


def nested(path, value):
    """`a.b.c` and a value as the mapping of a file."""
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


@pytest.mark.parametrize(
    ("path", "default"),
    [
        ("jobs.enabled", ("job",)),
        ("jobs.namespaces", "all"),
        ("jobs.excludedNamespaces", ()),
        ("jobs.unmatchedJobs", "ignore"),
        ("jobs.defaultQuota", ""),
        ("jobs.copiedAnnotations", ()),
        ("jobs.slippedJobs", "suspend"),
        ("jobs.slippedGraceSeconds", 300),
        ("jobs.finishedUnitTTLSeconds", 0),
        *((f"jobs.{key}.runningTimeout", 0) for key in INTEGRATIONS),
        *((f"jobs.{key}.backoffTimeout", 60) for key in INTEGRATIONS),
        ("scheduling.defaultPolicy", ""),
        ("scheduling.backoff.maxSeconds", 3600),
        ("scheduling.backoff.limit", 0),
        ("quota.oversellRate", Decimal(1)),
        ("quota.parentQuotas", "refuse"),
        ("quota.usageAnnotations", False),
        ("quota.defaultPreemptible", True),
        ("quota.nonPreemptibleWithinMin", False),
        ("defaultReclaimProtectTime", timedelta(0)),
        ("quota.terminatingLimitSeconds", 300),
        ("security.namespaceQuota", "enforce"),
        ("security.bypass.enabled", False),
        ("security.bypass.users", ()),
        ("security.bypass.groups", ()),
        ("webhook.announce", True),
        ("webhook.labelPodTemplates", True),
        ("webhook.terminationDrainSeconds", 10),
        ("webhook.mutating.failurePolicy", "Ignore"),
        ("api.qps", 0),
        ("api.burst", 0),
        ("api.maxInFlight", 64),
        ("log.level", "info"),
        ("log.format", "json"),
        ("quotaPlugin", "ElasticQuotaV2"),
        ("installNamespace", "koord-queue"),
    ],
)
def test_the_default(path, default):
    """Spec 16.4."""
    for body in (None, {}, HEAD):
        assert at(parse(body), path) == default


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("jobs.enabled", ["job", "tfjob"], ("job", "tfjob")),
        ("jobs.enabled", [], ()),
        ("jobs.namespaces", "labelled", "labelled"),
        ("jobs.unmatchedJobs", "hold", "hold"),
        ("jobs.defaultQuota", "rest", "rest"),
        ("jobs.slippedJobs", "count", "count"),
        ("jobs.slippedGraceSeconds", 0, 0),
        ("jobs.slippedGraceSeconds", 90.0, 90),
        ("jobs.slippedGraceSeconds", "1m30s", 90),
        ("jobs.finishedUnitTTLSeconds", "2h", 7200),
        ("jobs.tfjob.runningTimeout", "10m", 600),
        ("jobs.workflow.backoffTimeout", 5, 5),
        ("scheduling.backoff.maxSeconds", "2h", 7200),
        ("scheduling.backoff.limit", 3, 3),
        ("quota.oversellRate", 1.5, Decimal("1.5")),
        ("quota.oversellRate", "1.1", Decimal("1.1")),
        ("quota.parentQuotas", "allow", "allow"),
        ("quota.usageAnnotations", True, True),
        ("security.namespaceQuota", "default", "default"),
        ("security.bypass.enabled", True, True),
        ("security.bypass.users", ["alice"], ("alice",)),
        ("webhook.announce", False, False),
        ("webhook.mutating.failurePolicy", "Fail", "Fail"),
        ("api.maxInFlight", 8, 8),
        ("log.level", "debug", "debug"),
        ("log.format", "console", "console"),
    ],
)
def test_a_value_is_taken(path, value, expected):
    found = at(parse(nested(path, value)), path)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, timedelta(0)),
        (0, timedelta(0)),
        ("90s", timedelta(seconds=90)),
        ("1h30m", timedelta(minutes=90)),
        (60_000_000_000, timedelta(minutes=1)),
        (1, timedelta(0)),
    ],
)
def test_the_protection_of_grants_is_a_duration_or_nanoseconds(value, expected):
    """Spec 13.8."""
    settings = parse({"defaultReclaimProtectTime": value, "quota": {"defaultPreemptible": False}})
    assert settings.defaultReclaimProtectTime == expected
    assert settings.taking_options.protection == expected
    assert settings.taking_options.preemptible is False


@pytest.mark.parametrize("value", [-1, True, 1.5, [], "soon", 2**63])
def test_no_other_protection_is_taken(value):
    with pytest.raises(ConfigError, match="defaultReclaimProtectTime is"):
        parse({"defaultReclaimProtectTime": value})


def test_a_rate_may_be_a_fraction():
    assert parse({"api": {"qps": 2.5}}).api.qps == 2.5


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"job": {}}, "job is not a known key; did you mean jobs?"),
        ({"qota": {}}, "qota is not a known key; did you mean quota?"),
        ({"zzz": {}}, "zzz is not a known key"),
        (
            {"jobs": {"unmatchedJob": "hold"}},
            "jobs.unmatchedJob is not a known key; did you mean unmatchedJobs?",
        ),
        (
            {"security": {"bypass": {"user": ["a"]}}},
            "security.bypass.user is not a known key; did you mean users?",
        ),
        ({5: {}}, "5 is not a known key"),
        (
            {"jobs": {"job": {"runningTimout": 5}}},
            "jobs.job.runningTimout is not a known key; did you mean runningTimeout?",
        ),
        (
            {"jobs": {"job": {"runningTimeout": "soon"}}},
            "jobs.job.runningTimeout is soon, not a duration such as 90s or 1m30s",
        ),
        ({"jobs": []}, "jobs is [], not a map"),
        ({"security": {"bypass": True}}, "security.bypass is True, not a map"),
        ({"jobs": {"enabled": "job"}}, "jobs.enabled is job, not a list of texts"),
        ({"jobs": {"enabled": [1]}}, "jobs.enabled is [1], not a list of texts"),
        ({"jobs": {"defaultQuota": 5}}, "jobs.defaultQuota is 5, not a text"),
        (
            {"jobs": {"unmatchedJobs": "Hold"}},
            "jobs.unmatchedJobs is Hold, not ignore or hold or reject",
        ),
        ({"webhook": {"announce": "true"}}, "webhook.announce is true, not true or false"),
        ({"webhook": {"announce": 1}}, "webhook.announce is 1, not true or false"),
        ({"log": {"level": "loud"}}, "log.level is loud, not debug or info or warning or error"),
        ({"apiVersion": "v1"}, "apiVersion is v1, not scheduling.k8s.io/v1"),
        ({"kind": "Config"}, "kind is Config, not KoordQueueConfiguration"),
        ([], "the configuration is [], not a map"),
        ("text", "the configuration is text, not a map"),
    ],
)
def test_a_mistake_is_named_with_its_place(body, message):
    """Spec 16.3: path, value, and the nearest known key."""
    with pytest.raises(ConfigError) as err:
        parse(body)
    assert str(err.value) == message


NUMBERS = ("api.maxInFlight", "quota.oversellRate", "api.qps", "jobs.slippedGraceSeconds")


@pytest.mark.parametrize("path", NUMBERS)
@pytest.mark.parametrize(
    "value",
    [-1, -0.5, True, None, [], {}, "many", "", "-1", "nan", ".inf", 2**31, 1e300]
    + [float(text) for text in ("nan", "inf", "-inf")],
)
def test_a_number_that_is_none_is_refused(path, value):
    with pytest.raises(ConfigError, match=f"^{path} is "):
        parse(nested(path, value))


@pytest.mark.parametrize("path", NUMBERS)
@pytest.mark.parametrize("text", ["1_0", " 1", "1 ", "1,5", "٣", "0x1", "1e", ".", "+"])
def test_a_number_is_written_in_digits(path, text):
    with pytest.raises(ConfigError, match=f"^{path} is "):
        parse(nested(path, text))


@pytest.mark.parametrize("rate", [0, 0.0, "0", "0.00"])
def test_11_2_a_rate_is_above_0(rate):
    with pytest.raises(ConfigError, match=r"^quota.oversellRate is .*, not a number above 0$"):
        parse(nested("quota.oversellRate", rate))


@pytest.mark.parametrize(
    ("written", "rate"), [("+1.5", "1.5"), (".5", "0.5"), ("2.", "2"), ("12e-1", "1.2"), (3, "3")]
)
def test_11_2_a_rate_in_any_common_form(written, rate):
    assert parse(nested("quota.oversellRate", written)).quota_options.oversell == Decimal(rate)


@pytest.mark.parametrize("path", ["api.maxInFlight", "jobs.slippedGraceSeconds"])
def test_a_count_has_no_fraction(path):
    with pytest.raises(ConfigError, match="not a whole number of 0 or more"):
        parse(nested(path, 1.5))


# -- durations (spec 16.4) ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0s", 0),
        ("90s", 90),
        ("1m30s", 90),
        ("1h", 3600),
        ("2h45m", 9900),
        ("24h0m1s", 86401),
    ],
)
def test_a_duration(text, expected):
    assert seconds(text, "x") == expected


@pytest.mark.parametrize("text", ["", "90", "s", "1d", "-1s", "1s1m", "1 m", "1m ", "٣s", "1,5h"])
def test_no_duration(text):
    with pytest.raises(ConfigError, match=r"^x is .*, not a duration such as 90s or 1m30s$"):
        seconds(text, "x")


# -- plugins (spec 11.1, 16.3) -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        (None, "ElasticQuotaV2"),
        ([{"name": "ElasticQuotaV2"}], "ElasticQuotaV2"),
        ([{"name": "Priority"}, {"name": "ElasticQuotaV2"}], "ElasticQuotaV2"),
        ([{"name": "Priority"}], ""),
        ([{"name": "DefaultGroup"}], ""),
        (["defaultgroup"], ""),
        ([], ""),
    ],
)
def test_the_quota_plugin(plugins, expected):
    assert quota_plugin(plugins) == expected
    assert parse({"plugins": plugins}).quotaPlugin == expected


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        (
            [{"name": "Fancy"}],
            "plugins names Fancy, not one of ElasticQuotaV2, ElasticQuota, ResourceQuota, "
            "Priority, DefaultGroup, defaultgroup",
        ),
        ("ElasticQuotaV2", "plugins is ElasticQuotaV2, not a list"),
        ({"name": "Priority"}, "plugins is {'name': 'Priority'}, not a list"),
        (
            ["ElasticQuotaV2", "ElasticQuotaV2"],
            "plugins names more than one quota plugin: ElasticQuotaV2, ElasticQuotaV2",
        ),
        (
            ["ElasticQuota", "ResourceQuota"],
            "plugins names more than one quota plugin: ElasticQuota, ResourceQuota",
        ),
    ],
)
def test_plugins_that_are_not_known(plugins, message):
    with pytest.raises(ConfigError) as err:
        quota_plugin(plugins)
    assert str(err.value) == message


# -- what follows from them --------------------------------------------------------------------


def test_the_configuration_of_the_reference_is_taken():
    text = """
      apiVersion: scheduling.k8s.io/v1
      kind: KoordQueueConfiguration
      plugins: [{name: Priority}, {name: ElasticQuotaV2}]
      pluginConfigs: {ElasticQuota: {checkQuotaOversold: true}}
      defaultReclaimProtectTime: 30s
    """
    assert parse(yaml.safe_load(text)).quotaPlugin == "ElasticQuotaV2"


def test_who_is_left_out():
    """Spec 5.2."""
    body = {"jobs": {"excludedNamespaces": ["quiet"], "namespaces": "labelled"}}
    found = parse(body, install_namespace="queueing").selection
    assert found.excluded == {*EXCLUDED_NAMESPACES, "queueing", "quiet"}
    assert found.labelled_only
    assert not parse({}).selection.labelled_only


def test_how_quotas_are_read():
    body = {
        "quota": {"oversellRate": "1.2", "parentQuotas": "allow"},
        "security": {"namespaceQuota": "default"},
        "jobs": {"defaultQuota": "rest"},
    }
    found = parse(body).quota_options
    assert found.oversell == Decimal("1.2")
    assert found.parents_take_jobs
    assert not found.enforce_namespaces
    assert found.default_quota == "rest"
    assert (found.preemptible, found.firm_within_min) == (True, False)
    bounds = {"defaultPreemptible": False, "nonPreemptibleWithinMin": True}
    found = parse({"quota": bounds}).quota_options
    assert (found.preemptible, found.firm_within_min) == (False, True)


def test_the_managers_own_name():
    """Spec 6.9."""
    found = parse({}, install_namespace="queueing")
    assert found.manager_user == "system:serviceaccount:queueing:koord-queue"
    assert parse(None, install_namespace="queueing").installNamespace == "queueing"


def keys_of(section):
    """Every key of the file, as a path."""
    for each in fields(section):
        if isinstance(each.default_factory, type) and is_dataclass(each.default_factory):
            yield each.name
            yield from (f"{each.name}.{path}" for path in keys_of(each.default_factory))
        elif section is not Settings:
            yield each.name


paths = st.sampled_from(sorted(keys_of(Settings)))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=3,
)


@given(paths, values)
def test_any_value_is_taken_or_refused_by_name(path, value):
    with suppress(ConfigError):
        parse(nested(path, value))
        return
    with pytest.raises(ConfigError, match=f"^{path}"):
        parse(nested(path, value))


@pytest.mark.parametrize(
    ("plugin", "said", "counts"),
    [
        ("ElasticQuotaV2", "", False),
        ("ElasticQuota", "", False),
        ("ResourceQuota", "", True),
        ("ResourceQuota", "ignore", False),
        ("ElasticQuotaV2", "count", True),
    ],
)
def test_11_9_whose_pods_count_by_default_depends_on_the_mode(plugin, said, counts):
    quota = {"foreignPods": said} if said else {}
    made = parse({"plugins": [plugin], "quota": quota})
    assert made.counts_foreign_pods is counts


@pytest.mark.parametrize(("said", "admits"), [({}, False), ({"missing": "admit"}, True)])
def test_11_18_what_a_namespace_without_a_quota_means(said, admits):
    assert parse({"quota": {"resourceQuota": said}}).quota_options.missing_admits is admits


def test_11_18_nothing_else_can_be_meant():
    with pytest.raises(ConfigError, match=r"quota\.resourceQuota\.missing is x, not wait or admit"):
        parse({"quota": {"resourceQuota": {"missing": "x"}}})
