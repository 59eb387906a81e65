"""What is submitted, what is read of processes, who is to blame for a failure."""

import asyncio
import json

import msgspec
import pytest

from bench import meter, objects
from bench.__main__ import main
from bench.failure import BenchError, first_of, report
from bench.loads import LOADS
from bench.loads.reviews import webhook_target
from bench.progress import attended
from kq.core import quotaviews
from kq.core.keys import QUOTA_LABEL
from kq.webhook.review import Request, decode


def test_a_job_is_submitted_as_a_person_writes_it_without_suspend() -> None:
    first, second = (msgspec.json.decode(each) for each in objects.jobs(2, "0s"))
    assert (first["metadata"]["name"], second["metadata"]["name"]) == ("job-00000", "job-00001")
    assert "suspend" not in first["spec"]
    assert first["metadata"]["labels"] == {QUOTA_LABEL: objects.QUOTA}
    assert first["spec"]["template"]["metadata"]["annotations"] == {"run-for": "0s"}


def test_a_quota_has_room_for_as_many_jobs_as_it_was_made_for() -> None:
    made = objects.quota(100)
    made["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    limit = quotaviews.quota(msgspec.json.encode(made)).limit
    assert limit.to_wire() == {"cpu": "10"}


def test_a_review_holds_a_job_of_6_kb_and_has_its_own_uid() -> None:
    first, second = (decode(body) for body in objects.reviews(2))
    assert isinstance(first, Request)
    assert isinstance(second, Request)
    assert first.uid != second.uid
    assert 6000 <= len(msgspec.json.encode(first.object)) < 6200


def test_the_webhook_is_found_and_trusted_as_by_an_api_server(
    serving_configuration: dict[str, object],
) -> None:
    target = webhook_target(serving_configuration)
    assert target.url == "https://127.0.0.1:9443/mutate?timeout=3s"
    assert target.server_name == "hook.system.svc"
    assert target.tls.get_ca_certs()


def test_the_peak_of_memory_is_read() -> None:
    assert meter.peak_kibibytes("VmPeak:\t  900 kB\nVmHWM:\t  123 kB\nVmRSS:\t 100 kB\n") == 123


def test_what_was_spent_is_the_difference_of_two_readings() -> None:
    assert meter.spent({"a": 1.0, "b": 2.0}, {"a": 1.5, "b": 2.0}) == {"a": 0.5, "b": 0.0}


def test_our_own_processor_time_is_a_reading_too() -> None:
    assert meter.cpu_seconds(())[meter.LOAD] > 0


def test_of_failures_together_the_first_is_named(tmp_path) -> None:  # type: ignore[no-untyped-def]
    inner = BenchError("a job was answered with 500")
    group = ExceptionGroup("clients", [ExceptionGroup("tasks", [inner, ValueError("x")])])
    assert first_of(group) is inner
    log = tmp_path / "burst/kq/manager-1.log"
    log.parent.mkdir(parents=True)
    log.write_text("one\ntwo\n")
    lines = report(group, tmp_path)
    assert lines[0] == "failed: a job was answered with 500"
    assert f"log {log}, its last lines:" in lines
    assert lines[-1] == f"all logs and data stay in {tmp_path} until you delete it"


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


@pytest.mark.looptime
async def test_work_that_takes_too_long_fails_with_its_state() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await attended(
            wait_for_ever(), check=lambda: None, state=lambda: "1 of 2 released", seconds=12
        )
    assert str(first_of(caught.value)) == "not done after 12 s: 1 of 2 released"


@pytest.mark.looptime
async def test_a_process_that_dies_ends_the_wait() -> None:
    def check() -> None:
        raise BenchError("etcd ended")

    with pytest.raises(ExceptionGroup) as caught:
        await attended(wait_for_ever(), check=check, state=lambda: "", seconds=60)
    assert str(first_of(caught.value)) == "etcd ended"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--only", "burst,bursts"], "bursts is not one of burst, no-queue", id="load"),
        pytest.param(["--jobs", "0"], "0 jobs are no load", id="number"),
    ],
)
def test_a_wrong_argument_is_told_before_anything_starts(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert said in capsys.readouterr().err


def test_every_load_of_the_table_can_be_named() -> None:
    assert json.dumps(list(LOADS)) == (
        '["burst", "no-queue", "places", "writes", "waiting", "reviews"]'
    )
