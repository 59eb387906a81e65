"""What annotations set on a Queue, and what is told of those that cannot be read."""

import pytest
from builders import queue

from kq.core import keys
from kq.decide.queuesettings import (
    faults,
    interval_of,
    max_depth,
    preempts,
    rules,
    skips_impossible,
    threshold_of,
    waits_for_pods,
)

POLICIES = ("Priority", "Block")
INTERVAL = "koord-queue/queue-items-refresh-interval"
OLD_INTERVAL = "kube-queue/queue-items-refresh-interval"
SKIPS = "koord-queue/skip-impossible"


@pytest.mark.parametrize(
    ("annotations", "seconds"),
    [
        pytest.param({}, 15, id="absent"),
        pytest.param({INTERVAL: "1m30s"}, 90, id="minutes and seconds"),
        pytest.param({INTERVAL: "1.5h"}, 5400, id="a fraction"),
        pytest.param({INTERVAL: "500ms"}, 0.5, id="milliseconds"),
        pytest.param({OLD_INTERVAL: "7s"}, 7, id="the old spelling"),
        pytest.param({INTERVAL: "5s", OLD_INTERVAL: "7s"}, 5, id="the new spelling wins"),
        pytest.param({INTERVAL: "soon"}, 15, id="no duration"),
        pytest.param({INTERVAL: "-5s"}, 15, id="negative"),
        pytest.param({INTERVAL: "5"}, 15, id="no unit"),
        pytest.param({INTERVAL: ""}, 15, id="empty"),
        pytest.param({INTERVAL: "٣s"}, 15, id="other digits"),
    ],
)
def test_the_interval_of_a_queues_line(annotations, seconds):
    assert interval_of(queue(annotations=annotations)) == seconds


@pytest.mark.parametrize(
    ("text", "skips"), [("true", True), ("True", True), ("false", False), ("yes", False)]
)
def test_only_true_skips_what_is_impossible(text, skips):
    assert skips_impossible(queue(annotations={SKIPS: text})) is skips


@pytest.mark.parametrize(
    ("policy", "annotations", "expected"),
    [
        pytest.param("Block", {INTERVAL: "5s", SKIPS: "TRUE"}, [], id="none"),
        pytest.param("", {}, [], id="nothing set"),
        pytest.param(
            "block",
            {},
            [
                "queuePolicy block is not one of Priority, Block: treated as Priority; "
                "it is written Block"
            ],
            id="policy",
        ),
        pytest.param(
            "Priority",
            {INTERVAL: "soon"},
            [f"{INTERVAL} is soon, not a duration as 15s: treated as 15s"],
            id="interval",
        ),
        pytest.param(
            "Priority",
            {"kube-queue/skip-impossible": "yes"},
            ["kube-queue/skip-impossible is yes, not true or false: treated as false"],
            id="truth, by the spelling that is there",
        ),
        pytest.param(
            "FIFO",
            {INTERVAL: "", SKIPS: ""},
            [
                "queuePolicy FIFO is not one of Priority, Block: treated as Priority",
                f"{INTERVAL} is , not a duration as 15s: treated as 15s",
                f"{SKIPS} is , not true or false: treated as false",
            ],
            id="all of them",
        ),
    ],
)
def test_each_setting_that_cannot_be_read_is_named_with_its_value(policy, annotations, expected):
    assert list(faults(queue(policy=policy, annotations=annotations), POLICIES)) == expected


def test_a_long_value_is_cut():
    (text,) = faults(queue(annotations={INTERVAL: "x" * 5000}), POLICIES)
    assert len(text) < 250


@pytest.mark.parametrize(
    ("text", "threshold", "depth"),
    [("7", 7, 7), ("-2", -2, None), ("0", 0, None), ("x", 4, None), ("", 4, None), (None, 4, None)],
)
def test_numbers_of_a_queue(text, threshold, depth):
    """Spec 10.11, 10.12: a threshold of 4, and no limit, if nothing readable is set."""
    for prefix in ("koord-queue", "kube-queue"):
        names = (f"{prefix}/priority-threshold", f"{prefix}/max-depth")
        annotations = {} if text is None else dict.fromkeys(names, text)
        line = queue(annotations=annotations)
        assert (threshold_of(line), max_depth(line)) == (threshold, depth)


@pytest.mark.parametrize(("text", "waits"), [("true", True), ("TRUE", True), ("no", False)])
def test_only_true_starts_units_one_at_a_time(text, waits):
    line = queue(annotations={"koord-queue/wait-for-pods-running": text})
    assert waits_for_pods(line) is waits


@pytest.mark.parametrize("key", keys.ENABLE_PREEMPTION)
@pytest.mark.parametrize(("text", "takes"), [("true", True), ("True", True), ("on", False)])
def test_only_true_lets_units_take_from_lower_ones(key, text, takes):
    """Spec 13.1."""
    line = queue(annotations={key: text})
    assert preempts(line) is takes
    told = [] if takes else [f"{key} is on, not true or false: treated as false"]
    assert list(faults(line, POLICIES)) == told


def test_numbers_that_cannot_be_read_are_told():
    line = queue(annotations={"koord-queue/priority-threshold": "x", "kube-queue/max-depth": "1.5"})
    assert list(faults(line, POLICIES)) == [
        "koord-queue/priority-threshold is x, not a whole number: treated as 4",
        "kube-queue/max-depth is 1.5, not a whole number of 0 or more: treated as no limit",
    ]


@pytest.mark.parametrize("key", keys.USAGE_ANNOTATIONS)
def test_3_10_what_kq_itself_reports_on_a_queue_decides_nothing(key):
    depth = {keys.MAX_DEPTH[0]: "3"}
    assert rules(queue(annotations={**depth, key: "{}"})) == rules(queue(annotations=depth))
    assert rules(queue(annotations={key: "{}"})) != rules(queue(annotations=depth))
