"""Where a unit stands: what keeps it back, in the order in which it is told (spec 10.1-10.7)."""

import pytest
from builders import changed, condition, namespace, queue, quota, quotas, unit, unit_by_hand

from kq.core import keys
from kq.core.messages import Reason
from kq.core.model import Consumer, Phase
from kq.core.options import QuotaOptions
from kq.core.plugins import Problem
from kq.decide.standing import (
    Candidate,
    JobFacts,
    KeptBack,
    NotWaiting,
    Surroundings,
    queue_name,
    quota_of,
    standing_of,
)
from kq.quota.elasticquota import ElasticQuotas

NO_JOB = JobFacts(missing=True)
LINES = (queue(), queue("special"))
LISTED = {keys.AVAILABLE_QUOTA: "other, third"}


def around(*quota_list, queues=LINES, namespaces=(), **options):
    return Surroundings(
        quotas=quotas(*(quota_list or (quota(),)), **options),
        queues={each.name: each for each in queues},
        namespaces={each.name: each for each in namespaces},
    )


def annotated(**texts):
    """A unit made by the manager with these annotations too."""
    return unit(annotations={**unit().annotations, **texts})


def named(name="special"):
    return annotated(**{keys.QUEUE_NAME[0]: name})


def told(each, job=JobFacts(), surroundings=None):  # noqa: B008 - a frozen value
    found = standing_of(each, job, surroundings or around())
    assert isinstance(found, KeptBack)
    return (found.problem.reason, found.problem.message) if found.problem else None


def test_a_unit_that_nothing_keeps_back_is_a_candidate():
    assert standing_of(unit(), JobFacts(), around()) == Candidate("team-a", "team-a")


@pytest.mark.parametrize(
    ("each", "job", "surroundings", "expected"),
    [
        pytest.param(
            unit(phase=None, raw_phase="Paused"),
            JobFacts(),
            around(),
            (Reason.MISCONFIGURED, "phase Paused is not known"),
            id="M27",
        ),
        pytest.param(
            unit(consumer=Consumer("batch/v1", "Job", "train", "team-b", "x")),
            JobFacts(),
            around(),
            (Reason.MISCONFIGURED, "consumer team-b/train is in another namespace"),
            id="M18",
        ),
        pytest.param(
            unit(),
            JobFacts(other_unit="team-a/first"),
            around(),
            (Reason.MISCONFIGURED, "job team-a/train is already queued as team-a/first"),
            id="M19",
        ),
        pytest.param(
            unit(),
            JobFacts(deleting=True),
            around(),
            (Reason.INACTIVE, "job team-a/train is being deleted"),
            id="M31",
        ),
        pytest.param(
            unit(), NO_JOB, around(), (Reason.PENDING, "job team-a/train does not exist"), id="M21"
        ),
        pytest.param(
            unit(active=False), JobFacts(), around(), (Reason.INACTIVE, "deactivated"), id="M28"
        ),
        pytest.param(
            unit(defect="cpu in requests of container main is x, not a quantity"),
            JobFacts(),
            around(),
            (Reason.MISCONFIGURED, "cpu in requests of container main is x, not a quantity"),
            id="M16",
        ),
        pytest.param(
            unit(annotations={keys.DEFECT: "spec.parallelism is 2000000, not a number"}),
            JobFacts(),
            around(),
            (Reason.MISCONFIGURED, "spec.parallelism is 2000000, not a number"),
            id="M16 of its job",
        ),
        pytest.param(
            unit(),
            JobFacts(lingering_pods=True),
            around(),
            (Reason.PENDING, "waiting for pods of the last run to end"),
            id="M32",
        ),
        pytest.param(
            unit(quota=None),
            JobFacts(),
            around(),
            (
                Reason.MISCONFIGURED,
                "no quota found for this job: set label quota.scheduling.koordinator.sh/name "
                "on it or on namespace team-a",
            ),
            id="M3",
        ),
        pytest.param(
            unit(),
            JobFacts(),
            around(quota(annotations={keys.ALLOWED_NAMESPACES: "x"})),
            (Reason.MISCONFIGURED, "namespace team-a may not use quota team-a"),
            id="M5",
        ),
        pytest.param(
            unit(quota="none"),
            JobFacts(),
            around(),
            (Reason.NOT_FOUND, "quota none does not exist"),
            id="M4 (case E5 f)",
        ),
        pytest.param(
            unit(),
            JobFacts(),
            around(quota(parent="gone")),
            (Reason.NOT_FOUND, "quota gone, ancestor of team-a, does not exist"),
            id="M4 of an ancestor",
        ),
        pytest.param(
            unit(quota="a"),
            JobFacts(),
            around(quota("a", parent="b"), quota("b", parent="a")),
            (Reason.INVALID, "quota a is in a cycle: a -> b -> a"),
            id="M7",
        ),
        pytest.param(
            unit(),
            JobFacts(),
            around(quota(is_parent=True)),
            (
                Reason.MISCONFIGURED,
                "quota team-a is a parent quota: name one of its children",
            ),
            id="M33 (case E5 e)",
        ),
        pytest.param(
            named("nowhere"),
            JobFacts(),
            around(),
            (Reason.MISCONFIGURED, "queue nowhere does not exist"),
            id="M6",
        ),
        pytest.param(
            named(),
            JobFacts(),
            around(queues=[queue("special", annotations=LISTED)]),
            (Reason.MISCONFIGURED, "queue special does not accept quota team-a"),
            id="M6 by the list",
        ),
        pytest.param(
            unit(),
            JobFacts(),
            around(queues=[queue(stop_policy="Hold")]),
            (Reason.STOPPED, "queue team-a is stopped"),
            id="M22",
        ),
        pytest.param(
            unit(),
            JobFacts(),
            around(queues=[queue(stop_policy="HoldAndDrain")]),
            (Reason.STOPPED, "queue team-a is stopped"),
            id="M22 draining",
        ),
        pytest.param(unit(), JobFacts(), around(queues=[]), None, id="its Queue is not made"),
        pytest.param(
            unit(), JobFacts(), around(queues=[queue(deleting=True)]), None, id="its Queue goes"
        ),
        pytest.param(
            unit(),
            JobFacts(),
            around(namespaces=[namespace(terminating=True)]),
            None,
            id="its namespace goes",
        ),
    ],
)
def test_what_keeps_a_unit_back(each, job, surroundings, expected):
    assert told(each, job, surroundings) == expected


def test_the_first_reason_in_the_order_of_the_checks_is_told():
    """Each later one shows when the one before it is mended."""
    everything = {
        "consumer": Consumer("batch/v1", "Job", "train", "team-b", "x"),
        "active": False,
        "defect": "bad",
        "quota": "none",
    }
    facts = {"other_unit": "x/y", "deleting": True, "missing": True, "lingering_pods": True}
    shown = []
    for fixed in ("consumer", "other_unit", "deleting", "missing", "active", "defect"):
        each = unit(**everything)
        shown.append(told(each, JobFacts(**facts))[1])
        facts.pop(fixed, None)
        everything.pop(fixed, None)
    shown.append(told(unit(**everything), JobFacts(**facts))[1])
    shown.append(told(unit(**everything))[1])
    assert shown == [
        "consumer team-b/train is in another namespace",
        "job team-a/train is already queued as x/y",
        "job team-a/train is being deleted",
        "job team-a/train does not exist",
        "deactivated",
        "bad",
        "waiting for pods of the last run to end",
        "quota none does not exist",
    ]


def test_a_consumer_without_a_namespace_is_in_the_units_own():
    each = unit_by_hand(consumer=Consumer("batch/v1", "Job", "train", "", ""))
    assert told(each, NO_JOB)[1] == "job team-a/train does not exist"


@pytest.mark.parametrize(
    ("phase", "deleting"),
    [
        *((each, False) for each in Phase if each is not Phase.ENQUEUED),
        (Phase.ENQUEUED, True),
    ],
)
def test_who_holds_quota_or_has_ended_waits_for_nothing(phase, deleting):
    each = unit(phase=phase, deleting=deleting)
    assert standing_of(each, JobFacts(), around()) == NotWaiting("team-a")


def test_the_cause_of_an_eviction_stays_told_while_the_unit_is_inactive():
    """M23 and S10 are not overwritten by M28."""
    said = condition("QuotaReserved", False, Reason.INACTIVE, "Paused because ...")
    each = unit(active=False, message="Paused because ...", conditions=(said,))
    assert told(each) == (Reason.INACTIVE, "Paused because ...")
    old = condition("QuotaReserved", False, Reason.WAITING, "waiting")
    assert told(unit(active=False, message="waiting", conditions=(old,)))[1] == "deactivated"


@pytest.mark.parametrize(
    ("listed", "accepted"),
    [
        pytest.param(None, True, id="no list"),
        pytest.param("*", True, id="all"),
        pytest.param("team-a", True, id="the one"),
        pytest.param(" x , team-a ", True, id="among others, with blanks"),
        pytest.param("", False, id="an empty list"),
        pytest.param("team", False, id="another"),
    ],
)
def test_a_queue_lists_the_quotas_that_it_takes(listed, accepted):
    """Spec 10.3."""
    texts = {} if listed is None else {keys.AVAILABLE_QUOTA: listed}
    found = standing_of(named(), JobFacts(), around(queues=[queue("special", annotations=texts)]))
    assert isinstance(found, Candidate if accepted else KeptBack)


@pytest.mark.parametrize("each", [named("team-b"), unit_by_hand(queue="team-b")])
def test_10_3_the_quota_never_changes_through_the_queue(each):
    """Not even to that for which the named Queue was made."""
    there = around(quota(), quota("team-b"), queues=[queue(), queue("team-b")])
    assert standing_of(each, JobFacts(), there) == Candidate("team-b", "team-a")


@pytest.mark.parametrize(
    ("each", "surroundings", "expected"),
    [
        pytest.param(unit(), around(), ("team-a", False), id="of its quota"),
        pytest.param(named(), around(), ("special", True), id="by annotation"),
        pytest.param(
            annotated(**{keys.QUEUE_NAME[1]: "special"}),
            around(),
            ("special", True),
            id="by the old spelling",
        ),
        pytest.param(
            annotated(**{keys.QUEUE_NAME[0]: "special", keys.QUEUE_NAME[1]: "old"}),
            around(),
            ("special", True),
            id="the new spelling wins",
        ),
        pytest.param(named("team-a"), around(), ("team-a", False), id="its own by name"),
        pytest.param(
            unit_by_hand(queue="special"), around(), ("special", True), id="by hand: spec.queue"
        ),
        pytest.param(
            unit_by_hand(queue=""), around(), ("team-a", False), id="by hand, no Queue named"
        ),
        pytest.param(
            unit_by_hand(queue="special", annotations={keys.QUEUE_NAME[0]: "of-its-job"}),
            around(),
            ("of-its-job", True),
            id="by hand: its job's annotation goes first",
        ),
        pytest.param(
            changed(annotated(**{keys.QUEUE_BY_HAND: "true"}), queue="special"),
            around(),
            ("special", True),
            id="by hand, and adopted",
        ),
        pytest.param(
            unit(queue="special"), around(), ("team-a", False), id="spec.queue of ours decides not"
        ),
    ],
)
def test_which_queue(each, surroundings, expected):
    assert queue_name(each, "team-a", surroundings) == expected


@pytest.mark.parametrize(
    ("each", "surroundings", "expected"),
    [
        pytest.param(unit(), around(), "team-a", id="by its label"),
        pytest.param(unit(quota=None), around(), None, id="nothing answers"),
        pytest.param(
            unit(quota=None, annotations={keys.UNIT_QUOTA: "root/x"}),
            around(),
            "root/x",
            id="by annotation where it is no label value (5.5)",
        ),
        pytest.param(
            unit(annotations={keys.UNIT_QUOTA: "x"}), around(), "team-a", id="the label goes first"
        ),
        pytest.param(
            unit_by_hand(quota=None, queue="team-a"),
            around(),
            "team-a",
            id="of the Queue that it names (seed K, 10.3)",
        ),
        pytest.param(unit_by_hand(quota=None, queue="other"), around(), None, id="of no Queue"),
        pytest.param(
            unit(quota=None),
            around(namespaces=[namespace(labels={keys.QUOTA_LABEL: "of-namespace"})]),
            "of-namespace",
            id="by its namespace",
        ),
        pytest.param(
            unit(quota=None), around(default_quota="rest"), "rest", id="the configured default"
        ),
    ],
)
def test_which_quota(each, surroundings, expected):
    assert quota_of(each, surroundings) == expected


class Renamed(ElasticQuotas):
    """Quotas that have a second name, and demand something of pods."""

    def spellings(self, quota):
        return (quota, f"long-{quota}")

    def refuses(self, quota, pod_sets):
        return Problem(Reason.MISCONFIGURED, "say more") if pod_sets[0].count > 1 else None


def renamed(queues=LINES):
    return Surroundings(
        quotas=Renamed.build(QuotaOptions(), [quota()]),
        queues={each.name: each for each in queues},
        namespaces={},
    )


def test_5_5_a_queue_may_list_quotas_by_any_of_their_names():
    lines = [queue("special", annotations={keys.AVAILABLE_QUOTA: "long-team-a"})]
    assert isinstance(standing_of(named(), JobFacts(), renamed(lines)), Candidate)


def test_11_17_a_unit_whose_pods_would_be_refused_waits():
    assert isinstance(standing_of(unit(), JobFacts(), renamed()), Candidate)
    found = standing_of(unit(replicas=2), JobFacts(), renamed())
    assert found.problem == Problem(Reason.MISCONFIGURED, "say more")
