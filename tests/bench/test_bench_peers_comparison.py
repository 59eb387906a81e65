"""Figures of both queues side by side."""

from typing import Any

import pytest

from bench.outcome import Outcome
from bench.peers import comparison
from bench.peers.comparison import Pairing, pairings, ratios, table


def outcome(load: str, **figures: Any) -> Outcome:
    return Outcome(load=load, figures=figures, rows=())


THEIRS = [
    outcome("burst", rate=10.0, cpu={"manager": 30.0, "apiserver": 80.0}),
    outcome("places", latency={"p50": 0.0, "p99": -2.0}),
]
OURS = [
    outcome("burst", rate=40.0, cpu={"manager": 6.0, "webhook": 1.5, "apiserver": 40.0}),
    outcome("places", latency={"p50": 5.0, "p99": 5.0}),
]


def test_all_processes_of_a_queue_are_compared_together_too() -> None:
    assert comparison.with_totals(OURS[0].figures)["cpu"]["queue"] == 7.5
    assert comparison.with_totals(THEIRS[0].figures)["cpu"]["queue"] == 30.0
    assert comparison.with_totals(OURS[1].figures) == OURS[1].figures


def test_every_figure_of_either_is_paired() -> None:
    found = {(each.load, each.figure): (each.peer, each.ours) for each in pairings(THEIRS, OURS)}
    assert found == {
        ("burst", "rate"): (10.0, 40.0),
        ("burst", "cpu.manager"): (30.0, 6.0),
        ("burst", "cpu.webhook"): (None, 1.5),
        ("burst", "cpu.apiserver"): (80.0, 40.0),
        ("burst", "cpu.queue"): (30.0, 7.5),
        ("places", "latency.p50"): (0.0, 5.0),
        ("places", "latency.p99"): (-2.0, 5.0),
    }


@pytest.mark.parametrize(
    ("peer", "ours", "ratio"),
    [
        pytest.param(10.0, 40.0, 4.0, id="more"),
        pytest.param(30.0, 7.5, 0.25, id="less"),
        pytest.param(None, 1.5, None, id="the peer has none"),
        pytest.param(1.5, None, None, id="we have none"),
        pytest.param(0.0, 5.0, None, id="nothing to divide by"),
        pytest.param(-2.0, 5.0, None, id="the peer's is below zero"),
        pytest.param(5.0, -2.0, None, id="ours is below zero"),
        pytest.param(5.0, 0.0, 0.0, id="ours is nothing"),
    ],
)
def test_a_ratio_is_ours_for_each_one_of_the_peers(
    peer: float | None, ours: float | None, ratio: float | None
) -> None:
    assert Pairing(load="burst", figure="rate", peer=peer, ours=ours).ratio == ratio


def test_only_figures_with_a_ratio_are_in_the_file() -> None:
    assert ratios(pairings(THEIRS, OURS)) == {
        "rate": 4.0,
        "cpu.manager": 0.2,
        "cpu.apiserver": 0.5,
        "cpu.queue": 0.25,
    }


def test_the_table_shows_both_and_the_ratio_of_every_figure() -> None:
    made = table(pairings(THEIRS, OURS), "Kueue", "title")
    columns = {str(each.header): list(each.cells) for each in made.columns}
    assert list(columns) == ["load", "figure", "Kueue", "kq", "kq / Kueue"]
    assert columns["load"] == ["burst", "", "", "", "", "places", ""]
    assert columns["figure"][:2] == ["rate", "cpu: manager"]
    assert columns["Kueue"] == ["10.00", "30.00", "-", "80.00", "30.00", "0.00", "-2.00"]
    assert columns["kq"] == ["40.00", "6.00", "1.50", "40.00", "7.50", "5.00", "5.00"]
    assert columns["kq / Kueue"] == ["4.00", "0.20", "-", "0.50", "0.25", "-", "-"]
