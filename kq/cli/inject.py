"""Writes a CA into the webhook configuration, for `kq certs issue --inject` (spec 17.4)."""

import asyncio
import base64
from contextlib import suppress

from kq.core.kinds import MUTATING_WEBHOOK, Object
from kq.core.patch import Operation
from kq.kube.auth import load_connection
from kq.kube.client import Client
from kq.kube.errors import Conflict

CONFIGURATION = "koord-queue"
ATTEMPTS = 4


def inject(ca: bytes, kubeconfig: str | None, context: str | None, *, dry_run: bool) -> str:
    """Makes the API server trust this CA for every entry; says what it did."""
    return asyncio.run(_inject(ca, kubeconfig, context, dry_run))


def ca_operations(configuration: Object, ca: bytes) -> list[Operation]:
    """The operations that give every webhook entry this caBundle; none where it has it already."""
    bundle = base64.b64encode(ca).decode("ascii")
    return [
        {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": bundle}
        for index, entry in enumerate(configuration.get("webhooks") or ())
        if (entry.get("clientConfig") or {}).get("caBundle") != bundle
    ]


async def inject_with(client: Client, ca: bytes, *, dry_run: bool = False) -> str:
    """Injects through a client that is open already; a change in between is read anew."""
    for _ in range(ATTEMPTS):
        # Entries are addressed by their index, so a changed list must be looked at again.
        with suppress(Conflict):
            return await _inject_once(client, ca, dry_run)
    return await _inject_once(client, ca, dry_run)


async def _inject_once(client: Client, ca: bytes, dry_run: bool) -> str:
    configuration = await client.get(MUTATING_WEBHOOK, CONFIGURATION)
    operations = ca_operations(configuration, ca)
    if not operations:
        return f"caBundle of {CONFIGURATION} is up to date"
    entries = f"caBundle of {len(operations)} entries of {CONFIGURATION}"
    if dry_run:
        return f"would set {entries}"
    version = configuration["metadata"].get("resourceVersion")
    await client.json_patch(
        MUTATING_WEBHOOK, CONFIGURATION, None, operations, resource_version=version
    )
    return f"set {entries}"


async def _inject(ca: bytes, kubeconfig: str | None, context: str | None, dry_run: bool) -> str:
    connection = await load_connection(kubeconfig, context)
    async with Client(connection) as client:
        return await inject_with(client, ca, dry_run=dry_run)
