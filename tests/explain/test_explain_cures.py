"""What ends the reason for which a unit takes no part in cycles (spec 19.6, 20)."""

import msgspec
import pytest
from builders import at, job_view, namespace, pod, queue, quota, unit
from explain_scene import settled, texts

from kq.core import keys
from kq.core.model import Consumer, Phase, Requeue

REASONS = {
    "M3": ({"quota": None, "queue": ""}, "label the job, or namespace team-a, with "),
    "M4": ({"quota": "taem-a"}, "create quota taem-a, or name another one, as team-a"),
    "M4 parent": ({"quota": "orphan"}, "create quota gone, or correct the parent of the "),
    "M5": ({"quota": "closed"}, "use another quota, or allow namespace team-a by "),
    "M7": ({"quota": "round"}, "correct the quotas: quota round is in a cycle"),
    "M33": ({"quota": "parent"}, "name a child of quota parent, as child"),
    "M16": ({"defect": "cpu is x, not a quantity"}, "correct the job: cpu is x, not a "),
    "M18": (
        {"consumer": Consumer("batch/v1", "Job", "w", "elsewhere", "job-w")},
        "name a job of namespace team-a in spec.consumerRef of unit team-a/w",
    ),
    "M22": (
        {"queue_policy": "Hold"},
        "set spec.stopPolicy of queue team-a to None; ",
    ),
    "M27": (
        {"phase": None, "raw_phase": "Odd"},
        "set status.phase of unit team-a/w to Enqueued, or delete the unit; then it starts",
    ),
    "M28": ({"active": False}, "set spec.active of unit team-a/w to true; then it starts"),
    "back-off": (
        {"phase": Phase.BACKOFF, "raw_phase": "TimeoutBackoff", "requeue": Requeue(1, at(5))},
        "wait: it is queued again at 2026-03-01T12:05:00Z; then it starts",
    ),
    "inactive in back-off": (
        {"phase": Phase.BACKOFF, "raw_phase": "TimeoutBackoff", "active": False},
        "set spec.active of unit team-a/w to true; then it starts",
    ),
}


@pytest.mark.parametrize(("fields", "text"), REASONS.values(), ids=REASONS)
def test_each_other_reason_has_a_sentence_that_says_what_to_do(fields, text):
    """Spec 20, M3 to M33: what ends the reason, and what a cycle says then."""
    fields = dict(fields)
    stop = fields.pop("queue_policy", "None")
    of = settled(
        quota(cpu=4),
        quota("orphan", parent="gone"),
        quota("closed", annotations={keys.ALLOWED_NAMESPACES: "other"}),
        quota("round", parent="round"),
        quota("parent", is_parent=True),
        quota("child", parent="parent"),
        views=(queue(stop_policy=stop), unit("w", **fields)),
    )
    assert texts(of, "w")[0].startswith(text)
    assert len(texts(of, "w")) == 1


@pytest.mark.parametrize(
    ("views", "text"),
    [
        ((), "create job team-a/w, or delete unit team-a/w; then it starts"),
        (
            (job_view("w", deleting=True),),
            "nothing can be done: to queue job team-a/w again, submit it again",
        ),
        (
            (job_view("w"), pod("w-0", job="w")),
            "wait until its pods of the last run have ended, or delete them; then it starts",
        ),
        (
            (job_view("w"), unit("first", job="w", minute=-1)),
            "delete unit team-a/w: job team-a/w waits as team-a/first",
        ),
        (
            (job_view("w"), namespace(terminating=True)),
            "nothing can be done: namespace team-a is being deleted",
        ),
    ],
    ids=["M21", "M31", "M32", "M19", "namespace"],
)
def test_each_reason_of_the_job_has_a_sentence(views, text):
    """Spec 20."""
    of = settled(quota(cpu=4), views=(queue(), unit("w"), *views), jobs=False)
    assert texts(of, "w") == [text]


@pytest.mark.parametrize(
    ("queues", "text"),
    [
        ((), "create queue mine, or name queue team-a of its quota"),
        (
            (queue("mine", annotations={keys.AVAILABLE_QUOTA: "other"}),),
            "add quota team-a to annotation koord-queue/available-quota of queue mine; "
            "then it starts",
        ),
    ],
    ids=["does not exist", "does not accept"],
)
def test_what_to_do_about_a_named_queue(queues, text):
    """Spec 10.3, M6."""
    named = unit("w")
    annotations = {**named.annotations, keys.QUEUE_NAME[0]: "mine"}
    named = msgspec.structs.replace(named, annotations=annotations)
    of = settled(quota(cpu=4), views=(queue(), *queues, named))
    assert texts(of, "w") == [text]


def test_what_is_still_in_the_way_after_the_remedy_is_told():
    of = settled(quota(cpu=4), views=(queue(stop_policy="Hold"), unit("w", active=False)))
    assert texts(of, "w") == [
        "set spec.active of unit team-a/w to true; then it waits still: queue team-a is stopped"
    ]
