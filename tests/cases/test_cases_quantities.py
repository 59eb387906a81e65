"""Quantities: cases C1, C2 and C3."""

from decimal import Decimal
from typing import Any

import pytest
from case_api import CANONICAL, TYPED
from case_stage import Stage

from kq.core.kinds import ELASTIC_QUOTA, JOB, POD, QUEUE_UNIT
from kq.core.quantity import parse_quantity
from kq.errors import QuantityError

CLUSTER = [
    pytest.mark.looptime(noop_cycles=2),
    pytest.mark.usefixtures("same_jitter", "logs"),
]

TRAIN, NEXT = "team-a/train", "team-a/waits"

# -- C1: all legal forms


FORMS: list[tuple[Any, str]] = [
    ("1e3", "1000"),
    ("12E6", "12000000"),
    ("1E", "1000000000000000000"),
    ("0.5", "0.5"),
    (".5", "0.5"),
    ("5.", "5"),
    ("+2", "2"),
    ("100m", "0.1"),
    ("1.5Gi", "1610612736"),
    ("500k", "500000"),
    ("123Mi", "128974848"),
    ("128974848000m", "128974848"),
    (1, "1"),
    (0.5, "0.5"),
    ("2Ei", "2305843009213693952"),
    # neighbours
    ("1e+3", "1000"),
    ("1E-3", "0.001"),
    ("1e-3", "0.001"),
    ("+.5Mi", "524288"),
    ("0", "0"),
    ("-0", "0"),
    ("00012", "12"),
    ("1n", "0.000000001"),
    ("250u", "0.00025"),
    ("0.1Ki", "102.4"),
    ("1.25e2", "125"),
    ("1P", "1000000000000000"),
    ("1Pi", "1125899906842624"),
    ("3T", "3000000000000"),
    ("1.5e0", "1.5"),
    (1.5, "1.5"),
    (0.1, "0.1"),
    (2**40, "1099511627776"),
    (1e21, "1000000000000000000000"),
    ("-1", "-1"),
    ("-.5Gi", "-536870912"),
]


@pytest.mark.parametrize(("written", "value"), FORMS, ids=lambda each: repr(each))
def test_c1_every_legal_form_has_its_exact_value(written: Any, value: str) -> None:
    assert parse_quantity(written).nano == Decimal(value) * 10**9


ILLEGAL = [
    "", " ", "1 ", " 1", "1K", "1KI", "1mi", "1GiB", "1gb", "1g", "1e", "1e1.5",
    "1_000", "1,5", "0x10", "1.2.3", "--1", "\u0661", "1E3Gi", "inf", "NaN", True, False, None,
    float("nan"), float("inf"), [], {},
]  # fmt: skip


@pytest.mark.parametrize("written", ILLEGAL, ids=lambda each: repr(each))
def test_c1_what_is_no_quantity_is_refused_and_never_0(written: Any) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(written)


@pytest.mark.parametrize(
    ("written", "cpu"),
    [("1e0", "1"), (0.5, "500m"), (".5", "500m"), ("+2", "2"), ("1e-1", "100m"), ("1n", "1m")],
    ids=lambda each: repr(each),
)
class TestC1InAJob:
    """A Job may write its request in any of them; its unit asks the exact amount."""

    pytestmark = CLUSTER

    async def test_c1_the_unit_of_a_job_asks_the_value_in_whatever_form_it_was_written(
        self, written: Any, cpu: str
    ) -> None:
        stage = Stage(cpu=4)
        stage.api.rewrites = set()
        stage.played.reacts = 1e9
        stage.submit("train", cpu=written)
        async with stage.runs():
            assert stage.unit(TRAIN)["spec"]["resource"] == {"cpu": cpu}
            assert stage.usage() == {"cpu": cpu}


# -- C2: equal values written differently are equal


PAIRS = [
    pytest.param({"cpu": "1", "memory": "1.5G"}, id="1.5G, read back as 1500M"),
    pytest.param({"cpu": "1000m"}, id="1000m, read back as 1"),
    pytest.param({"cpu": "1", "memory": "1024Mi"}, id="1024Mi, read back as 1Gi"),
    pytest.param({"cpu": ".5", "memory": "2048Ki"}, id=".5 and 2048Ki"),
    pytest.param({"cpu": "2.0", "ephemeral-storage": "1024Gi"}, id="2.0 and 1024Gi"),
    pytest.param({"cpu": 1, "memory": "0.1Gi"}, id="a number, and 0.1Gi"),
    pytest.param({"cpu": "1", "memory": "1000e0"}, id="1000e0, read back as 1e3"),
]
REWRITES = pytest.mark.parametrize(
    "rewrites",
    [TYPED, TYPED | {QUEUE_UNIT.plural}, set()],
    ids=["Jobs rewritten", "all rewritten", "nothing rewritten"],
)


async def resynced(stage: Stage, times: int) -> None:
    """All is listed anew, so many times, five minutes apart."""
    for _ in range(times):
        for kind in (JOB, POD, QUEUE_UNIT, ELASTIC_QUOTA):
            stage.api.expire(kind)
        await stage.settled(300)


def asks(stage: Stage, name: str, requests: dict[str, Any], **fields: Any) -> None:
    """A Job whose pods request this."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": requests}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    stage.submit(name, template=template, **fields)


class TestC2:
    pytestmark = CLUSTER

    @REWRITES
    @pytest.mark.parametrize("requests", PAIRS)
    async def test_c2_equal_amounts_are_no_change_over_10_resyncs(
        self, requests: dict[str, Any], rewrites: set[str]
    ) -> None:
        stage = Stage(cpu=4)
        stage.api.rewrites = rewrites
        asks(stage, "train", requests)
        asks(stage, "waits", {**requests, "cpu": 4})
        async with stage.runs():
            assert stage.phases() == {TRAIN: "Running", NEXT: "Enqueued"}
            versions = [stage.unit(key)["metadata"]["resourceVersion"] for key in (TRAIN, NEXT)]
            stage.api.asked.clear()
            await resynced(stage, 10)
            assert [each.short for each in stage.api.writes] == []
            assert versions == [
                stage.unit(key)["metadata"]["resourceVersion"] for key in (TRAIN, NEXT)
            ]
            assert stage.phases() == {TRAIN: "Running", NEXT: "Enqueued"}

    @pytest.mark.parametrize(("old", "new"), list(CANONICAL.items())[:6], ids=str)
    async def test_c2_another_spelling_of_the_same_amount_is_no_change(
        self, old: str, new: str
    ) -> None:
        """A tool applies the manifest with the other spelling, to a waiting and a running job."""
        name = "memory" if old[-1] in "Gi" else "cpu"
        stage = Stage(cpu=4)
        stage.api.rewrites = set()
        asks(stage, "train", {"cpu": "1", name: old})
        asks(stage, "waits", {"cpu": 4, "memory": old} if name == "memory" else {"cpu": 5})
        async with stage.runs():
            stage.api.asked.clear()
            for key in (TRAIN, NEXT):
                template = stage.job(key)["spec"]["template"]
                [container] = template["spec"]["containers"]
                requests = {
                    each: new if value == old else value
                    for each, value in container["resources"]["requests"].items()
                }
                changed = {**container, "resources": {"requests": requests}}
                spec = {"template": {"spec": {"containers": [changed]}}}
                stage.api.edit(JOB, key, {"spec": spec})
            await stage.settled(60)
            assert [each.short for each in stage.api.writes] == []

    async def test_c2_another_amount_is_a_change(self) -> None:
        """What the test above would not notice if nothing were compared at all."""
        stage = Stage(cpu=4)
        asks(stage, "train", {"cpu": 5, "memory": "1Gi"})
        async with stage.runs():
            asks_less = {"name": "main", "resources": {"requests": {"cpu": 4, "memory": "1025Mi"}}}
            spec = {"template": {"spec": {"containers": [asks_less]}}}
            stage.api.edit(JOB, TRAIN, {"spec": spec})
            await stage.settled()
            assert stage.unit(TRAIN)["spec"]["resource"] == {"cpu": "4", "memory": "1025Mi"}
            assert stage.phase(TRAIN) == "Running"

    @pytest.mark.parametrize("cpu", ["4", "4000m", 4, "4.0", "4e0", ".004k"], ids=repr)
    async def test_c2_a_limit_is_the_same_in_every_spelling(self, cpu: Any) -> None:
        stage = Stage(cpu=cpu)
        asks(stage, "train", {"cpu": "4000m"})
        asks(stage, "waits", {"cpu": "1m"})
        async with stage.runs():
            assert stage.phases() == {TRAIN: "Running", NEXT: "Enqueued"}
            assert stage.message(NEXT).endswith("1m cpu requested, not enough free of 4")


# -- C3: negative values earn no credit


NEGATIVE = [
    pytest.param({"requests": {"cpu": "-4"}}, "cpu in requests of container main is -4", id="-4"),
    pytest.param({"requests": {"cpu": -1}}, "cpu in requests of container main is -1", id="-1"),
    pytest.param(
        {"requests": {"cpu": "-500m"}}, "cpu in requests of container main is -500m", id="-500m"
    ),
    pytest.param(
        {"requests": {"cpu": 0, "memory": "-1Gi"}},
        "memory in requests of container main is -1Gi",
        id="memory",
    ),
    pytest.param({"limits": {"cpu": "-4"}}, "cpu in limits of container main is -4", id="a limit"),
]
PLACES = [
    pytest.param("containers", {}, id="container"),
    pytest.param("initContainers", {}, id="init container"),
    pytest.param("initContainers", {"restartPolicy": "Always"}, id="sidecar"),
]


class TestC3:
    pytestmark = CLUSTER

    @pytest.mark.parametrize(("place", "fields"), PLACES)
    @pytest.mark.parametrize(("resources", "told"), NEGATIVE)
    async def test_c3_a_negative_request_is_refused_with_its_reason_and_lets_nobody_in(
        self, resources: dict[str, Any], told: str, place: str, fields: dict[str, Any]
    ) -> None:
        stage = Stage(cpu=4)
        stage.submit("full", cpu=4)
        async with stage.runs():
            wrong = {"name": "main", "resources": resources, **fields}
            fine = {"name": "app", "resources": {"requests": {"cpu": "1"}}}
            others = [fine] if place == "initContainers" else []
            template = {"spec": {"containers": others, place: [wrong, *others]}}
            stage.submit("train", template=template)
            stage.submit("waits", cpu=1)
            await stage.settled(60)
            assert stage.phases() == {
                "team-a/full": "Running",
                TRAIN: "Enqueued",
                NEXT: "Enqueued",
            }
            assert stage.message(TRAIN) == f"{told}, not a quantity of 0 or more"
            assert stage.usage() == {"cpu": "4"}
            assert stage.message(NEXT).endswith("1 cpu requested, not enough free of 4")
            stage.finish("team-a/full")
            await stage.settled()
            assert stage.usage() == {"cpu": "1"}
            assert stage.is_held(TRAIN)

    @pytest.mark.parametrize("field", ["parallelism", "completions"])
    @pytest.mark.parametrize("count", [-1, -1_000_000], ids=str)
    async def test_c3_a_negative_count_is_refused_with_its_reason_and_lets_nobody_in(
        self, field: str, count: int
    ) -> None:
        stage = Stage(cpu=4)
        stage.submit("full", cpu=4)
        async with stage.runs():
            stage.submit("train", cpu=4, **{"parallelism": 1, field: count})
            stage.submit("waits", cpu=1)
            await stage.settled(60)
            assert stage.phases() == {"team-a/full": "Running", TRAIN: "Enqueued", NEXT: "Enqueued"}
            told = f"spec.{field} is {count}, not a number from 0 to "
            assert stage.message(TRAIN).startswith(told)
            assert stage.usage() == {"cpu": "4"}

    @pytest.mark.parametrize("limit", ["-4", -1, "-1m"], ids=repr)
    async def test_c3_a_negative_limit_gives_room_to_nobody(self, limit: Any) -> None:
        stage = Stage(cpu=limit)
        stage.submit("train", cpu="1m")
        async with stage.runs():
            assert stage.phase(TRAIN) == "Enqueued"
            assert "but max of quota team-a is 0" in stage.message(TRAIN)

    async def test_c3_a_running_job_that_becomes_negative_gives_nothing_back(self) -> None:
        """Only a server that checks nothing lets that happen; the grant stays what it was."""
        stage = Stage(cpu=4)
        stage.submit("train", cpu=4)
        stage.submit("waits", cpu=4)
        async with stage.runs():
            wrong = {"name": "main", "resources": {"requests": {"cpu": "-4"}}}
            stage.api.edit(JOB, TRAIN, {"spec": {"template": {"spec": {"containers": [wrong]}}}})
            await stage.settled(60)
            assert stage.phases() == {TRAIN: "Running", NEXT: "Enqueued"}
            assert stage.usage() == {"cpu": "4"}
