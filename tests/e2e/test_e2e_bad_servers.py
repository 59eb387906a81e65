"""An API server that refuses, and requests that are none (spec 22.1, 22.2, 6.10).

What only a server out of order does is in tests/kube and tests/reconcile: expired versions (410),
refused tokens (401), lists that break off, answers that never come. Rights that are enough are in
test_e2e_writes.py.
"""

import http.client
import shutil
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from bad_input import good_job, refusal, told, wait_told
from controlplane.kq import CONFIGURATION, Kq
from gate import KIND, Gate
from ground import Object
from reading import is_suspended
from world import World

from kq.core.kinds import JOB, NAMESPACE, QUEUE_UNIT, ResourceKind

REVIEW = '{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {}}'
SEVEN_MIB = 7 * 1024 * 1024
NOBODY_S = "example.com/nobody-s"


@pytest.fixture(scope="module")
def noisy_kq(kq: Kq, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kq]:
    """kq with logs of its own: these tests make errors in it."""
    kept, kq.folder = kq.folder, tmp_path_factory.mktemp("noisy-kq")
    shutil.copytree(kept, kq.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.log"))
    kq.stop_manager()
    kq.start_manager()
    yield kq
    kq.stop_manager()
    kq.folder = kept
    kq.start_manager()


def status(code: int, reason: str, **details: object) -> Object:
    text = f"refused with {code}"
    return {"code": code, "reason": reason, "message": text, "details": details}


ERRORS = {
    "conflict": status(409, "Conflict"),
    "invalid": status(422, "Invalid"),
    "forbidden": status(403, "Forbidden"),
    "busy": status(429, "TooManyRequests", retryAfterSeconds=1),
    "broken": status(500, "InternalError"),
    "overloaded": status(503, "ServiceUnavailable"),
}
"""What the API server answers to the first writes about a job, by its name."""
TIMES = {**dict.fromkeys(ERRORS, 2), "busy": 1, "overloaded": 1, "forbidden": 6}
STATUS = ResourceKind(QUEUE_UNIT.group, QUEUE_UNIT.version, "QueueUnit", "queueunits/status")


@contextmanager
def gated(world: World, folder: Path, operation: str, kind: ResourceKind) -> Iterator[Gate]:
    """The API server answers by ERRORS to kq's first writes of that kind here."""
    with Gate(folder, ERRORS, TIMES) as gate:
        name = world.name_of("gate")
        body = gate.configuration(name, world.namespace, [(operation, kind)])
        world.ground.create(KIND, body)
        try:
            yield gate
        finally:
            world.ground.delete(KIND, "", name)


def test_a_release_that_is_refused_is_tried_again_while_its_grant_counts(
    noisy_kq: Kq, world: World, tmp_path: Path
) -> None:
    a = world.quota("a", cpu=len(ERRORS) + 1)
    world.job("fills", a, cpu=len(ERRORS) + 1)
    world.wait_granted("fills")
    world.submit(*(world.manifest(name, a, cpu=1) for name in ERRORS))
    for name in ERRORS:
        world.wait_phase(name, "Enqueued")
    with gated(world, tmp_path, "UPDATE", JOB) as gate:
        world.delete_job("fills")
        world.wait_granted(*ERRORS)
        world.job("wide", a, cpu=2)
        world.wait_message("wide", f"waiting for quota {a}: 2 cpu requested, not enough free of 7")
        world.wait_complete(good_job(world, a))
        for name in ERRORS:
            world.wait_pods(name)
    assert gate.refused == TIMES
    assert {name: world.unit(name)["status"]["attempts"] for name in ERRORS} == dict.fromkeys(
        ERRORS, 1
    )
    wait_told(world, "invalid", "ResumeFailed", f"the job was not changed: {denied(422)}")
    wait_told(world, "forbidden", "ResumeFailed", f"the job was not changed: {denied(403)}")
    for name in ("conflict", "busy", "broken", "overloaded"):
        assert told(world, name, "ResumeFailed") == []
    assert any("refused with 403" in line for line in noisy_kq.errors())


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        pytest.param("CREATE", QUEUE_UNIT, id="when it is made"),
        pytest.param("UPDATE", STATUS, id="when it is granted"),
    ],
)
@pytest.mark.usefixtures("noisy_kq")
def test_a_unit_that_is_refused_is_written_later_and_no_job_is_lost(
    world: World, tmp_path: Path, operation: str, kind: ResourceKind
) -> None:
    a = world.quota("a", cpu=len(ERRORS) + 1)
    with gated(world, tmp_path, operation, kind) as gate:
        world.submit(*(world.manifest(name, a, cpu=1, run_for="0s") for name in ERRORS))
        world.wait_complete(good_job(world, a), *ERRORS)
    assert gate.refused == TIMES
    for name in ERRORS:
        assert world.wait_phase(name, "Succeed")["status"]["attempts"] == 1
        is_told = name == "invalid" and operation == "CREATE"
        texts = [f"the queue unit was refused: {denied(422)}"] if is_told else []
        assert sorted(set(told(world, name, "UnitRefused"))) == texts


def denied(code: int) -> str:
    """How the API server words the gate's refusal."""
    return f'admission webhook "gate.example.com" denied the request: refused with {code}'


def test_edits_and_deletions_that_come_in_between_lose_nothing(world: World) -> None:
    a = world.quota("a", cpu=6)
    names = [f"job-{number}" for number in range(6)]
    brief = [f"brief-{number}" for number in range(6)]
    world.submit(*(world.manifest(name, a, cpu=1, run_for="0s") for name in (*names, *brief)))
    for name in brief:
        world.delete_job(name)
    for turn in range(4):
        for name in names:
            world.annotate_job(name, {"example.com/turn": str(turn)})
            if world.seen_unit(name) is not None:
                world.change_unit(name, {"metadata": {"annotations": {"turn": str(turn)}}})
    world.wait_complete(*names)
    for name in names:
        assert world.wait_phase(name, "Succeed")["status"]["attempts"] == 1
        assert told(world, name, "ResumeFailed") == []
    for name in brief:
        world.wait_unit_gone(name)


def test_a_namespace_on_its_way_out_gets_no_grants_and_takes_its_units_along(
    world: World,
) -> None:
    a = world.quota("a", cpu=1)
    world.job("fills", a, cpu=1)
    world.wait_granted("fills")
    doomed = World(ground=world.ground, namespace=f"{world.namespace}-doomed")
    world.ground.create(NAMESPACE, {"metadata": {"name": doomed.namespace}})
    body = doomed.manifest("waits", a, cpu=1, priority=9)
    body["metadata"]["finalizers"] = [NOBODY_S]
    world.ground.create(JOB, body)
    doomed.wait_message("waits", f"waiting for quota {a}: 1 cpu requested, not enough free of 1")
    world.ground.delete(NAMESPACE, "", doomed.namespace)
    world.delete_job("fills")
    good = good_job(world, a)
    refused = refusal(lambda: doomed.job("too-late", a, cpu=1))
    assert "because it is being terminated" in refused
    assert doomed.pods("waits") == []
    doomed.wait_unit_gone("waits")
    doomed.change_job("waits", {"metadata": {"finalizers": None}})
    world.ground.until(lambda: doomed.seen_job("waits") is None, "the job is gone")
    world.wait_complete(good)


def ask(kq: Kq, body: str, headers: Mapping[str, str], path: str = "/mutate") -> int:
    """The status of the webhook's answer to a request of somebody else's."""
    service = kq.cluster.api("GET", CONFIGURATION)["webhooks"][0]["clientConfig"]["service"]
    context = ssl.create_default_context(cafile=str(kq.folder / "tls" / "ca.crt"))
    context.check_hostname = False
    connection = http.client.HTTPSConnection("127.0.0.1", service["port"], context=context)
    try:
        connection.request("POST", path, body, dict(headers))
        return connection.getresponse().status
    finally:
        connection.close()


def test_what_is_no_review_is_refused_and_the_next_job_is_held(kq: Kq, world: World) -> None:
    json = {"Content-Type": "application/json"}
    answers = {
        "no JSON": ask(kq, "{", json),
        "no review": ask(kq, '{"kind": "Job"}', json),
        "another version": ask(kq, REVIEW, json),
        "another content type": ask(kq, REVIEW, {"Content-Type": "text/plain"}),
        "too large": ask(kq, "", {**json, "Content-Length": str(SEVEN_MIB + 1)}),
        "another path": ask(kq, REVIEW, json, "/validate"),
    }
    assert answers == {
        "no JSON": 400,
        "no review": 400,
        "another version": 400,
        "another content type": 415,
        "too large": 413,
        "another path": 404,
    }
    a = world.quota("a", cpu=1)
    world.job("fills", a, cpu=1)
    world.wait_granted("fills")
    world.job("held", a, cpu=1, run_for="0s")
    assert is_suspended(world.wait_job("held", bool))
    world.delete_job("fills")
    world.wait_complete("held")
