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
from controlplane.errors import Refused
from controlplane.kq import CONFIGURATION, Kq
from gate import KIND, Gate
from ground import Object
from reading import is_suspended, message_of, reason_of
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


PASSING = sorted({*ERRORS} - {"invalid", "forbidden"})
"""Answers that may be others a moment later."""


def test_a_release_that_fails_is_tried_again_while_its_grant_counts(
    noisy_kq: Kq, world: World, tmp_path: Path
) -> None:
    a = world.quota("a", cpu=len(PASSING) + 1)
    world.job("fills", a, cpu=len(PASSING) + 1)
    world.wait_granted("fills")
    world.submit(*(world.manifest(name, a, cpu=1) for name in PASSING))
    for name in PASSING:
        world.wait_phase(name, "Enqueued")
    with gated(world, tmp_path, "UPDATE", JOB) as gate:
        world.delete_job("fills")
        world.wait_granted(*PASSING)
        world.job("wide", a, cpu=2)
        world.wait_message("wide", f"waiting for quota {a}: 2 cpu requested, not enough free of 5")
        world.wait_complete(good_job(world, a))
        for name in PASSING:
            world.wait_pods(name)
    assert gate.refused == {name: TIMES[name] for name in PASSING}
    attempts = {name: world.unit(name)["status"]["attempts"] for name in PASSING}
    assert attempts == dict.fromkeys(PASSING, 1)
    for name in PASSING:
        assert told(world, name, "ResumeFailed") == []
    assert any("refused with 500" in line for line in noisy_kq.errors())


@pytest.mark.parametrize("name", ["invalid", "forbidden"])
@pytest.mark.usefixtures("noisy_kq")
def test_a_release_that_is_denied_leaves_its_quota_to_others_and_comes_again(
    world: World, tmp_path: Path, name: str
) -> None:
    a = world.quota("a", cpu=1)
    with gated(world, tmp_path, "UPDATE", JOB) as gate:
        world.job(name, a, cpu=1)
        unit = world.wait_phase(name, "TimeoutBackoff")
        begin = f"the API server refused to let job {world.namespace}/{name} start: "
        assert message_of(unit).startswith(
            f"{begin}{denied(ERRORS[name]['code'])}; correct the job"
        )
        wait_told(world, name, "ResumeFailed", message_of(unit))
        world.wait_complete(good_job(world, a))
        assert gate.refused[name] in (1, 2)  # the label of its pods may be a write of its own
    world.ground.until(lambda: world.phase(name) == "Running", "it starts by itself", 90.0)


POLICY = ResourceKind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    False,
)
BINDING = ResourceKind(
    POLICY.group,
    POLICY.version,
    f"{POLICY.kind}Binding",
    "validatingadmissionpolicybindings",
    False,
)


@contextmanager
def unstoppable(world: World) -> Iterator[str]:
    """A policy of the cluster by which no Job here may be suspended; its name."""
    name, here = world.name_of("policy"), {"kubernetes.io/metadata.name": world.namespace}
    rule = {
        "apiGroups": ["batch"],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["jobs"],
    }
    is_left = "object.spec.suspend != true || oldObject.spec.suspend == true"
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": is_left, "message": "jobs here are not suspended"}],
    }
    bound = {
        "policyName": name,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchLabels": here}},
    }
    world.ground.create(POLICY, {"metadata": {"name": name}, "spec": spec})
    world.ground.create(BINDING, {"metadata": {"name": name}, "spec": bound})
    try:
        yield name
    finally:
        world.ground.delete(BINDING, "", name)
        world.ground.delete(POLICY, "", name)


def is_in_force(world: World, quota: str) -> bool:
    """Whether the API server acts by the policy; it takes a while to."""
    body = world.manifest("probe", quota, cpu=1)
    if world.seen_job("probe") is None:
        world.submit(body)
        world.wait_released("probe")
    try:
        world.change_job("probe", {"spec": {"suspend": True}})
    except Refused:
        return True
    world.change_job("probe", {"spec": {"suspend": False}})
    return False


@pytest.mark.usefixtures("noisy_kq")
def test_a_job_that_may_not_be_suspended_counts_and_is_evicted_once_it_may(world: World) -> None:
    a, b = world.quota("a", cpu=1), world.quota("b", cpu=1)
    world.job("first", a, cpu=1)
    world.wait_phase("first", "Running")
    with unstoppable(world) as policy:
        world.ground.until(lambda: is_in_force(world, b), "the policy is in force")
        world.change_unit("first", {"spec": {"active": False}})
        begin = f"the API server refused to suspend job {world.namespace}/first: "
        unit = world.wait_unit("first", lambda unit: message_of(unit).startswith(begin))
        assert policy in message_of(unit)
        assert "jobs here are not suspended; it runs on, and counts; " in message_of(unit)
        assert reason_of(unit, "Evicted") == "Deactivated"
        wait_told(world, "first", "NotEvictable", message_of(unit))
        world.job("second", a, cpu=1)
        world.wait_message(
            "second", f"waiting for quota {a}: 1 cpu requested, not enough free of 1"
        )
        assert len(world.pods("first")) == 1
    world.wait_pods("second")
    assert is_suspended(world.wait_job("first", bool))
    assert told(world, "first", "NotEvictable") == [message_of(unit)]


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
        is_told = name in ("invalid", "forbidden") and operation == "CREATE"
        code = ERRORS[name]["code"]
        texts = [f"the queue unit was refused: {denied(code)}"] if is_told else []
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
