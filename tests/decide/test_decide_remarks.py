"""What of a job cannot be read, where a reader of its unit sees it (spec 9.18, 12.8, 22.1)."""

import pytest
from builders import condition, job_view, queue, quota, quotas, running_job, situation, unit
from plans import LIVE, RUNNING, kinds, status

from kq.core import keys
from kq.core.priority import DerivedPriority
from kq.decide.actions import PatchStatus, TellJob
from kq.decide.plan import plan_job
from kq.decide.standing import Candidate, JobFacts, Surroundings, standing_of

PRIORITY = f"{keys.PRIORITY} is high, not a whole number (int32)"
ACTIVE = f"{keys.ACTIVE} is maybe, not true or false"
TIME = f"{keys.MAX_EXEC_TIME} is soon, not a whole number of seconds, 1 or more"


def said(known=(), job=job_view, priority=None, holding=None, **annotations):
    """A job that says this, and its unit, which has copied it."""
    texts = {key.replace("_", "-"): text for key, text in annotations.items()}
    marks = {f"scheduling.x-k8s.io/{key}": text for key, text in texts.items()}
    mine = unit(annotations={**unit().annotations, **marks}, conditions=known, **(holding or {}))
    derived = DerivedPriority(bad_annotation=priority)
    return situation(
        job(annotations=marks), mine, priority=derived, pods=LIVE if holding else situation().pods
    )


@pytest.mark.parametrize(
    ("now", "text"),
    [
        pytest.param(said(priority="high"), PRIORITY, id="priority (12.8)"),
        pytest.param(said(active="maybe"), ACTIVE, id="active (9.18)"),
        pytest.param(said(max_exec_time_seconds="soon"), TIME, id="longest time (9.18)"),
        pytest.param(
            said(priority="high", active="maybe", max_exec_time_seconds="soon"),
            f"{PRIORITY}; {ACTIVE}; {TIME}",
            id="all of them",
        ),
        pytest.param(
            said(job=running_job, active="maybe", holding=RUNNING), ACTIVE, id="while it runs"
        ),
    ],
)
def test_what_cannot_be_read_stands_on_the_unit(now, text):
    """In a condition, for as long as it stands."""
    (found,) = [each for each in status(now)["conditions"] if each["type"] == "Configured"]
    assert (found["status"], found["reason"], found["message"]) == (
        "False",
        "InvalidAnnotation",
        text,
    )
    assert not {"phase", "message"} & status(now).keys()


WRONG = condition("Configured", False, "InvalidAnnotation", ACTIVE)


def test_it_is_written_once_and_taken_back_when_it_is_mended():
    assert kinds(said(known=(WRONG,), active="maybe")) == []
    mended = status(said(known=(WRONG,), active="true"))["conditions"]
    assert [(each["type"], each["status"]) for each in mended] == [("Configured", "True")]
    over = condition("Configured", True, "Mended", "")
    assert kinds(said(known=(over,), active="true")) == []


def test_a_job_that_says_nothing_wrong_costs_no_write():
    assert PatchStatus not in kinds(said(active="false", max_exec_time_seconds="60"))


def test_a_long_value_is_cut():
    (found,) = status(said(active="x" * 5000))["conditions"]
    assert len(found["message"]) < 200


def test_it_keeps_nobody_waiting():
    """Spec 22.1: ignored; the unit takes part as any."""
    around = Surroundings(quotas=quotas(quota()), queues={"team-a": queue()}, namespaces={})
    found = standing_of(unit(conditions=(WRONG,)), JobFacts(), around)
    assert found == Candidate("team-a", "team-a")


# -- labels (spec 11.13)


def labelled(known=(), copied=True, **labels):
    mine = unit(labels={**unit().labels, **(labels if copied else {})}, conditions=known)
    return situation(job_view(labels={**unit().labels, **labels}), mine)


@pytest.mark.parametrize("key", keys.PREEMPTIBLE_LABELS)
def test_whether_it_is_preemptible_is_to_be_readable(key):
    text = f"{key} is no, not true or false"
    (found,) = status(labelled(**{key: "no"}))["conditions"]
    assert (found["status"], found["reason"], found["message"]) == ("False", "InvalidLabel", text)
    told = [
        each for each in plan_job(labelled(copied=False, **{key: "no"})) if TellJob is type(each)
    ]
    assert [(each.warning, each.reason, each.message) for each in told] == [
        (True, "InvalidLabel", text)
    ]
    for good in ("true", "FALSE", ""):
        assert kinds(labelled(**{key: good})) == []


def test_only_the_spelling_that_counts_has_to_be_readable():
    first, second = keys.PREEMPTIBLE_LABELS
    assert kinds(labelled(**{first: "true", second: "no"})) == []


def test_an_annotation_beside_it_gives_the_condition_its_reason():
    first = keys.PREEMPTIBLE_LABELS[0]
    marks = {keys.ACTIVE: "maybe"}
    mine = unit(labels={**unit().labels, first: "no"}, annotations={**unit().annotations, **marks})
    job = job_view(labels={**unit().labels, first: "no"}, annotations=marks)
    (found,) = status(situation(job, mine))["conditions"]
    assert found["reason"] == "InvalidAnnotation"
    assert found["message"] == f"{ACTIVE}; {first} is no, not true or false"
