"""What a job needs next, branch by branch (spec 5.12-5.14, 8, 9)."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest
from builders import (
    NOW,
    at,
    condition,
    finished_job,
    grant,
    job_view,
    pod_set,
    running_job,
    situation,
    unit,
    unit_by_hand,
)
from hypothesis import given
from hypothesis import strategies as st

from kq.core import keys
from kq.core.model import JobState, JobView, Owner, Phase
from kq.core.priority import DerivedPriority
from kq.decide.actions import (
    CreateUnit,
    DeleteUnit,
    HoldJob,
    LookAgain,
    PatchJob,
    PatchStatus,
    PatchUnit,
    ReleaseJob,
    TellJob,
    TellUnit,
)
from kq.decide.plan import plan_job
from kq.decide.situation import PodFacts, Rules

DEQUEUED = {"phase": Phase.DEQUEUED}
RUNNING = {"phase": Phase.RUNNING}
LIVE = PodFacts(live=1, running=1)
PENDING = PodFacts(live=1, pending=1)
STUCK = PodFacts(stuck=True)


def kinds(now):
    return [type(each) for each in plan_job(now)]


def one(now, kind):
    (found,) = [each for each in plan_job(now) if isinstance(each, kind)]
    return found


def status(now):
    return one(now, PatchStatus).patch["status"]


def event(now):
    found = one(now, TellJob)
    return (found.warning, found.reason, found.message)


# -- a job without a unit ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "fields", "expected"),
    [
        pytest.param(job_view(), {}, [CreateUnit], id="held: queued"),
        pytest.param(job_view(), {"managed": False}, [], id="not managed"),
        pytest.param(finished_job(), {}, [], id="finished stays finished (case I3)"),
        pytest.param(finished_job(failed=True), {}, [], id="failed (case I3)"),
        pytest.param(job_view(deleting=True), {}, [], id="on its way out"),
        pytest.param(
            running_job(), {}, [CreateUnit], id="released by us, its unit was lost (5.12 row 1)"
        ),
        pytest.param(
            running_job(released_at=None), {}, [HoldJob, TellJob], id="slipped a minute ago"
        ),
        pytest.param(
            running_job(released_at=None),
            {"now": at(6)},
            [CreateUnit],
            id="slipped six minutes ago: never killed",
        ),
        pytest.param(
            running_job(released_at=None),
            {"first_run": at(0.5)},
            [CreateUnit],
            id="from before the first run (5.12 row 2)",
        ),
        pytest.param(
            running_job(released_at=None),
            {"rules": Rules(slipped="count")},
            [CreateUnit],
            id="slippedJobs: count",
        ),
        pytest.param(
            running_job(released_at=None), {"rules": Rules(slipped="ignore")}, [], id="ignore"
        ),
        pytest.param(
            job_view(suspended=False, released_at=NOW),
            {},
            [HoldJob, TellJob],
            id="a mark of release alone proves nothing",
        ),
        pytest.param(
            job_view(suspended=False, released_at=NOW),
            {"pods": LIVE},
            [CreateUnit],
            id="marked as released, and has pods",
        ),
        pytest.param(
            running_job(released_at=None, annotations={keys.HAS_ENQUEUED: "true"}),
            {"now": at(60)},
            [HoldJob, TellJob],
            id="went through the webhook: the grace does not count (5.13)",
        ),
        pytest.param(
            running_job(released_at=None, annotations={"kube-queue/job-has-enqueued": "true"}),
            {"now": at(60)},
            [HoldJob, TellJob],
            id="by the old spelling",
        ),
    ],
)
def test_a_job_without_a_unit(job, fields, expected):
    assert kinds(situation(job, **fields)) == expected


def test_the_grace_is_counted_from_the_start_of_the_job():
    job = running_job(released_at=None, started=at(9), created=NOW)
    assert HoldJob in kinds(situation(job, now=at(13)))
    assert HoldJob not in kinds(situation(job, now=at(15)))
    never_started = job_view(suspended=False)
    assert HoldJob not in kinds(situation(never_started, now=at(5)))


def test_the_unit_of_an_earlier_job_of_that_name_goes_first():
    """Case I6: never used for the new one."""
    old = unit(owner_uid="another")
    assert kinds(situation(name_taken_by=old)) == [DeleteUnit]
    assert kinds(situation(name_taken_by=msgspec.structs.replace(old, deleting=True))) == []


def test_a_name_taken_by_another_kind_is_avoided():
    """Spec 2.5."""
    other = unit(consumer=msgspec.structs.replace(unit().consumer, kind="TFJob"))
    body = one(situation(name_taken_by=other), CreateUnit).body
    assert body["metadata"]["name"].startswith("train-")
    assert len(body["metadata"]["name"]) == len("train-") + 8


def test_what_the_owner_should_know_is_told_as_the_unit_is_made():
    """Case D5."""
    wrong = DerivedPriority(value=7, missing_class="gold", bad_annotation="high")
    told = [each for each in plan_job(situation(priority=wrong)) if isinstance(each, TellJob)]
    assert [(each.warning, each.reason, each.message) for each in told] == [
        (True, "PriorityClassNotFound", "PriorityClass gold does not exist"),
        (
            True,
            "InvalidAnnotation",
            "scheduling.x-k8s.io/priority is high, not a whole number (int32)",
        ),
    ]


# -- a job that slipped through -----------------------------------------------------------------


def test_a_slipped_job_is_held_as_by_the_webhook():
    held = one(situation(running_job(released_at=None)), HoldJob)
    assert held.annotations == {keys.DEQUEUE_TIMESTAMP: "", keys.HAS_ENQUEUED: "true"}
    assert held.labels == {keys.QUOTA_LABEL: "team-a"}
    assert held.cause == "started without a grant of quota team-a"
    assert event(situation(running_job(released_at=None))) == (
        True,
        "SlippedThrough",
        "started without a grant of quota team-a: suspended and queued",
    )


@pytest.mark.parametrize("label", keys.QUOTA_LABELS)
def test_a_users_own_label_stays_the_only_one(label):
    held = one(situation(running_job(released_at=None, labels={label: "x"})), HoldJob)
    assert held.labels == {}


@pytest.mark.parametrize(
    ("job", "fields", "expected"),
    [
        pytest.param(job_view(), {}, [], id="held"),
        pytest.param(job_view(suspended=False), {}, [HoldJob, TellJob], id="un-suspended"),
        pytest.param(
            job_view(suspended=False),
            {"now": at(99)},
            [HoldJob, TellJob],
            id="also after the grace: it was held before (case I4)",
        ),
        pytest.param(
            job_view(suspended=False),
            {"may_hold_at": at(1.5)},
            [LookAgain],
            id="not too often (case I4)",
        ),
        pytest.param(
            job_view(suspended=False), {"may_hold_at": at(1)}, [HoldJob, TellJob], id="in time"
        ),
        pytest.param(
            job_view(suspended=False), {"rules": Rules(slipped="ignore")}, [], id="ignored"
        ),
        pytest.param(running_job(), {}, [PatchStatus], id="released by us: counted (L1)"),
        pytest.param(
            running_job(released_at=None),
            {"first_run": at(2)},
            [PatchStatus, TellJob],
            id="older than kq itself: counted, and told",
        ),
    ],
)
def test_a_job_whose_unit_waits(job, fields, expected):
    assert kinds(situation(job, unit(), **fields)) == expected


def test_when_to_look_again_is_when_it_may_be_held():
    now = situation(job_view(suspended=False), unit(), may_hold_at=at(1.5))
    assert plan_job(now) == [LookAgain(30)]


@pytest.mark.parametrize(
    ("pods", "phase", "running"),
    [(LIVE, "Running", 1), (PENDING, "Dequeued", 0), (PodFacts(), "Dequeued", 0)],
)
def test_a_job_found_running_is_counted(pods, phase, running):
    """Row s, case L1."""
    job = running_job(pod_sets=(pod_set(count=2, cpu=2),))
    found = status(situation(job, unit(cpu=2, replicas=2), pods=pods))
    assert found["phase"] == phase
    assert found["message"] == "already running when found, counted against quota team-a"
    assert [(each["name"], each["replicas"]) for each in found["admissions"]] == [("main", 2)]
    assert found["podState"] == {"running": running, "pending": pods.pending}
    assert found["attempts"] == 1
    by_type = {each["type"]: each["status"] for each in found["conditions"]}
    assert by_type == {
        "QuotaReserved": "True",
        "Admitted": "True",
        "PodsReady": "True" if running else "False",
    }


def test_a_unit_in_back_off_is_left_to_its_back_off():
    assert kinds(situation(running_job(), unit(phase=Phase.BACKOFF))) == []


# -- a unit that holds quota --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "fields", "pods", "expected"),
    [
        pytest.param(
            job_view(), DEQUEUED, PodFacts(), [ReleaseJob, TellJob], id="granted: released"
        ),
        pytest.param(job_view(), DEQUEUED, LIVE, [], id="never beside pods of an earlier run"),
        pytest.param(job_view(), DEQUEUED, STUCK, [], id="nor beside stuck ones"),
        pytest.param(
            job_view(annotations={keys.DEQUEUE_TIMESTAMP: ""}),
            DEQUEUED,
            PodFacts(),
            [ReleaseJob, TellJob],
            id="released anew after an eviction",
        ),
        pytest.param(running_job(), DEQUEUED, PodFacts(), [], id="released, no pod yet"),
        pytest.param(running_job(), DEQUEUED, PENDING, [], id="released, none runs yet"),
        pytest.param(running_job(), DEQUEUED, LIVE, [PatchStatus], id="runs (row g)"),
        pytest.param(
            running_job(),
            {**RUNNING, "pods_running": 1},
            LIVE,
            [],
            id="runs, nothing new",
        ),
        pytest.param(running_job(), RUNNING, LIVE, [PatchStatus], id="runs, counts are old"),
        pytest.param(
            running_job(),
            {**RUNNING, "updated": at(0.9)},
            LIVE,
            [LookAgain],
            id="runs, counts were written a moment ago",
        ),
        pytest.param(
            running_job(), {**RUNNING, "phase": Phase.RESERVED}, LIVE, [], id="reserved is no job's"
        ),
    ],
)
def test_a_job_whose_unit_holds_quota(job, fields, pods, expected):
    assert kinds(situation(job, unit(**fields), pods=pods)) == expected


def test_a_release_carries_the_time_that_proves_it():
    now = situation(job_view(), unit(**DEQUEUED), now=NOW + timedelta(milliseconds=1234))
    assert one(now, ReleaseJob).released_at == "2026-03-01T12:00:01.234Z"
    assert event(now) == (False, "Resume", "Job is resumed by koord-queue")


def test_a_release_is_never_earlier_than_its_grant():
    """Else the job would be taken for one that somebody else suspended."""
    now = situation(job_view(), unit(allocated=at(5), **DEQUEUED))
    assert one(now, ReleaseJob).released_at == "2026-03-01T12:05:00.000Z"


def test_a_job_that_runs_is_told_running_after_a_second():
    """Spec 24.9."""
    early = situation(running_job(), unit(**DEQUEUED), pods=LIVE, now=NOW + timedelta(seconds=0.4))
    assert plan_job(early) == [LookAgain(0.6)]
    found = status(replace(early, now=at(1)))
    assert (found["phase"], found["message"]) == ("Running", "Running")
    assert found["admissions"][0]["running"] == 1
    assert found["podState"] == {"running": 1, "pending": 0}
    assert [each["type"] for each in found["conditions"]] == ["PodsReady"]


def test_running_pods_above_the_grant_are_capped():
    pods = PodFacts(live=5, running=5)
    found = status(situation(running_job(), unit(**DEQUEUED), pods=pods))
    assert found["admissions"][0]["running"] == 1
    assert found["podState"]["running"] == 5


def test_a_release_time_from_a_clock_far_ahead_keeps_nobody_waiting_for_ever():
    """A user's or another machine's time is no promise (spec 22.1, clock)."""
    ahead = running_job(released_at=at(60 * 24 * 365 * 5000))
    for each in plan_job(situation(ahead, unit(**DEQUEUED), pods=LIVE)):
        assert not isinstance(each, LookAgain) or each.seconds <= 60


def test_counts_written_by_a_clock_ahead_are_refreshed_all_the_same():
    now = situation(running_job(), unit(updated=at(600), **RUNNING), pods=LIVE)
    assert kinds(now) == [PatchStatus]


def test_a_phase_set_by_others_gets_grants_as_its_pod_sets():
    """Spec 15.3: before the job is released."""
    for job in (job_view(), running_job()):
        now = situation(job, unit(grants=(), replicas=2, **DEQUEUED))
        now = replace(now, pod_sets=now.unit.pod_sets)
        assert kinds(now) == [PatchStatus]
        assert status(now)["admissions"][0]["replicas"] == 2


def test_grants_for_unknown_pod_sets_go_at_the_next_write():
    """Spec 22.1."""
    stale = (grant(cpu=1), grant("gone", 2, cpu=1))
    found = status(situation(running_job(), unit(grants=stale, **DEQUEUED), pods=LIVE))
    assert [each["name"] for each in found["admissions"]] == ["main"]


# -- scaling (spec 9.17) --------------------------------------------------------------------------


def scaled(count, wanted, granted):
    """A running Job whose spec asks for `wanted`, with `count` still to run."""
    role = msgspec.structs.replace(pod_set(count=count, cpu=1), wanted=wanted)
    held = unit(replicas=granted, **RUNNING)
    return situation(running_job(pod_sets=(role,)), held, pods=LIVE)


@pytest.mark.parametrize(
    ("count", "wanted", "granted", "becomes"),
    [
        pytest.param(4, 4, 4, None, id="as it was"),
        pytest.param(2, 4, 4, None, id="pods that ended lower nothing by themselves"),
        pytest.param(0, 4, 4, None, id="all ended"),
        pytest.param(6, 6, 4, 6, id="scaled up"),
        pytest.param(2, 2, 4, 2, id="scaled down"),
        pytest.param(1, 2, 4, 1, id="scaled down, one has ended"),
        pytest.param(0, 0, 4, 0, id="to nothing"),
    ],
)
def test_the_units_counts_follow_the_jobs_spec(count, wanted, granted, becomes):
    now = scaled(count, wanted, granted)
    if becomes is None:
        assert PatchUnit not in kinds(now)
        return
    spec = one(now, PatchUnit).patch["spec"]
    assert [each["count"] for each in spec["podSet"]] == [becomes]
    assert spec["resource"] == ({"cpu": str(becomes)} if becomes else {"cpu": "0"})


def test_grants_follow_the_units_counts():
    """Case E2: a deliberate resize is one step."""
    held = unit(replicas=4, grants=(grant(replicas=2, cpu=1),), pods_running=1, **RUNNING)
    job = running_job(pod_sets=(pod_set(count=4, cpu=1),))
    found = status(situation(job, held, pods=LIVE))
    assert [(each["replicas"], each["running"]) for each in found["admissions"]] == [(4, 1)]
    assert "phase" not in found


# -- eviction (rows l and n) -----------------------------------------------------------------------


def test_a_deactivated_unit_is_marked_and_told_first():
    now = situation(running_job(), unit(active=False, **RUNNING), pods=LIVE)
    assert kinds(now) == [PatchStatus, TellUnit, TellJob]
    (mark,) = status(now)["conditions"]
    assert (mark["type"], mark["status"], mark["reason"]) == ("Evicted", "True", "Deactivated")
    assert "admissions" not in status(now)
    assert one(now, TellUnit).message == "deactivated"


EVICTED = {
    "active": False,
    "conditions": (condition("Evicted", True, "Deactivated", "x"),),
    **RUNNING,
}


@pytest.mark.parametrize(
    ("job", "pods", "expected"),
    [
        pytest.param(running_job(), LIVE, [HoldJob], id="then suspended"),
        pytest.param(running_job(suspended=True, released_at=None), LIVE, [], id="pods live"),
        pytest.param(
            running_job(suspended=True, released_at=None),
            PodFacts(),
            [],
            id="no pod seen, but the job still counts some: not released beside them",
        ),
        pytest.param(
            job_view(pods_terminating=1), PodFacts(), [], id="no pod seen, the job counts one ending"
        ),
        pytest.param(job_view(pods_terminating=1), STUCK, [PatchStatus], id="stuck: gone (8.11)"),
        pytest.param(job_view(), PodFacts(), [PatchStatus], id="gone: nothing is held any more"),
    ],
)
def test_an_eviction_waits_for_the_pods(job, pods, expected):
    assert kinds(situation(job, unit(**EVICTED), pods=pods)) == expected


def test_an_eviction_goes_on_though_the_unit_is_active_again():
    again = unit(**{**EVICTED, "active": True})
    assert kinds(situation(running_job(), again, pods=LIVE)) == [HoldJob]
    assert status(situation(job_view(), again))["phase"] == "Enqueued"


def test_an_eviction_ends_with_nothing_held():
    """Spec 9.4: one patch."""
    found = status(situation(job_view(), unit(**EVICTED)))
    assert found["phase"] == "Enqueued"
    assert found["admissions"] == []
    assert found["message"] == "Evicted because the queue unit is deactivated"
    assert found["podState"] == {"running": 0, "pending": 0}
    by_type = {each["type"]: (each["status"], each["reason"]) for each in found["conditions"]}
    assert by_type == {
        "Evicted": ("True", "Deactivated"),
        "QuotaReserved": ("False", "Inactive"),
        "Admitted": ("False", "Pending"),
        "PodsReady": ("False", "Pending"),
    }


def test_our_suspension_takes_the_mark_of_release_away():
    held = one(situation(running_job(), unit(**EVICTED), pods=LIVE), HoldJob)
    assert held.annotations == {keys.DEQUEUE_TIMESTAMP: ""}


PAUSED = {"suspended": True, "released_at": at(0.5)}


def test_a_job_suspended_by_somebody_else_is_paused():
    """Case I4, third part: `active` is written first."""
    now = situation(running_job(**PAUSED), unit(**RUNNING), pods=LIVE)
    assert one(now, PatchUnit).patch == {"spec": {"active": False}}
    assert kinds(now) == [PatchUnit]


def test_an_old_true_is_removed_so_that_setting_it_counts():
    """Spec 5.14."""
    marked = {keys.ACTIVE: "true"}
    copied = {**unit().annotations, **marked}
    job = running_job(annotations=marked, **PAUSED)
    patch = one(situation(job, unit(annotations=copied, **RUNNING)), PatchJob).patch
    assert patch == {"metadata": {"annotations": {keys.ACTIVE: None}}}
    now = situation(running_job(**PAUSED), unit(annotations=copied, **RUNNING))
    assert one(now, PatchUnit).patch == {
        "spec": {"active": False},
        "metadata": {"annotations": {keys.ACTIVE: None}},
    }


def test_a_pause_is_told_with_how_to_go_on():
    now = situation(running_job(**PAUSED), unit(active=False, **RUNNING), pods=LIVE)
    assert kinds(now) == [PatchStatus, TellUnit, TellJob]
    assert one(now, TellJob).message == (
        "Paused because the job was suspended by someone else; "
        "set spec.active to true to queue it again"
    )


def test_a_job_held_since_before_its_grant_is_not_paused():
    old = job_view(released_at=at(-5))
    assert kinds(situation(old, unit(**DEQUEUED))) == [ReleaseJob, TellJob]


# -- ends -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "phase", [each for each in Phase if each not in (Phase.SUCCEED, Phase.FAILED)]
)
@pytest.mark.parametrize(("failed", "becomes"), [(False, "Succeed"), (True, "Failed")])
def test_the_end_of_a_job_ends_its_unit(phase, failed, becomes):
    """Row q, case G3."""
    found = status(situation(finished_job(failed=failed), unit(phase=phase)))
    assert found["phase"] == becomes
    assert found["admissions"] == []
    assert found["message"] == ("Failed" if failed else "Succeeded")
    reason = "Failed" if failed else "Succeeded"
    assert [(each["type"], each["reason"]) for each in found["conditions"]] == [
        ("Finished", reason)
    ]


ENDED = {
    "phase": Phase.SUCCEED,
    "message": "Succeeded",
    "conditions": (condition("Finished", True, "Succeeded", "Succeeded"),),
}
STILL = "Succeeded; its pods still run and count"


@pytest.mark.parametrize(
    ("fields", "pods", "rules", "expected"),
    [
        pytest.param({}, PodFacts(), Rules(), [], id="rests"),
        pytest.param({}, LIVE, Rules(), [PatchStatus], id="pods still run"),
        pytest.param({"message": STILL}, LIVE, Rules(), [], id="told so once"),
        pytest.param({"message": STILL}, PodFacts(), Rules(), [PatchStatus], id="gone: told so"),
        pytest.param({"message": "other"}, LIVE, Rules(), [], id="another's message stays"),
        pytest.param({}, PodFacts(), Rules(finished_ttl_seconds=90), [LookAgain], id="kept"),
        pytest.param({}, PodFacts(), Rules(finished_ttl_seconds=60), [DeleteUnit], id="over"),
        pytest.param(
            {"message": STILL}, LIVE, Rules(finished_ttl_seconds=60), [], id="not with pods"
        ),
    ],
)
def test_a_finished_unit(fields, pods, rules, expected):
    now = situation(finished_job(), unit(**{**ENDED, **fields}), pods=pods, rules=rules)
    assert kinds(now) == expected


def test_pods_that_only_seem_to_live_are_not_told():
    now = situation(finished_job(), unit(**ENDED), pods=LIVE, now=NOW + timedelta(seconds=1))
    assert kinds(now) == [LookAgain]
    assert kinds(situation(finished_job(), unit(**RUNNING), pods=LIVE)) == [PatchStatus, LookAgain]


def test_a_job_on_its_way_out_ends_its_unit_when_no_pod_is_live():
    """Row v."""
    for phase in (Phase.ENQUEUED, Phase.RUNNING):
        now = situation(running_job(deleting=True), unit(phase=phase), pods=LIVE)
        assert kinds(now) == []
        found = status(replace(now, pods=PodFacts()))
        assert (found["phase"], found["admissions"]) == ("Failed", [])
        assert found["message"] == "job team-a/train is being deleted"


@pytest.mark.parametrize(
    ("job", "each"),
    [
        pytest.param(running_job(), unit(deleting=True, **RUNNING), id="the unit goes"),
        pytest.param(running_job(), unit(phase=None, raw_phase="Odd"), id="unknown phase (9.3)"),
        pytest.param(job_view(), unit(phase=None, raw_phase="Odd"), id="unknown phase, held"),
        pytest.param(running_job(deleting=True), unit(phase=Phase.FAILED), id="ended already"),
        pytest.param(running_job(), unit(phase=Phase.SUCCEED), id="ended, yet it runs"),
    ],
)
def test_what_is_left_alone(job, each):
    assert kinds(situation(job, each, pods=PodFacts())) == []


# -- the unit follows its job ------------------------------------------------------------------------


def test_an_adopted_unit_belongs_to_the_job_from_now_on():
    """Spec 15.2."""
    patch = one(situation(job_view(), unit_by_hand(queue="special")), PatchUnit).patch
    (owner,) = patch["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == ("job-train", False)
    assert patch["spec"]["consumerRef"]["uid"] == "job-train"
    assert patch["metadata"]["annotations"][keys.JOB_CREATION] == "2026-03-01T12:00:00Z"


def test_changes_of_the_job_go_first():
    """A unit never starts with what its job no longer asks."""
    more = job_view(pod_sets=(pod_set(count=3, cpu=1),))
    assert kinds(situation(more, unit())) == [PatchUnit]


# -- any situation at all ---------------------------------------------------------------------------

times = st.sampled_from((None, at(-9), NOW, at(0.99), at(1), at(5)))
jobs = st.builds(
    job_view,
    suspended=st.booleans(),
    deleting=st.booleans(),
    state=st.sampled_from(JobState),
    has_run=st.booleans(),
    started=times,
    released_at=times,
    pods_active=st.integers(0, 2),
    pods_terminating=st.integers(0, 1),
    annotations=st.sampled_from(({}, {keys.ACTIVE: "true"}, {keys.ACTIVE: "FALSE"})),
    pod_sets=st.sampled_from(
        ((), (pod_set(cpu=1),), (pod_set(count=3, cpu=2),), (pod_set("a"), pod_set("b", 2, cpu=1)))
    ),
    owners=st.sampled_from(((), (Owner("v1", "X", "x", "u", controller=True),))),
)
units = st.builds(
    unit,
    phase=st.none() | st.sampled_from(Phase),
    active=st.booleans(),
    deleting=st.booleans(),
    replicas=st.integers(0, 3),
    allocated=times,
    updated=times,
    message=st.sampled_from(("", "Succeeded", "Failed")),
    conditions=st.sampled_from(
        (
            (),
            (condition("Evicted", True, "Deactivated"),),
            (condition("Evicted", True, "Suspended"),),
            (condition("Evicted", True, "Preempted"),),
            (condition("Finished", True, "Succeeded"),),
        )
    ),
)
pods = st.builds(
    PodFacts,
    live=st.integers(0, 2),
    running=st.integers(0, 2),
    pending=st.integers(0, 2),
    stuck=st.booleans(),
)


@given(
    jobs,
    st.none() | units,
    pods,
    st.sampled_from((None, unit(owner_uid="other"))),
    st.builds(
        Rules,
        slipped=st.sampled_from(("suspend", "count", "ignore")),
        finished_ttl_seconds=st.sampled_from((0, 30, 600)),
    ),
    times,
)
def test_the_plan_knows_every_situation(job: JobView, each, pods, taken, rules, when):
    """It never fails, never releases beside live pods, drops grants with the phase that held them."""
    now = situation(
        job,
        each,
        pods=pods,
        rules=rules,
        name_taken_by=None if each else taken,
        first_run=when,
        may_hold_at=when,
    )
    actions = plan_job(now)
    for action in actions:
        match action:
            case LookAgain():
                assert 0 < action.seconds <= 600
            case ReleaseJob():
                assert each is not None
                assert each.holds_quota
                assert job.suspended
                assert not pods.live
                assert not pods.stuck
            case HoldJob():
                assert not job.suspended
            case PatchStatus(patch=patch):
                phase = patch["status"].get("phase")
                if phase in ("Enqueued", "Succeed", "Failed"):
                    assert patch["status"]["admissions"] == []
                    assert not pods.live or job.finished
            case CreateUnit():
                assert each is None
            case _:
                assert isinstance(action, (DeleteUnit, PatchUnit, PatchJob, TellJob, TellUnit))
    if each is not None and (each.deleting or each.phase is None):
        assert actions == []
