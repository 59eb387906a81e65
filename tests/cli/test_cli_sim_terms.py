"""What `kq sim` makes of its flags, files and environment; and whose kubeconfig it writes."""

import errno
import os
import socket
import ssl
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from kq.cli import sim as module
from kq.clock import utc_now
from kq.errors import ConfigError
from kq.sim.access import Access, check_free, claimed
from kq.sim.http import listen
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


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--port", "99999"], "99999 is not in the range 0<=x<=65535"),
        (["--port", "-1"], "-1 is not in the range"),
        (["--port", "http"], "'http' is not a valid integer"),
        (["--nodes", "-1"], "-1 is not in the range"),
        (["--cpu", "lots"], "'lots' is not an amount above 0, such as 8 or 500m"),
        (["--cpu", "0"], "'0' is not an amount above 0"),
        (["--cpu", "-1"], "'-1' is not an amount above 0"),
        (["--kubeconfig", "/"], "'/' is a directory"),
        (["--objects", "/"], "'/' is a directory"),
        (["--objects", "/nowhere.yaml"], "'/nowhere.yaml' does not exist"),
    ],
    ids=" ".join,
)
def test_a_flag_that_makes_no_cluster_is_named_with_its_value(
    kq_main: Any, flags: list[str], why: str
) -> None:
    code, out, err = kq_main("sim", *flags)
    assert (code, out) == (2, "")
    assert flags[0] in err
    assert why in err
    assert err.endswith("(see kq sim --help)\n")


def test_an_unknown_operator_is_told_which_there_are() -> None:
    with pytest.raises(ConfigError, match=r"no operator is called nope; there are training, .*all"):
        terms("--operators", "nope")


def test_stdin_is_read_once() -> None:
    with pytest.raises(ConfigError, match="--objects - is there twice"):
        terms("--objects", "-", "--objects", "-")


def test_objects_are_read_before_anything_is_started(tmp_path: Path) -> None:
    file = tmp_path / "o.yaml"
    file.write_text("a: [")
    with pytest.raises(ConfigError, match=r"o\.yaml is no YAML"):
        terms("--objects", str(file))


# -- the port


def test_a_port_of_another_process_is_refused_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} of 127.0.0.1 is in use .* choose"):
            listen(port)


def test_a_port_that_only_others_may_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "create_server", refuse)
    with pytest.raises(ConfigError, match=r"port 80 of .* above 1023"):
        listen(80)


# -- the kubeconfig


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kq-sim.kubeconfig"


@pytest.fixture
def access() -> Access:
    return Access.issue(utc_now())


def free_port() -> int:
    with listen() as listener:
        return int(listener.getsockname()[1])


def test_a_kubeconfig_of_a_cluster_that_runs_stays(path: Path, access: Access) -> None:
    """One that is too busy to answer runs too."""
    with listen() as listener:
        access.write_kubeconfig(path, port=listener.getsockname()[1])
        with pytest.raises(ConfigError, match="that runs on https://127"):
            check_free(path)


def test_a_kubeconfig_that_was_left_behind_is_written_over(path: Path, access: Access) -> None:
    check_free(path)
    port = free_port()
    access.write_kubeconfig(path, port=port)
    check_free(path)
    with listen(port), claimed(path, port):
        Access.issue(utc_now()).write_kubeconfig(path, port=port)


def test_a_port_that_somebody_else_has_now_is_no_cluster_that_runs(
    path: Path, access: Access
) -> None:
    other = Access.issue(utc_now())
    with listen() as listener:
        access.write_kubeconfig(path, port=listener.getsockname()[1])
        answering = Thread(target=_shake_hands, args=(listener, other.context()))
        answering.start()
        check_free(path)
        answering.join()


def _shake_hands(listener: socket.socket, tls: ssl.SSLContext) -> None:
    connection, _ = listener.accept()
    with suppress(OSError), connection, tls.wrap_socket(connection, server_side=True):
        pass


def test_a_kubeconfig_that_another_cluster_wrote_meanwhile_stays(
    path: Path, access: Access
) -> None:
    check_free(path)
    with listen() as listener, listen() as ours:
        access.write_kubeconfig(path, port=listener.getsockname()[1])
        with (
            pytest.raises(ConfigError, match="that runs on"),
            claimed(path, ours.getsockname()[1]),
        ):
            pytest.fail("it is claimed")


@pytest.mark.parametrize(
    "text",
    [
        "clusters: [{name: prod, cluster: {server: 'https://10.0.0.1:6443'}}]",
        "clusters: [{name: kq-sim, cluster: {server: 'https://10.0.0.1:6443'}}]",
        "clusters: [{name: kq-sim, cluster: {server: 'https://127.0.0.1:99999'}}]",
        "clusters: [{name: kq-sim, cluster: x}]",
        "clusters: []",
        "{",
        "",
    ],
)
def test_a_file_of_somebody_else_is_refused(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(ConfigError, match="not of a simulated cluster; choose another"):
        check_free(path)
    assert path.read_text() == text


def test_a_place_where_no_file_can_be_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"there is no folder {tmp_path}/none; make it first"):
        check_free(tmp_path / "none" / "config")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="not of a simulated cluster"):
        check_free(tmp_path / "pipe")


def test_at_the_end_its_own_file_goes_however_kubectl_changed_it(
    path: Path, access: Access
) -> None:
    access.write_kubeconfig(path, port=1, namespace="default")
    path.write_text(path.read_text().replace("namespace: default", "namespace: team"))
    assert access.remove(path)
    assert not path.exists()
    assert access.remove(path)


@pytest.mark.parametrize("text", ["of another", "clusters: []", "{"])
def test_at_the_end_a_file_of_another_stays(path: Path, access: Access, text: str) -> None:
    path.write_text(text)
    assert not access.remove(path)
    Access.issue(utc_now()).write_kubeconfig(path, port=1)
    assert not access.remove(path)
    assert path.exists()


def test_at_the_end_a_file_that_leads_elsewhere_too_stays(path: Path, access: Access) -> None:
    access.write_kubeconfig(path, port=1)
    other = "clusters:\n- {name: prod, cluster: {server: 'https://10.0.0.1'}}\n"
    path.write_text(path.read_text().replace("clusters:\n", other))
    assert not access.remove(path)
    assert path.exists()
