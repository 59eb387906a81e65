"""The table and the JSON file."""

from io import StringIO

from rich.console import Console

from bench.outcome import Outcome, Row, merged, table

BURST = Outcome(
    load="burst",
    figures={"released_per_second": 50.0, "rss_mb": {"manager": 100.0}},
    rows=[Row("released a second", "50"), Row("RSS manager", "100 MB", "at its peak")],
)
WAITING = Outcome(
    load="waiting",
    figures={"idle_writes_10k_waiting": 0, "rss_mb": {"manager_10k_waiting": 200.0}},
    rows=[Row("idle writes", "0")],
)


def test_groups_to_which_several_loads_add_are_put_together() -> None:
    assert merged([BURST, WAITING]) == {
        "released_per_second": 50.0,
        "idle_writes_10k_waiting": 0,
        "rss_mb": {"manager": 100.0, "manager_10k_waiting": 200.0},
    }
    assert BURST.figures["rss_mb"] == {"manager": 100.0}


def test_the_table_has_every_row_and_names_each_load_once() -> None:
    shown = StringIO()
    Console(file=shown, width=120).print(table([BURST, WAITING], "on this machine"))
    text = shown.getvalue()
    for word in ("on this machine", "released a second", "at its peak", "idle writes"):
        assert word in text
    assert text.count("burst") == 1
