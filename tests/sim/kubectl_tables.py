"""Objects of all namespaces in rows and columns, as the API server has kubectl print them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from kq.core.kinds import ResourceKind
from kq.sim.api.call import Request
from kq.sim.api.server import ApiServer

AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


async def rows(server: ApiServer, kind: ResourceKind) -> Sequence[Sequence[str]]:
    """What `kubectl get -A` shows of each object, its namespace first."""
    path = f"/apis/{kind.api_version}/{kind.plural}"
    answer = await server.serve(Request(method="GET", path=path, accept=AS_TABLE))
    body: dict[str, Any] = msgspec.json.decode(answer.body)
    shown = [at for at, each in enumerate(body["columnDefinitions"]) if not each["priority"]]
    return [
        [row["object"]["metadata"]["namespace"], *(str(row["cells"][at]) for at in shown)]
        for row in body["rows"]
    ]
