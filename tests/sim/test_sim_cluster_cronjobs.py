from datetime import UTC, datetime, timedelta

import pytest
from cluster_objects import (
    NOW,
    accepted,
    ago,
    driven,
    job,
    owned_by,
    refused,
    told,
    view_of,
    words,
    written,
)

from kq.errors import DecodeError
from kq.sim.api.status import ApiStatus
from kq.sim.cluster.cronjobs import cron_controller, job_name
from kq.sim.cluster.schedules import parse_schedule
from kq.sim.control.controller import Key
from kq.sim.control.writes import Create, Replace

KEY = Key("n", "c")
HOUR = ago(3600)


def cron(*, last=None, active=(), **spec):
    status = {"lastScheduleTime": last} if last else {}
    if active:
        status["active"] = [
            {
                "kind": "Job",
                "namespace": "n",
                "name": each["metadata"]["name"],
                "uid": f"job-{each['metadata']['name']}",
            }
            for each in active
        ]
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {
            "name": "c",
            "namespace": "n",
            "uid": "cron-c",
            "resourceVersion": "2",
            "creationTimestamp": ago(30),
        },
        "spec": {
            "schedule": "0 * * * *",
            "concurrencyPolicy": "Allow",
            "jobTemplate": {"metadata": {"labels": {"l": "v"}}, "spec": {"template": {}}},
            **spec,
        },
        "status": status,
    }


def child(name, owner, ended="", seconds=60):
    conditions = (
        [{"type": ended, "status": "True", "lastTransitionTime": ago(seconds)}] if ended else []
    )
    status = {"conditions": conditions, "startTime": ago(seconds)}
    if ended == "Complete":
        status["completionTime"] = ago(seconds)
    return job(name, status=status, meta={"ownerReferences": [owned_by(owner)]})


def look(*objects):
    return cron_controller().sync(KEY, view_of(*objects), NOW)


def status_after(*objects):
    return [each.body["status"] for each in written(look(*objects)) if isinstance(each, Replace)]


@pytest.mark.parametrize(
    ("schedule", "moment", "due"),
    [
        ("* * * * *", (2026, 3, 1, 12, 0, 30), (2026, 3, 1, 12, 1)),
        ("0 * * * *", (2026, 3, 1, 12, 0), (2026, 3, 1, 13, 0)),
        ("*/20 9-17 * * 1-5", (2026, 3, 6, 17, 50), (2026, 3, 9, 9, 0)),
        ("30 4 1,15 * *", (2026, 3, 2, 0, 0), (2026, 3, 15, 4, 30)),
        ("0 0 13 * 5", (2026, 3, 1, 0, 0), (2026, 3, 6, 0, 0)),
        ("0 0 * JAN sun", (2026, 3, 1, 0, 0), (2027, 1, 3, 0, 0)),
        ("0 0 * * 7", (2026, 3, 2, 0, 0), (2026, 3, 8, 0, 0)),
        ("5/30 * * * *", (2026, 3, 1, 12, 6), (2026, 3, 1, 12, 35)),
        ("@daily", (2026, 3, 1, 12, 0), (2026, 3, 2, 0, 0)),
        ("0 0 29 2 *", (2026, 3, 1, 0, 0), (2028, 2, 29, 0, 0)),
    ],
)
def test_a_schedule_says_when_it_is_due_next(schedule, moment, due):
    found = parse_schedule(schedule).after(datetime(*moment, tzinfo=UTC))
    assert found == datetime(*due, tzinfo=UTC)


def test_a_day_that_never_comes_is_never_due():
    assert parse_schedule("0 0 31 2 *").after(NOW) is None


@pytest.mark.parametrize(
    "text", ["", "* * * *", "60 * * * *", "a * * * *", "5-1 * * * *", "*/0 * * * *", "@often"]
)
def test_what_is_no_schedule_is_refused(text):
    with pytest.raises(DecodeError):
        parse_schedule(text)


def test_a_job_is_made_when_it_is_due_and_only_then():
    writes, again = driven(look(cron(last=HOUR)))
    [create] = [each for each in writes if isinstance(each, Create)]
    meta = create.body["metadata"]
    assert meta["name"] == job_name(cron(), NOW)
    assert meta["labels"] == {"l": "v"}
    assert meta["annotations"] == {
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-03-01T12:00:00Z"
    }
    assert meta["ownerReferences"] == [owned_by(cron())]
    assert again == timedelta(hours=1, milliseconds=100)


def test_the_job_that_was_made_stands_in_the_status():
    [status] = status_after(cron(last=HOUR))
    assert status["lastScheduleTime"] == ago(0)
    assert [each["name"] for each in status["active"]] == [job_name(cron(), NOW)]


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(cron(), id="not due since it was made"),
        pytest.param(cron(last=ago(0)), id="made already"),
        pytest.param(cron(last=HOUR, suspend=True), id="suspended"),
        pytest.param(cron(last=HOUR, schedule="never"), id="no schedule"),
        pytest.param(cron(last=HOUR, timeZone="Moon/Crater"), id="no such time zone"),
        pytest.param(
            cron(last=ago(90000), schedule="0 11 * * *", startingDeadlineSeconds=60), id="too late"
        ),
    ],
)
def test_no_job_is_made_otherwise(made):
    made["metadata"]["creationTimestamp"] = ago(0)
    assert "create jobs.batch" not in words(written(look(made)))


def test_of_many_that_were_missed_only_the_newest_is_made():
    [create] = [
        each for each in written(look(cron(last=ago(40 * 86400)))) if isinstance(each, Create)
    ]
    assert create.body["metadata"]["name"] == job_name(cron(), NOW)


def test_a_time_zone_moves_the_due_time():
    made = cron(last=ago(86400), schedule="0 13 * * *", timeZone="Europe/Berlin")
    [create] = [each for each in written(look(made)) if isinstance(each, Create)]
    annotations = create.body["metadata"]["annotations"]
    assert list(annotations.values()) == ["2026-03-01T13:00:00+01:00"]


def test_a_job_that_runs_forbids_another():
    owner = cron()
    running = child("old", owner)
    made = cron(last=HOUR, active=[running], concurrencyPolicy="Forbid")
    assert "create jobs.batch" not in words(written(look(made, running)))


def test_a_job_that_runs_is_replaced():
    running = child("old", cron())
    made = cron(last=HOUR, active=[running], concurrencyPolicy="Replace")
    writes = written(look(made, running))
    assert words(writes) == ["delete old", "create jobs.batch", "replace status of c"]
    assert len(writes[-1].body["status"]["active"]) == 1


@pytest.mark.parametrize("ended", ["Complete", "Failed"])
def test_a_job_that_has_ended_is_active_no_longer(ended):
    over = child("old", cron(), ended)
    made = cron(last=ago(0), active=[over])
    [status] = status_after(made, over)
    assert "active" not in status
    assert status.get("lastSuccessfulTime") == (ago(60) if ended == "Complete" else None)
    assert told(look(made, over)) == ["SawCompletedJob"]


def test_a_job_that_is_gone_is_missed():
    made = cron(last=ago(0), active=[child("old", cron())])
    assert told(look(made)) == ["MissingJob"]


def test_old_jobs_go_when_there_are_more_than_are_kept():
    ended = [child(f"j{age}", cron(), "Complete", age) for age in (300, 200, 100)]
    made = cron(last=ago(0), successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0)
    failed = child("f", cron(), "Failed")
    assert words(written(look(made, *ended, failed)))[:3] == [
        "delete j300",
        "delete j200",
        "delete f",
    ]


def test_a_job_that_somebody_else_made_first_is_no_failure():
    plan = look(cron(last=HOUR))
    writes = written(
        plan, lambda each: refused("AlreadyExists") if isinstance(each, Create) else accepted(each)
    )
    assert words(writes) == ["create jobs.batch"]


def test_a_job_that_cannot_be_made_is_tried_again():
    with pytest.raises(ApiStatus):
        driven(
            look(cron(last=HOUR)),
            lambda each: refused("Forbidden", 403) if isinstance(each, Create) else accepted(each),
        )
