"""Objects as kubectl prints them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from kq.core.kinds import QUEUE, QUEUE_UNIT, ResourceKind
from kq.sim.api.call import Request
from kq.sim.api.server import ApiServer

AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
GAP = "   "


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One `kubectl get` in all namespaces."""

    kind: ResourceKind

    @property
    def command(self) -> str:
        """As a person types it."""
        return f"kubectl get {self.kind.plural} -A"


QUESTIONS = (Question(kind=QUEUE_UNIT), Question(kind=QUEUE))


async def table(server: ApiServer, question: Question) -> list[str]:
    """The lines that kubectl prints."""
    kind = question.kind
    path = f"/apis/{kind.api_version}/{kind.plural}"
    answer = await server.serve(Request(method="GET", path=path, accept=AS_TABLE))
    return printed(msgspec.json.decode(answer.body))


def printed(body: dict[str, Any]) -> list[str]:
    """A Table of objects in many namespaces, without the columns that only `-o wide` shows."""
    columns = body["columnDefinitions"]
    shown = [index for index, each in enumerate(columns) if not each["priority"]]
    rows = [["NAMESPACE", *(columns[index]["name"].upper() for index in shown)]]
    for row in body["rows"]:
        cells = [row["cells"][index] for index in shown]
        rows.append([row["object"]["metadata"]["namespace"], *map(_cell, cells)])
    return _aligned(rows)


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
