"""What a job needs next while it waits, runs and changes (spec 5.12, 5.13, 9)."""

from datetime import timedelta

import msgspec
import pytest
from builders import (
    NOW,
    at,
    finished_job,
    grant,
    job_view,
    pod_set,
    running_job,
    situation,
    unit,
    unit_by_hand,
)
from msgspec.structs import replace
from plans import DEQUEUED, LIVE, PENDING, RUNNING, STUCK, event, kinds, one, status

from kq.core import keys
from kq.core.kinds import JOB, ResourceKind
from kq.core.model import Phase
from kq.core.priority import DerivedPriority
from kq.decide.actions import (
    CreateUnit,
    DeleteUnit,
    HoldJob,
    LookAgain,
    PatchStatus,
    PatchUnit,
    ReleaseJob,
    TellJob,
    TellQueue,
)
from kq.decide.plan import plan_job
from kq.decide.situation import PodFacts, Rules


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
    now = situation(job_view(), unit(allocated=at(1.5), **DEQUEUED))
    assert one(now, ReleaseJob).released_at == "2026-03-01T12:01:30.000Z"


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


def scaled(count, wanted, granted):
    """A running Job whose spec asks for `wanted`, with `count` still to run."""
    role = msgspec.structs.replace(pod_set(count=count, cpu=1), wanted=wanted)
    held = unit(replicas=granted, **RUNNING)
    return situation(running_job(pod_sets=(role,)), held, pods=LIVE)


@pytest.mark.parametrize(
    ("count", "wanted", "granted", "becomes"),
    [
        pytest.param(4, 4, 4, None, id="as it was"),
        pytest.param(2, 4, 4, 2, id="two have ended for good"),
        pytest.param(0, 4, 4, None, id="all ended: what is left goes with the end"),
        pytest.param(6, 6, 4, 6, id="scaled up"),
        pytest.param(2, 2, 4, 2, id="scaled down"),
        pytest.param(1, 2, 4, 1, id="scaled down, one has ended"),
        pytest.param(0, 0, 4, 0, id="to nothing"),
    ],
)
def test_the_units_counts_follow_the_job(count, wanted, granted, becomes):
    """Spec 8.2, 9.17: finished pods of a Job are not held for."""
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


def test_the_share_of_finished_pods_is_given_back_and_told():
    """Spec 2.2, 9.17: of four two have ended for good."""
    job = scaled(2, 4, 4).job
    held = unit(replicas=2, grants=(grant(replicas=4, cpu=1),), **RUNNING)
    found = status(situation(job, held, pods=LIVE))
    assert [(each["name"], each["replicas"]) for each in found["admissions"]] == [("main", 2)]
    assert found["reclaimablePods"] == [{"name": "main", "count": 2}]


@pytest.mark.parametrize("fits", [True, False])
def test_a_job_that_is_scaled_up_raises_its_grants_whether_it_fits_or_not(fits):
    """Spec 9.17: above the max its Queue is told."""
    job = running_job(pod_sets=(pod_set(count=4, cpu=1),))
    held = unit(replicas=4, grants=(grant(replicas=2, cpu=1),), pods_running=1, **RUNNING)
    now = situation(job, held, pods=LIVE, overdraft="" if fits else "above its max")
    assert [each["replicas"] for each in status(now)["admissions"]] == [4]
    assert status(now)["reclaimablePods"] is None
    told = [each for each in plan_job(now) if isinstance(each, TellQueue)]
    assert [(each.reason, each.message) for each in told] == (
        [] if fits else [("OverQuota", "above its max")]
    )


ROLES = (pod_set("head", cpu=1), pod_set("gpus", count=3, cpu=2), pod_set("submitter", cpu=1))


def test_running_replicas_are_told_by_pod_set():
    """Spec 2.2, 8.23: with the counts that are written anyway, by the role of the pods."""
    held = unit(pod_sets=ROLES, pods_running=3, **RUNNING)
    pods = PodFacts(live=5, running=4, pending=1, by_pod_set={"head": 1, "gpus": 2, "": 1})
    found = status(situation(running_job(pod_sets=ROLES), held, pods=pods, now=at(5)))
    running = {each["name"]: each["running"] for each in found["admissions"]}
    assert running == {"head": 1, "gpus": 2, "submitter": 1}


def test_more_pods_than_were_granted_are_not_told_as_granted_ones():
    """Spec 22.1: running is at most replicas."""
    held = unit(pod_sets=ROLES, pods_running=3, **RUNNING)
    pods = PodFacts(live=9, running=9, by_pod_set={"gpus": 9})
    found = status(situation(running_job(pod_sets=ROLES), held, pods=pods, now=at(5)))
    assert [each["running"] for each in found["admissions"]] == [0, 3, 0]


def test_a_role_that_changes_while_the_counts_stay_writes_nothing():
    """Spec 24.9."""
    held = unit(pod_sets=ROLES, pods_running=3, **RUNNING)
    pods = PodFacts(live=3, running=3, by_pod_set={"gpus": 3})
    assert kinds(situation(running_job(pod_sets=ROLES), held, pods=pods, now=at(5))) == []


SPARK = ResourceKind("sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications")


@pytest.mark.parametrize(
    ("kind", "suspended", "becomes"),
    [(SPARK, False, "2"), (SPARK, True, None), (JOB, False, None)],
    ids=["a new run", "not let go yet", "of a kind that keeps its pods"],
)
def test_other_sizes_of_an_application_that_runs_count_at_once(kind, suspended, becomes):
    """Spec 8.19: any change but suspend starts it anew."""
    bigger = (pod_set("executor", count=2, cpu=2),)
    held = unit(pod_sets=(pod_set("executor", count=2, cpu=1),), **RUNNING)
    released = None if suspended else NOW
    job = running_job(kind=kind, suspended=suspended, released_at=released, pod_sets=bigger)
    now = situation(job, held, pods=LIVE)
    if becomes is None:
        assert PatchUnit not in kinds(now)
        return
    spec = one(now, PatchUnit).patch["spec"]
    (container,) = spec["podSet"][0]["template"]["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": becomes}
    assert spec["resource"] == {"cpu": "4"}


@pytest.mark.parametrize(("cpu", "total"), [(2, "4"), ("500m", "1")], ids=["larger", "smaller"])
def test_grants_of_a_new_run_are_of_its_new_sizes(cpu, total):
    """Spec 8.19, where it fits: it runs on, and counts as it is now."""
    sets = (pod_set("executor", count=2, cpu=cpu),)
    held = unit(pod_sets=sets, grants=(grant("executor", 2, cpu=1),), **RUNNING)
    (given,) = status(situation(running_job(kind=SPARK, pod_sets=sets), held, pods=LIVE))[
        "admissions"
    ]
    assert (given["replicas"], given["resources"]) == (2, {"cpu": total})


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
