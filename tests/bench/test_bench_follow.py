"""What a follower makes of the lines of a watch."""

import asyncio
import json
from typing import Any

import pytest

from bench.failure import BenchError
from bench.follow import Follower, has_reason, is_complete, is_released
from kq.core.kinds import JOB
from kq.kube.client import Client
from kq.kube.connection import Connection

NOWHERE = Client(Connection(base_url="http://127.0.0.1:1"))


def follower() -> Follower:
    return Follower(NOWHERE, JOB, {"released": is_released, "complete": is_complete})


def line(type_: str, **thing: Any) -> bytes:
    meta = {"name": "job-1", "resourceVersion": "7", "uid": "u", "labels": {"a": "b"}}
    whole = {"kind": "Job", "metadata": meta, "spec": {"suspend": True}, **thing}
    return json.dumps({"type": type_, "object": whole}).encode() + b"\n"


def ended(status: str) -> dict[str, Any]:
    return {"conditions": [{"type": "Complete", "status": status, "reason": "x"}]}


def test_the_first_moment_of_each_claim_is_kept() -> None:
    seen = follower()
    seen.note(line("ADDED"), 1.0)
    seen.note(line("MODIFIED", spec={"suspend": False}), 2.0)
    seen.note(line("MODIFIED", spec={"suspend": False}, status=ended("True")), 3.0)
    seen.note(line("MODIFIED", spec={"suspend": False}, status=ended("True")), 4.0)
    assert seen.moments == {"released": {"job-1": 2.0}, "complete": {"job-1": 3.0}}


def test_a_job_that_was_never_held_is_released_when_it_appears() -> None:
    seen = follower()
    seen.note(line("ADDED", spec={}), 1.0)
    assert seen.moments["released"] == {"job-1": 1.0}


def test_a_condition_that_is_false_completes_nothing() -> None:
    seen = follower()
    seen.note(line("MODIFIED", status=ended("False")), 1.0)
    assert seen.moments["complete"] == {}


def test_a_bookmark_is_no_object() -> None:
    seen = follower()
    bookmark = {"kind": "Job", "metadata": {"resourceVersion": "9"}, "spec": {}}
    seen.note(json.dumps({"type": "BOOKMARK", "object": bookmark}).encode(), 1.0)
    assert seen.moments == {"released": {}, "complete": {}}


def test_an_error_in_the_watch_ends_the_measurement() -> None:
    status = {"kind": "Status", "code": 410, "metadata": {}}
    with pytest.raises(BenchError, match="410"):
        follower().note(json.dumps({"type": "ERROR", "object": status}).encode(), 1.0)


def test_a_unit_has_its_reason_with_its_message() -> None:
    seen = Follower(NOWHERE, JOB, {"reason": has_reason})
    seen.note(line("ADDED"), 1.0)
    assert seen.moments["reason"] == {}
    seen.note(line("MODIFIED", status={"message": "waiting for quota", "conditions": []}), 2.0)
    assert seen.moments["reason"] == {"job-1": 2.0}


async def test_who_waits_for_a_number_of_objects_is_woken_by_the_last() -> None:
    seen = follower()
    waiting = asyncio.ensure_future(seen.reached("released", 1))
    await asyncio.sleep(0)
    assert not waiting.done()
    seen.note(line("MODIFIED", spec={"suspend": False}), 2.0)
    await waiting
    await seen.reached("released", 1)
