"""Figures of a load: rows for the table, keys for the JSON file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    figure: str
    value: str
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one load gave."""

    load: str
    figures: Figures
    rows: Sequence[Row]


def merged(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """The figures of all loads; groups to which several loads add are put together."""
    whole: dict[str, Any] = {}
    for outcome in outcomes:
        for key, value in outcome.figures.items():
            if isinstance(value, Mapping):
                whole[key] = {**whole.get(key, {}), **value}
            else:
                whole[key] = value
    return whole


def table(outcomes: Iterable[Outcome], title: str) -> Table:
    """All rows, a section a load."""
    made = Table(title=title, title_justify="left")
    made.add_column("load")
    made.add_column("figure")
    made.add_column("value", justify="right")
    made.add_column("remark")
    for outcome in outcomes:
        name = outcome.load
        for row in outcome.rows:
            made.add_row(name, row.figure, row.value, row.remark)
            name = ""
        made.add_section()
    return made
