"""What is measured of a manager that is started on a crowd of waiting units."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

import msgspec
from controlplane import processes
from controlplane.processes import Process

from bench import meter
from bench.crowd.ground import Ground, is_ready
from bench.crowd.sample import ROOMS, WAITING, room, team
from bench.failure import BenchError
from bench.follow import Change, Seen, is_released
from bench.outcome import Outcome, Row
from bench.progress import pause, tell
from bench.stats import percentile
from kq.core.kinds import JOB, NAMESPACE
from kq.kube.auth import load_connection
from kq.kube.client import Client

START_SECONDS = 600.0
LOOK_SECONDS = 0.05
GRANT_SECONDS = 60.0
QUIET_SECONDS = 20.0
"""Longer than any interval in which a Queue's status is written."""
MOST_SETTLING = 30
WINDOW_SECONDS = 60.0
WATCH_SECONDS = 3600
MIB = 1024 * 1024


@dataclass(slots=True, kw_only=True)
class Releases:
    """Jobs that were let go, as they come."""

    moments: "asyncio.Queue[float]" = field(default_factory=asyncio.Queue)
    """Seconds of `time.monotonic`."""
    seen: set[str] = field(default_factory=set)

    async def follow(self, client: Client, version: str) -> None:
        """Notes each job that is released from a version on."""
        read, look = msgspec.json.Decoder(Change).decode, msgspec.json.Decoder(Seen).decode
        lines = client.watch(JOB, resource_version=version, timeout_seconds=WATCH_SECONDS)
        async with aclosing(lines):
            async for line in lines:
                change = read(line)
                job = look(change.object)
                name = job.metadata.name
                if name.startswith(WAITING) and is_released(job) and name not in self.seen:
                    self.seen.add(name)
                    self.moments.put_nowait(time.monotonic())


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How long a start took, in seconds from the start of the process."""

    ready: float
    decided: float
    """The first job was released."""
    processor: float
    """Processor time until then: what stays the same on a machine that does other work."""


async def measured(ground: Ground) -> Outcome:
    """All figures, of one manager."""
    async with Client(await load_connection(str(ground.kubeconfig), None)) as client:
        releases = Releases()
        version = await _version(client)
        async with asyncio.TaskGroup() as group:
            following = group.create_task(releases.follow(client, version), name="releases")
            started = time.monotonic()
            with ground.managed() as (manager, health):
                start = await _started(manager, health, releases, started)
                tell(f"  the first job was released after {start.decided:.1f} s")
                outcome = await _of_started(ground, manager, client, releases, start)
            following.cancel()
    return outcome


async def _of_started(
    ground: Ground,
    manager: Process,
    client: Client,
    releases: Releases,
    start: Start,
) -> Outcome:
    settled = await _settled(manager, client)
    before, version = processes.cpu_seconds(manager), int(await _version(client))
    await pause(WINDOW_SECONDS, lambda: processes.check(manager))
    idle = (processes.cpu_seconds(manager) - before) / WINDOW_SECONDS
    writes = int(await _version(client)) - version
    memory = processes.resident_bytes(manager) / MIB
    grants = [await _granted(client, releases, number) for number in range(ROOMS)]
    peak = meter.peak_megabytes(manager) * 1e6 / MIB
    figures = {
        "crowd": {
            "units": ground.units,
            "ready_seconds": round(start.ready, 2),
            "first_decision_seconds": round(start.decided, 2),
            "first_decision_cpu_seconds": round(start.processor, 2),
            "rss_mib": round(memory, 1),
            "peak_mib": round(peak, 1),
            "idle_cpu": round(idle, 5),
            "idle_writes": writes,
            "grant_ms": [round(each * 1000, 1) for each in grants],
        }
    }
    simulator = meter.resident_megabytes(ground.simulator)
    rows = [
        Row("ready", f"{start.ready:.1f} s", f"after its start, {ground.units} units wait"),
        Row("first decision", f"{start.decided:.1f} s", "a job is released; at most 60"),
        Row("CPU until then", f"{start.processor:.1f} s", "of the manager"),
        Row("RSS manager", f"{memory:.0f} MiB", f"at rest; at most 400; {peak:.0f} at its peak"),
        Row("idle CPU manager", f"{idle:.2%}", f"of a core, {WINDOW_SECONDS:.0f} s; at most 1"),
        Row("idle writes", str(writes), f"by anybody; settled after {settled:.0f} s"),
        Row("grant", f"{percentile(grants, 50) * 1000:.0f} ms", _spread(grants)),
        Row("kq sim", f"{simulator:.0f} MB", f"served after {ground.seconds:.0f} s"),
    ]
    return Outcome(load="crowd", figures=figures, rows=rows)


async def _started(manager: Process, health: int, releases: Releases, started: float) -> Start:
    ready = 0.0
    deadline = started + START_SECONDS
    while releases.moments.empty() or not ready:
        processes.check(manager)
        if time.monotonic() > deadline:
            raise BenchError(f"nothing is released after {START_SECONDS:.0f} s")
        if not ready and await asyncio.to_thread(is_ready, health):
            ready = time.monotonic() - started
        await asyncio.sleep(LOOK_SECONDS)
    return Start(
        ready=ready,
        decided=releases.moments.get_nowait() - started,
        processor=processes.cpu_seconds(manager),
    )


async def _settled(manager: Process, client: Client) -> float:
    """Waits until nothing is written any more; the seconds that it took, silence included."""
    version = await _version(client)
    for turn in range(1, MOST_SETTLING + 1):
        await pause(QUIET_SECONDS, lambda: processes.check(manager))
        now = await _version(client)
        tell(f"  settling: {int(now) - int(version)} writes in {QUIET_SECONDS:.0f} s")
        if now == version:
            return turn * QUIET_SECONDS
        version = now
    raise BenchError("it does not come to rest")


async def _granted(client: Client, releases: Releases, number: int) -> float:
    """Seconds from the delete of a running job until another one is released in its place."""
    while not releases.moments.empty():
        releases.moments.get_nowait()
    where = team(number + 1)
    started = time.monotonic()
    await client.delete(JOB, room(0), where)
    with suppress(TimeoutError):
        async with asyncio.timeout(GRANT_SECONDS):
            return await releases.moments.get() - started
    raise BenchError(f"nothing of {where} is released after {GRANT_SECONDS:.0f} s")


async def _version(client: Client) -> str:
    """That of the newest write, whatever its kind."""
    page = await client.list_page(NAMESPACE, limit=1)
    return msgspec.json.Decoder(Seen).decode(page).metadata.resource_version


def _spread(grants: Sequence[float]) -> str:
    times = ", ".join(f"{each * 1000:.0f}" for each in grants)
    return f"a running job is deleted to another's release: {times}"
