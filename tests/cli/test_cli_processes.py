"""Flags, environment and configuration file of the processes (spec 16.1-16.5)."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from structlog.testing import capture_logs

from kq.cli import processes
from kq.cli.laying import default_policy, load_settings
from kq.cli.processes import manager, webhook
from kq.errors import ConfigError
from kq.settings import Settings

NOTHING = dict.fromkeys(("config", "enabled_extensions", "default_queue_policy"))
HEADER = "apiVersion: scheduling.k8s.io/v1\nkind: KoordQueueConfiguration\n"
CONTROL = "a: \x01"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "plugin.yaml"


def load(environ: Mapping[str, str] | None = None, **flags: Any) -> Settings:
    return load_settings(NOTHING | flags, environ or {})


# -- flag before environment before file before default


def test_without_anything_all_is_default() -> None:
    assert load() == Settings()


@pytest.mark.parametrize(
    ("text", "environ", "flags", "expected"),
    [
        pytest.param("", {}, {}, ("", 0.0, 0, Decimal(1)), id="default"),
        pytest.param(
            "scheduling: {defaultPolicy: Block}\napi: {qps: 5, burst: 7}\nquota: {oversellRate: 2}",
            {},
            {},
            ("Block", 5.0, 7, Decimal(2)),
            id="file",
        ),
        pytest.param(
            "api: {qps: 5, burst: 7}\nquota: {oversellRate: 2}",
            {},
            {"qps": 1.5, "burst": 2, "oversellrate": "1.25"},
            ("", 1.5, 2, Decimal("1.25")),
            id="flag over file",
        ),
        pytest.param(
            "api: {qps: 5, burst: 7}", {}, {"qps": 0.0}, ("", 0.0, 7, Decimal(1)), id="flag of zero"
        ),
    ],
)
def test_numbers_come_from_flag_then_file(
    file: Path, text: str, environ: dict[str, str], flags: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    file.write_text(HEADER + text)
    made = load(environ, config=str(file), **flags)
    found = made.scheduling.defaultPolicy, made.api.qps, made.api.burst, made.quota.oversellRate
    assert found == expected


@pytest.mark.parametrize(
    ("text", "environ", "flag", "expected"),
    [
        pytest.param("", {}, None, "Priority", id="default"),
        pytest.param("", {"StrictPriority": "true"}, None, "Block", id="environment"),
        pytest.param("", {"StrictPriority": "TRUE"}, None, "Block", id="environment, any case"),
        pytest.param("", {"StrictPriority": "1"}, None, "Block", id="environment, as number"),
        pytest.param("", {"StrictPriority": "yes"}, None, "Priority", id="environment, other"),
        pytest.param(
            "scheduling: {defaultPolicy: Priority}",
            {"StrictPriority": "true"},
            None,
            "Priority",
            id="the file names one",
        ),
        pytest.param("scheduling: {defaultPolicy: Priority}", {}, "Block", "Block", id="flag"),
    ],
)
def test_the_default_policy(
    file: Path, text: str, environ: dict[str, str], flag: str | None, expected: str
) -> None:
    file.write_text(HEADER + text)
    flags = NOTHING | {"config": str(file), "default_queue_policy": flag}
    assert default_policy(load_settings(flags, environ), flags, environ) == expected


@pytest.mark.parametrize(
    ("text", "environ", "expected"),
    [
        ("", {}, "ElasticQuotaV2"),
        ("plugins: [{name: Priority}]", {}, ""),
        ("plugins: [{name: Priority}]", {"QueueGroupPlugin": "elasticquotav2"}, "ElasticQuotaV2"),
        ("plugins: []", {"QueueGroupPlugin": "ElasticQuotaV2"}, "ElasticQuotaV2"),
        ("plugins: []", {"QueueGroupPlugin": ""}, ""),
        ("", {"QueueGroupPlugin": "elasticquota"}, "ElasticQuota"),
        ("", {"QueueGroupPlugin": "ResourceQuota"}, "ResourceQuota"),
        ("plugins: [{name: ElasticQuota}]", {"QueueGroupPlugin": "RESOURCEQUOTA"}, "ResourceQuota"),
    ],
)
def test_the_quota_plugin_is_the_environments_before_the_files(
    file: Path, text: str, environ: dict[str, str], expected: str
) -> None:
    file.write_text(HEADER + text)
    assert load(environ, config=str(file)).quotaPlugin == expected


@pytest.mark.parametrize(
    ("text", "environ", "backs_off"),
    [
        pytest.param("", {}, False, id="nothing"),
        pytest.param("", {"QueueGroupPlugin": "elasticquota"}, True, id="kube-queue's quotas"),
        pytest.param("", {"QueueGroupPlugin": "ResourceQuota"}, True, id="any case"),
        pytest.param("", {"QueueGroupPlugin": "elasticquotav2"}, False, id="the new quotas"),
        pytest.param("plugins: [{name: ElasticQuota}]", {}, False, id="plugin of the file"),
        pytest.param("scheduling: {retry: backoff}", {}, True, id="the file says so"),
        pytest.param(
            "scheduling: {retry: event}",
            {"QueueGroupPlugin": "elasticquota"},
            False,
            id="the file goes before what follows from the environment",
        ),
    ],
)
def test_the_retry_mode(file: Path, text: str, environ: dict[str, str], backs_off: bool) -> None:
    """Spec 10.20."""
    file.write_text(HEADER + text)
    assert load(environ, config=str(file)).retry_options.backs_off is backs_off


@pytest.mark.parametrize(
    ("value", "strict"),
    [("true", True), ("TRUE", True), ("1", True), ("yes", False), ("", False), ("false", False)],
)
def test_strict_consistency_is_the_environments(value: str, strict: bool) -> None:
    """Spec 10.21, 10.22."""
    assert load({"StrictConsistency": value}).retry_options.strict is strict


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({}, ("ElasticQuotaV2", "Priority", False, False), id="none"),
        pytest.param(
            {"StrictPriority": "1", "StrictConsistency": "TRUE"},
            ("ElasticQuotaV2", "Block", False, True),
            id="both, new quotas: mode event",
        ),
        pytest.param(
            {"QueueGroupPlugin": "elasticquota", "StrictPriority": "true"},
            ("ElasticQuota", "Block", True, False),
            id="StrictPriority alone",
        ),
        pytest.param(
            {"QueueGroupPlugin": "resourcequota", "StrictConsistency": "1"},
            ("ResourceQuota", "Priority", True, True),
            id="StrictConsistency alone",
        ),
        pytest.param(
            {
                "QueueGroupPlugin": "RESOURCEQUOTA",
                "StrictPriority": "True",
                "StrictConsistency": "true",
            },
            ("ResourceQuota", "Block", True, True),
            id="all three",
        ),
        pytest.param(
            {
                "QueueGroupPlugin": "elasticquotav2",
                "StrictPriority": "on",
                "StrictConsistency": " true",
            },
            ("ElasticQuotaV2", "Priority", False, False),
            id="what is neither true nor 1 is off",
        ),
    ],
)
def test_10_20_to_10_22_the_switches_of_the_environment_together(
    environ: dict[str, str], expected: tuple[str, str, bool, bool]
) -> None:
    """Spec 10.5, 10.20-10.22: each decides one thing, whatever the others say."""
    made = load(environ)
    retry = made.retry_options
    policy = default_policy(made, NOTHING, environ)
    assert (made.quotaPlugin, policy, retry.backs_off, retry.strict) == expected


BACK_OFF = "scheduling: {unschedulableBackoff: {initialSeconds: 3, maxSeconds: 1m}}"
BY_PLUGIN = "pluginConfigs: {Priority: {podInitialBackoffSeconds: 5, other: 1}, Y: }"


@pytest.mark.parametrize(
    ("text", "flags", "expected"),
    [
        pytest.param("", {}, (1, 20), id="default"),
        pytest.param(BACK_OFF, {}, (3, 60), id="file"),
        pytest.param(BY_PLUGIN, {}, (5, 20), id="arguments of a plugin"),
        pytest.param(f"{BY_PLUGIN}\n{BACK_OFF}", {}, (3, 60), id="the section goes first"),
        pytest.param(BACK_OFF, {"initial_backoff": "7"}, (7, 60), id="first of the flags"),
        pytest.param(BACK_OFF, {"max_backoff": "9"}, (3, 9), id="second of the flags"),
    ],
)
def test_back_offs_come_from_flag_then_file(
    file: Path, text: str, flags: dict[str, str], expected: tuple[int, int]
) -> None:
    """Spec 10.19, 16.2."""
    file.write_text(HEADER + text)
    retry = load(config=str(file), **flags).retry_options
    assert (retry.initial.total_seconds(), retry.longest.total_seconds()) == expected


@pytest.mark.parametrize(
    ("environ", "lines"),
    [
        ({"StrictConsistency": "true"}, ["StrictConsistency changes nothing"]),
        ({"StrictConsistency": "true", "QueueGroupPlugin": "elasticquota"}, []),
        ({}, []),
    ],
    ids=["mode event", "mode backoff", "unset"],
)
def test_strict_consistency_in_mode_event_is_one_line(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], lines: list[str]
) -> None:
    """Spec 10.21: no change, already so."""
    for name in ("StrictConsistency", "QueueGroupPlugin"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(processes, "start", lambda settings, flags: None)
    monkeypatch.setattr(processes, "serve", lambda work: work.close())
    with capture_logs() as logs:
        assert CliRunner(env=environ).invoke(manager, []).exit_code == 0
    assert [each["event"] for each in logs] == lines


@pytest.mark.parametrize("flag", ["job", " job , ", "job,"])
def test_extensions_of_the_flag_replace_the_files(file: Path, flag: str) -> None:
    file.write_text(HEADER + "jobs: {enabled: []}")
    assert load(config=str(file)).jobs.enabled == ()
    assert load(config=str(file), enabled_extensions=flag).jobs.enabled == ("job",)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [({}, "koord-queue"), ({"POD_NAMESPACE": ""}, "koord-queue"), ({"POD_NAMESPACE": "q"}, "q")],
)
def test_the_install_namespace_is_the_pods(environ: dict[str, str], expected: str) -> None:
    assert load(environ).installNamespace == expected


# -- checked


@pytest.mark.parametrize("command", [manager, webhook], ids=["manager", "webhook"])
def test_a_good_configuration_is_only_checked(command: Any, file: Path) -> None:
    file.write_text(HEADER + "log: {level: debug}")
    ended = CliRunner().invoke(command, ["--config", str(file), "--check-config"])
    assert (ended.exit_code, ended.output) == (0, "the configuration is fine\n")


WRONG: list[Any] = [
    pytest.param("jobs: {enbled: []}", [], "did you mean enabled?", id="unknown key"),
    pytest.param("jobs: {slippedJobs: often}", [], "jobs.slippedJobs is often", id="wrong value"),
    pytest.param("kind: Other", [], "kind is Other", id="another kind"),
    pytest.param("- a list", [], "not a map", id="no map"),
    pytest.param("plugins: [{name: Nope}]", [], "plugins names Nope", id="unknown plugin"),
    pytest.param("jobs: {enabled: [nope]}", [], "jobs.enabled names nope", id="unknown extension"),
    pytest.param("a: [", [], "is no YAML", id="broken YAML"),
    pytest.param("{[a]: b}", [], "is no YAML", id="YAML with a list as key"),
    pytest.param(CONTROL, [], "is no YAML", id="YAML with a control character"),
    pytest.param("[" * 5000, [], "is no YAML", id="YAML too deep"),
    pytest.param("", ["--oversellrate", "x"], "--oversellrate is x", id="rate, no number"),
    pytest.param("", ["--oversellrate", "0"], "above 0", id="rate of zero"),
    pytest.param("", ["--oversellrate", "-1"], "--oversellrate is -1", id="negative rate"),
    pytest.param("", ["--oversellrate", "nan"], "--oversellrate", id="rate, nan"),
    pytest.param("", ["--oversellrate", "1e400"], "--oversellrate", id="rate beyond reason"),
    pytest.param("", ["--qps", "abc"], "--qps", id="qps, no number"),
    pytest.param(
        "", ["--podMaxBackoffSeconds", "-1"], "--podMaxBackoffSeconds is -1", id="back-off"
    ),
    pytest.param("scheduling: {retry: often}", [], "scheduling.retry is often", id="retry mode"),
    pytest.param(
        "pluginConfigs: {X: {podMaxBackoffSeconds: x}}",
        [],
        "pluginConfigs.X.podMaxBackoffSeconds is x",
        id="back-off of a plugin",
    ),
    pytest.param("", ["--qps", "nan"], "--qps", id="qps, nan"),
    pytest.param("", ["--qps", "-1"], "--qps", id="negative qps"),
    pytest.param("", ["--burst", "-5"], "--burst", id="negative burst"),
    pytest.param("", ["--default-queue-policy", "FIFO"], "policy is FIFO", id="unknown policy"),
    pytest.param("", ["--default-queue-policy", "block"], "policy is block", id="wrong case"),
    pytest.param("", ["--metrics-bind-address", "x"], "address is x", id="no address"),
    pytest.param("", ["--health-probe-bind-address", ":70000"], ":70000", id="no such port"),
    pytest.param("", ["--enabled-extensions", "job,nope"], "names nope", id="extension by flag"),
]


@pytest.mark.parametrize(("text", "flags", "expected"), WRONG)
def test_what_is_wrong_is_one_line_and_exit_code_2(
    kq_main: Any, file: Path, text: str, flags: list[str], expected: str
) -> None:
    file.write_text(text)
    code, out, err = kq_main("manager", "--check-config", "--config", str(file), *flags)
    assert (code, out) == (2, "")
    assert expected in err
    assert (flags[0] if flags else f"{file}: ") in err.replace(" is no YAML", ": ")
    assert len(err.splitlines()) == 1


def test_a_file_that_is_not_there_is_told(kq_main: Any, tmp_path: Path) -> None:
    code, _, err = kq_main("manager", "--check-config", "--config", str(tmp_path / "none"))
    assert (code, "cannot be read: No such file" in err, len(err.splitlines())) == (2, True, 1)


def test_a_file_that_is_no_text_is_told(kq_main: Any, file: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    code, _, err = kq_main("manager", "--check-config", "--config", str(file))
    assert (code, "is no text in UTF-8" in err, len(err.splitlines())) == (2, True, 1)


def test_an_unknown_quota_plugin_of_the_environment_is_told() -> None:
    with pytest.raises(ConfigError, match="elasticquotav2, elasticquota, resourcequota"):
        load({"QueueGroupPlugin": "Nope"})


@pytest.mark.parametrize(
    ("form", "preemptible"),
    [
        ([], True),
        (["--defaultPreemptible"], True),
        (["--defaultPreemptible=false"], False),
        (["--defaultPreemptible", "true"], True),
    ],
)
def test_whether_jobs_are_preemptible_is_a_flag(
    monkeypatch: pytest.MonkeyPatch, form: list[str], preemptible: bool
) -> None:
    """Spec 11.13, 16.5."""
    seen: list[Settings] = []
    monkeypatch.setattr(processes, "start", lambda settings, flags: seen.append(settings))
    monkeypatch.setattr(processes, "serve", lambda work: work.close())
    assert CliRunner().invoke(manager, form).exit_code == 0
    assert [each.quota.defaultPreemptible for each in seen] == [preemptible]


# -- flags without effect


@pytest.mark.parametrize("command", [manager, webhook], ids=["manager", "webhook"])
@pytest.mark.parametrize("name", processes.IGNORED)
def test_flags_of_old_manifests_are_taken(command: Any, name: str) -> None:
    for form in ([f"--{name}"], [f"--{name}=5"], [f"--{name}", "5"]):
        ended = CliRunner().invoke(command, ["--check-config", *form])
        assert ended.exit_code == 0, ended.output


def test_flags_without_effect_are_not_in_the_help() -> None:
    text = CliRunner().invoke(manager, ["--help"]).output
    assert "--enabled-extensions" in text
    assert [name for name in processes.IGNORED if f"--{name}" in text] == []
