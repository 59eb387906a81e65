"""What `kq sim` makes of its flags, files and environment; and whose kubeconfig it writes."""

import socket
from pathlib import Path

import pytest

from kq.cli import sim as module
from kq.clock import utc_now
from kq.errors import ConfigError
from kq.sim.access import Access, check_free, remove
from kq.sim.operators import OPERATORS, extensions
from kq.sim.world import Terms


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("QueueGroupPlugin", "StrictPriority", "PAI_ENV", "POD_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)


def terms(*flags: str) -> Terms:
    with module.sim.make_context("sim", list(flags)) as context:
        return module._terms(context.params)


def test_the_environment_chooses_the_quota_mode_as_for_the_manager(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("QueueGroupPlugin", "resourcequota")
    monkeypatch.setenv("StrictPriority", "true")
    monkeypatch.setenv("POD_NAMESPACE", "elsewhere")
    made = terms()
    assert made.settings.quotaPlugin == "ResourceQuota"
    assert made.default_policy == "Block"
    assert made.settings.installNamespace == "koord-queue"


def test_a_configuration_file_is_read_and_operators_add_their_kinds(tmp_path: Path) -> None:
    file = tmp_path / "kq.yaml"
    file.write_text("plugins: [{name: ElasticQuota}]\njobs: {enabled: [job, workflow]}\n")
    made = terms("--config", str(file), "--operators", "ray")
    assert made.settings.quotaPlugin == "ElasticQuota"
    assert made.settings.jobs.enabled == ("job", "workflow", "rayjob", "raycluster")


def test_a_value_that_is_wrong_is_named(tmp_path: Path) -> None:
    file = tmp_path / "kq.yaml"
    file.write_text("jobs: {enabeld: [job]}\n")
    with pytest.raises(ConfigError, match="enabled"):
        terms("--config", str(file))


def test_all_operators_have_one_word() -> None:
    assert extensions(["all"]) == extensions(OPERATORS)
    assert set(terms("--operators", "all").settings.jobs.enabled) == set(extensions(OPERATORS))


def test_a_kubeconfig_of_a_cluster_that_runs_stays(tmp_path: Path) -> None:
    path = tmp_path / "kq-sim.kubeconfig"
    with socket.create_server(("127.0.0.1", 0)) as server:
        Access.issue(utc_now()).write_kubeconfig(path, port=server.getsockname()[1])
        with pytest.raises(ConfigError, match="that runs on https://127"):
            check_free(path)


def test_a_kubeconfig_that_was_left_behind_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "kq-sim.kubeconfig"
    check_free(path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    Access.issue(utc_now()).write_kubeconfig(path, port=port)
    check_free(path)


@pytest.mark.parametrize(
    "text",
    [
        "clusters: [{name: prod, cluster: {server: 'https://10.0.0.1:6443'}}]",
        "clusters: [{name: kq-sim, cluster: {server: 'https://10.0.0.1:6443'}}]",
        "clusters: []",
        "{",
        "",
    ],
)
def test_a_file_of_somebody_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(ConfigError, match="not of a simulated cluster"):
        check_free(path)
    assert path.read_text() == text


def test_at_the_end_only_a_file_of_its_own_goes(tmp_path: Path) -> None:
    path = tmp_path / "kq-sim.kubeconfig"
    path.write_text("of another")
    remove(path, "mine")
    assert path.exists()
    remove(path, "of another")
    assert not path.exists()
    remove(path, "mine")
