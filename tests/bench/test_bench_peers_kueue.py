"""Kueue as the queue under test: its certificate, its quota, its program."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from controlplane import build, pki
from controlplane.build import Module
from controlplane.errors import BuildError
from controlplane.pki import Pair
from controlplane.processes import Process
from cryptography.hazmat.primitives import serialization

from bench import objects as loads_objects
from bench.failure import BenchError
from bench.peers import certificate, kueue, objects, program
from bench.peers.__main__ import main
from bench.peers.kueue import OfKueue


@pytest.fixture(scope="module")
def pair() -> Pair:
    return certificate.issue()


@pytest.mark.parametrize(
    "name", ["127.0.0.1", "kueue-webhook-service.kueue-system.svc", "kueue-ca"]
)
def test_the_certificate_vouches_for_itself_under_each_name(
    name: str, pair: Pair, tmp_path: Path
) -> None:
    pki.write(pair, tmp_path, "tls")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    client = ssl.create_default_context(cadata=pair.certificate.decode())
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(back, there, server_hostname=name)
    answering = server.wrap_bio(there, back, server_side=True)
    with pytest.raises(ssl.SSLWantReadError):
        asking.do_handshake()
    with pytest.raises(ssl.SSLWantReadError):
        answering.do_handshake()
    asking.do_handshake()
    assert asking.version() == "TLSv1.3"


def test_the_key_has_the_format_that_kueue_reads(pair: Pair) -> None:
    key = serialization.load_pem_private_key(pair.key, None)
    traditional = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    assert pair.key == traditional
    assert b"RSA" in pair.key.splitlines()[0]


def test_a_cluster_queue_has_room_for_as_many_jobs_as_it_was_made_for() -> None:
    flavor, cluster_queue, local_queue = (made for _, made in objects.quota(100))
    (group,) = cluster_queue["spec"]["resourceGroups"]
    assert group["coveredResources"] == ["cpu"]
    assert group["flavors"] == [
        {
            "name": flavor["metadata"]["name"],
            "resources": [{"name": "cpu", "nominalQuota": "10000m"}],
        }
    ]
    assert local_queue["spec"]["clusterQueue"] == cluster_queue["metadata"]["name"]


class FakeCluster:
    """Answers with workloads, and notes what is made."""

    def __init__(self, *conditions: str) -> None:
        status = {"conditions": [{"type": each, "status": "True"} for each in conditions]}
        self.answer = {"items": [{"status": status}], "status": status}
        self.made: list[str] = []

    def api(self, method: str, path: str, body: object = None) -> Mapping[str, Any]:
        if method == "POST":
            self.made.append(path)
        return self.answer

    def wait(self, path: str, condition: Any) -> None:
        assert condition(self.answer)
        self.made.append(f"waited for {path}")


def queue_on(cluster: FakeCluster) -> OfKueue:
    process = Process(name="kueue manager", pid=1, started=1, log="manager.log")
    return OfKueue(cluster=cluster, manager=process)  # type: ignore[arg-type]


def test_a_job_differs_from_one_for_kq_in_its_label_only() -> None:
    labels = queue_on(FakeCluster()).labels
    (theirs,) = map(msgspec.json.decode, loads_objects.jobs(1, "1s", labels))
    (ours,) = map(msgspec.json.decode, loads_objects.jobs(1, "1s"))
    assert theirs["metadata"].pop("labels") == {"kueue.x-k8s.io/queue-name": objects.QUEUE}
    del ours["metadata"]["labels"]
    assert theirs == ours


def test_a_quota_is_made_from_the_flavor_up_and_jobs_wait_until_it_is_active() -> None:
    cluster = FakeCluster("Active")
    queue_on(cluster).make_quota(5)
    assert [each.rsplit("/", 1)[1] for each in cluster.made] == [
        "resourceflavors",
        "clusterqueues",
        "localqueues",
        objects.QUEUE,
    ]


def test_a_load_counts_once_its_workloads_were_admitted_and_finished() -> None:
    queue = queue_on(FakeCluster("QuotaReserved", "Admitted", "Finished"))
    queue.check_ended(1)
    assert list(queue.parts) == ["manager"]


@pytest.mark.parametrize("condition", ["Admitted", "Finished"])
def test_a_load_does_not_count_if_a_workload_was_never_admitted_or_finished(
    condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kueue, "ENDED_SECONDS", -1.0)
    monkeypatch.setattr(kueue.processes, "check", lambda process: None)
    with pytest.raises(BenchError, match="of 1 jobs 0 workloads were admitted and finished"):
        queue_on(FakeCluster(condition)).check_ended(1)


def test_the_tool_line_of_go_mod_is_built_and_stamped_with_its_version() -> None:
    module = program.module()
    assert f"tool {module.tools['kueue']}\n" in module.go_mod()
    version = build.required_version(module.go_mod(), "sigs.k8s.io/kueue")
    assert module.linker_flags.endswith(f"version.GitVersion={version}")


GO = """#!/bin/sh
if [ "$1" = version ]; then echo go version go1.99.0 linux/amd64; exit; fi
if [ "$2" = download ]; then {download}; exit; fi
while [ "$1" != -o ]; do shift; done
echo built > "$2"
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    path = f"{tmp_path}:/usr/bin:/bin"
    return {"KQ_CACHE": str(tmp_path / "cache"), "PATH": path, "KUBEBUILDER_ASSETS": "/elsewhere"}


def write_go(folder: Path, download: str) -> None:
    (folder / "go").write_text(GO.format(download=download))
    (folder / "go").chmod(0o755)


def test_kueue_is_built_beside_ready_made_binaries_and_its_manifests_are_found(
    environ: dict[str, str], tmp_path: Path
) -> None:
    write_go(tmp_path, """echo '{"Dir": "/mod/kueue"}'""")
    made = program.ensure(environ, lambda line: None)
    assert made.binary.read_text() == "built\n"
    assert made.binary.is_relative_to(tmp_path / "cache" / "kueue")
    assert made.manifests == Path("/mod/kueue/config/default")


@pytest.mark.parametrize(
    "download",
    [
        pytest.param("""echo '{"Error": "no such version"}'; exit 1""", id="told"),
        pytest.param("echo no such version >&2; exit 1", id="printed"),
    ],
)
def test_a_module_that_cannot_be_had_is_told_with_the_reason(
    download: str, environ: dict[str, str], tmp_path: Path
) -> None:
    write_go(tmp_path, download)
    (tmp_path / "go.mod").write_text("module kq/example\n\ngo 1.26.0\n")
    module = Module(name="example", folder=tmp_path, tools={})
    with pytest.raises(BuildError, match="the files of a/b could not be had: no such version"):
        build.source_folder(module, "a/b", environ, lambda line: None)


def test_a_wrong_number_is_told_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--jobs", "0"])
    assert "0 jobs are no load" in capsys.readouterr().err
