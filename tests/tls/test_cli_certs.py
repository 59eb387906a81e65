import base64
import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kq.cli.certs import certs
from kq.cli.inject import ca_operations, inject_with
from kq.clock import utc_now
from kq.kube.errors import Conflict
from kq.tls.issue import Profile, issue_ca, issue_serving, serving_names

NAME = "koord-queue-webhook.koord-queue.svc"
FILES = ("ca.crt", "ca.key", "tls.crt", "tls.key")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(certs, [str(each) for each in arguments])


def contents(folder: Path) -> dict[str, bytes]:
    return {file: (folder / file).read_bytes() for file in FILES}


def test_issue_writes_what_verify_accepts(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    done = run("issue", "--out", folder, "--name", "localhost")
    assert done.exit_code == 0, done.output
    assert sorted(each.name for each in folder.iterdir()) == sorted(FILES)
    assert {stat.S_IMODE((folder / each).stat().st_mode) for each in FILES} == {0o600}
    assert f"wrote {folder / 'tls.key'}" in done.output
    assert "tls.crt good until" in done.output
    assert "localhost" in done.output
    assert "PRIVATE" not in done.output
    assert run("verify", folder).exit_code == 0


def test_a_second_run_renews_the_pair_under_the_same_ca(tmp_path: Path) -> None:
    run("issue", "--out", tmp_path)
    before = contents(tmp_path)
    assert run("issue", "--out", tmp_path).exit_code == 0
    after = contents(tmp_path)
    changed = [file for file in FILES if before[file] != after[file]]
    assert changed == ["tls.crt", "tls.key"]
    assert run("verify", tmp_path).exit_code == 0


def test_force_makes_a_new_ca(tmp_path: Path) -> None:
    run("issue", "--out", tmp_path)
    before = contents(tmp_path)
    assert run("issue", "--out", tmp_path, "--force").exit_code == 0
    assert not set(before.values()) & set(contents(tmp_path).values())


def test_an_expired_ca_is_replaced(tmp_path: Path) -> None:
    ca = issue_ca(utc_now() - timedelta(days=731), Profile())
    (tmp_path / "ca.crt").write_bytes(ca.certificate)
    (tmp_path / "ca.key").write_bytes(ca.key)
    assert run("issue", "--out", tmp_path).exit_code == 0
    assert run("verify", tmp_path).exit_code == 0


@pytest.mark.parametrize("missing", ["ca.key", "ca.crt"])
def test_a_ca_of_somebody_is_not_overwritten(tmp_path: Path, missing: str) -> None:
    run("issue", "--out", tmp_path)
    (tmp_path / missing).unlink()
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    done = run("issue", "--out", tmp_path)
    assert done.exit_code == 1
    assert "--force makes a new one" in done.output
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = run("issue", "--out", tmp_path / "out", "--dry-run")
    assert done.exit_code == 0
    assert "would write" in done.output
    assert not (tmp_path / "out").exists()


def put(folder: Path, *, days_ago: int = 0, service: str = "koord-queue-webhook") -> None:
    now = utc_now() - timedelta(days=days_ago)
    ca = issue_ca(now, Profile())
    serving = issue_serving(ca, serving_names(service, "koord-queue"), now, Profile())
    (folder / "ca.crt").write_bytes(ca.certificate)
    (folder / "tls.crt").write_bytes(serving.certificate)
    (folder / "tls.key").write_bytes(serving.key)


@pytest.mark.parametrize(
    ("days_ago", "service", "arguments", "message"),
    [
        pytest.param(80, "koord-queue-webhook", [], "tls.crt expires at", id="10 days left"),
        pytest.param(91, "koord-queue-webhook", [], "tls.crt expired at", id="expired"),
        pytest.param(0, "other", [], "does not verify for koord-queue-webhook", id="names"),
        pytest.param(0, "a", ["--service", "b"], "does not verify for b", id="names asked for"),
    ],
)
def test_verify_fails_with_the_reason(
    tmp_path: Path, days_ago: int, service: str, arguments: list[str], message: str
) -> None:
    put(tmp_path, days_ago=days_ago, service=service)
    done = run("verify", tmp_path, *arguments)
    assert done.exit_code == 1
    assert message in done.output


def test_verify_takes_a_good_pair_of_another_service(tmp_path: Path) -> None:
    put(tmp_path, service="other")
    assert run("verify", tmp_path, "--service", "other").exit_code == 0


def configuration(*bundles: str | None) -> dict[str, Any]:
    return {
        "metadata": {"name": "koord-queue", "resourceVersion": "7"},
        "webhooks": [
            {"clientConfig": {} if each is None else {"caBundle": each}} for each in bundles
        ],
    }


def test_only_entries_with_another_bundle_are_written() -> None:
    good = base64.b64encode(b"CA").decode()
    assert ca_operations(configuration(good, None, "Cg=="), b"CA") == [
        {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": good},
        {"op": "add", "path": "/webhooks/2/clientConfig/caBundle", "value": good},
    ]
    assert ca_operations({"metadata": {}}, b"CA") == []


class FakeClient:
    """A configuration that somebody else changes so many times before a patch gets through."""

    def __init__(self, *bundles: str | None, conflicts: int = 0) -> None:
        self.configuration = configuration(*bundles)
        self.conflicts = conflicts
        self.patches: list[Any] = []

    async def get(self, *_where: object) -> dict[str, Any]:
        return self.configuration

    async def json_patch(self, *arguments: Any, resource_version: str) -> None:
        if self.conflicts:
            self.conflicts -= 1
            raise Conflict("changed", code=409)
        self.patches.append((arguments[-1], resource_version))


async def test_injecting_writes_under_the_version_it_saw() -> None:
    client = FakeClient(None, None, conflicts=2)
    said = await inject_with(client, b"CA")  # type: ignore[arg-type]
    assert said == "set caBundle of 2 entries of koord-queue"
    assert client.patches == [(ca_operations(client.configuration, b"CA"), "7")]


async def test_a_configuration_that_keeps_changing_is_given_up() -> None:
    with pytest.raises(Conflict):
        await inject_with(FakeClient(None, conflicts=99), b"CA")  # type: ignore[arg-type]


async def test_equal_or_dry_run_writes_nothing() -> None:
    equal = FakeClient(base64.b64encode(b"CA").decode())
    assert "up to date" in await inject_with(equal, b"CA")  # type: ignore[arg-type]
    dry = FakeClient(None)
    said = await inject_with(dry, b"CA", dry_run=True)  # type: ignore[arg-type]
    assert said.startswith("would set caBundle of 1")
    assert equal.patches == dry.patches == []
