"""What annotations set on a Queue, and what is told of those that cannot be read."""

import pytest
from builders import queue

from kq.decide.queuesettings import faults, interval_of, skips_impossible

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
