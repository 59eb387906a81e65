"""The running server, called over real TLS as an API server calls it."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from https import JSON, Start
from reviews import UID, a_job, a_review, applied, held

from kq.errors import DecodeError
from kq.webhook.review import Request, Response


async def test_a_job_is_held_over_https(start: Start) -> None:
    async with start() as webhook:
        status, body = await webhook.post(a_review())
        answer = json.loads(body)
        assert status == 200
        assert answer["response"]["uid"] == UID
        assert applied(a_job(), answer) == held(a_job(), "label,pod-labels,suspend")
        requests = "kq_admission_requests_total"
        assert webhook.count(requests, kind="Job", result="patched") == 1
        assert webhook.count("kq_admission_seconds_count", kind="Job") == 1


async def test_kinds_of_strangers_share_one_series(start: Start) -> None:
    async with start() as webhook:
        for kind in ("Foo", "Bar"):
            await webhook.post(a_review(kind={"group": "x", "version": "v1", "kind": kind}))
        requests = "kq_admission_requests_total"
        assert webhook.count(requests, kind="other", result="allowed") == 2


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        pytest.param(b"{}", {"Content-Type": "text/plain"}, 415, id="text"),
        pytest.param(b"{}", {"Content-Type": ""}, 415, id="no content type"),
        pytest.param(b"", JSON, 400, id="empty"),
        pytest.param(b"{", JSON, 400, id="cut off"),
        pytest.param(b'{"kind":"Job"}', JSON, 400, id="no review"),
        pytest.param(
            a_review() | {"apiVersion": "admission.k8s.io/v1beta1"}, JSON, 400, id="v1beta1"
        ),
        pytest.param(a_review(uid=None), JSON, 400, id="no uid"),
        pytest.param(b"[" * 50_000, JSON, 400, id="deep"),
        pytest.param(b"\x1f\x8b\x08", {**JSON, "Content-Encoding": "gzip"}, 400, id="packed"),
        pytest.param(
            a_review(), {"Content-Type": "application/json; charset=utf-8"}, 200, id="charset"
        ),
    ],
)
async def test_what_is_no_review_is_refused_by_http(
    start: Start, body: Any, headers: dict[str, str], status: int
) -> None:
    async with start() as webhook:
        assert (await webhook.post(body, headers))[0] == status
        assert (await webhook.post(a_review()))[0] == 200


async def test_only_posts_to_the_path_are_answered(start: Start) -> None:
    async with start() as webhook:
        async with webhook.session.get(webhook.url) as answer:
            assert answer.status == 405
        async with webhook.session.post(f"https://127.0.0.1:{webhook.port}/x") as answer:
            assert answer.status == 404


async def test_a_thousand_reviews_at_once_are_all_answered(start: Start) -> None:
    async with start() as webhook:
        reviews = [a_review(uid=f"uid-{number}") for number in range(1000)]
        answers = await asyncio.gather(*(webhook.post(each) for each in reviews))
        said = [json.loads(body)["response"] for _, body in answers]
        assert [each["uid"] for each in said] == [each["request"]["uid"] for each in reviews]
        assert all("patch" in each for each in said)


def broken(error: Exception) -> Callable[[Request], Response]:
    def answer(_asked: Request) -> Response:
        raise error

    return answer


@pytest.mark.parametrize(
    ("error", "cause"),
    [(DecodeError("spec.x is y"), "spec.x is y"), (KeyError("secret"), "KeyError in answer")],
    ids=["ours", "unforeseen"],
)
async def test_a_failure_lets_the_job_through_with_a_warning(
    start: Start, error: Exception, cause: str
) -> None:
    async with start(broken(error)) as webhook:
        _, body = await webhook.post(a_review())
        said = json.loads(body)["response"]
        assert (said["uid"], said["allowed"]) == (UID, True)
        assert "patch" not in said
        assert said["warnings"] == [f"koord-queue failed, the job is not held yet: {cause}"]
        assert webhook.count("kq_admission_errors_total", kind="Job") == 1


async def test_a_failure_refuses_the_job_if_the_policy_is_fail(start: Start) -> None:
    async with start(broken(KeyError("secret")), fail_closed=True) as webhook:
        _, body = await webhook.post(a_review())
        said = json.loads(body)["response"]
        assert (said["allowed"], said["status"]["code"]) == (False, 500)
        assert said["status"]["message"] == (
            "koord-queue failed: KeyError in answer; to switch it off: "
            "kubectl delete mutatingwebhookconfiguration koord-queue"
        )
        requests = "kq_admission_requests_total"
        assert webhook.count(requests, kind="Job", result="error") == 1


async def test_an_odd_review_is_answered_as_a_failure(start: Start) -> None:
    async with start() as webhook:
        status, body = await webhook.post(a_review(object="text"))
        said = json.loads(body)["response"]
        assert (status, said["uid"], said["allowed"]) == (200, UID, True)
        assert "cannot be read" in said["warnings"][0]
        assert webhook.count("kq_admission_errors_total", kind="other") == 1
