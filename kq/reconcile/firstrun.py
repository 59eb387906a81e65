"""Since when the manager runs with each kind: jobs from before are counted, not touched (5.12)."""

from collections.abc import Mapping
from datetime import datetime

from kq.core import codec
from kq.core.kinds import CONFIG_MAP
from kq.kube.client import Client
from kq.kube.errors import AlreadyExists, NotFound

NAME = "koord-queue-state"


async def first_runs(
    client: Client, namespace: str, kinds: Mapping[str, str]
) -> dict[str, datetime]:
    """The time of each kind, kept in a ConfigMap; `kinds` gives the extension key of each.

    Times are the API server's, as jobs carry its time too.
    """
    known = await _read(client, namespace)
    missing = {key for key in kinds.values() if codec.parse_time(known.get(key)) is None}
    if missing:
        date = client.server_date()
        if date is not None:
            stamp = codec.format_time(date)
            known = await _write(client, namespace, dict.fromkeys(sorted(missing), stamp))
    times = {kind: codec.parse_time(known.get(key)) for kind, key in kinds.items()}
    return {kind: time for kind, time in times.items() if time is not None}


async def _read(client: Client, namespace: str) -> dict[str, str]:
    """What is kept; the map is made if it is absent."""
    try:
        found = await client.get(CONFIG_MAP, NAME, namespace)
    except NotFound:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}}
        try:
            found = await client.create(CONFIG_MAP, body, namespace)
        except AlreadyExists:
            found = await client.get(CONFIG_MAP, NAME, namespace)
    return codec.strings(found.get("data"))


async def _write(client: Client, namespace: str, times: dict[str, str]) -> dict[str, str]:
    found = await client.merge_patch(CONFIG_MAP, NAME, namespace, {"data": times})
    return codec.strings(found.get("data"))
