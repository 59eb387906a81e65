"""Many jobs submitted to a full quota: until each unit has its reason, and the rest after that."""

import asyncio

from bench import audit, meter, objects
from bench.audit import AuditLog
from bench.follow import Follower, has_reason
from bench.loads.writes import audit_log
from bench.outcome import Outcome, Row
from bench.progress import attended, pause, tell
from bench.rush import submit
from bench.stage import Sizes, Stage
from kq.core.kinds import QUEUE_UNIT

REASON = "reason"
QUIET_SECONDS = 20.0
"""Longer than any interval in which a Queue's status is written."""
MOST_SETTLING = 9
WINDOW_SECONDS = 60.0
LIMIT_SECONDS = 900.0


async def run(stage: Stage, sizes: Sizes) -> Outcome:
    """The intake, then a minute of rest."""
    waiting = sizes.waiting
    stage.make_quota(1)
    log = audit_log(stage)
    await _fill(stage)
    seconds, submitted = await _intake(stage, waiting)
    settled = await _settle(stage, log)
    before = meter.cpu_seconds(stage.processes)
    await pause(WINDOW_SECONDS, stage.check)
    cpu = meter.spent(before, meter.cpu_seconds(stage.processes))
    writes = audit.count(log.news()).attempts
    size = meter.resident_megabytes(stage.manager)
    idle = {name: used / WINDOW_SECONDS for name, used in cpu.items()}
    manager, webhook = stage.manager.name, stage.webhook.name
    figures = {
        "intake_10k_seconds": round(seconds, 1),
        "rss_mb": {"manager_10k_waiting": round(size, 1)},
        "idle_cpu_10k_waiting": round(idle[manager], 4),
        "idle_writes_10k_waiting": writes,
    }
    rest = f"over {WINDOW_SECONDS:.0f} s at rest, {waiting} units waiting"
    rows = [
        Row("intake", f"{seconds:.1f} s", f"{waiting} jobs; the last create at {submitted:.1f} s"),
        Row("settled after", f"{settled:.0f} s", f"no write of ours for {QUIET_SECONDS:.0f} s"),
        Row("RSS manager", f"{size:.0f} MB", "at rest"),
        Row("RSS webhook", f"{meter.resident_megabytes(stage.webhook):.0f} MB", "at rest"),
        Row("idle CPU manager", f"{idle[manager]:.2%}", f"of a core, {rest}"),
        Row("idle CPU webhook", f"{idle[webhook]:.2%}", f"of a core, {rest}"),
        Row("idle writes", str(writes), f"leases apart, {rest}"),
    ]
    return Outcome(load="waiting", figures=figures, rows=rows)


async def _fill(stage: Stage) -> None:
    """The only place is taken by a job that never ends."""
    holder = objects.job("holder", objects.FOREVER)
    path = stage.jobs_target().url.removeprefix(stage.cluster.access.server)
    stage.cluster.api("POST", path, holder)
    stage.cluster.wait(f"{path}/holder", lambda job: job.get("status", {}).get("active") == 1)


async def _intake(stage: Stage, waiting: int) -> tuple[float, float]:
    """Seconds from the first create to the last reason, and to the last create."""
    async with stage.client() as client:
        follower = Follower(client, QUEUE_UNIT, {REASON: has_reason})
        await follower.start()
        reasons = follower.moments[REASON]
        bodies = objects.jobs(waiting, objects.FOREVER)

        async def work() -> tuple[float, float]:
            async with asyncio.TaskGroup() as group:
                following = group.create_task(follower.run(), name="follow units")
                times = await submit(stage.jobs_target(), bodies)
                await follower.reached(REASON, waiting)
                following.cancel()
            return times

        started, ended = await attended(
            work(),
            check=stage.check,
            state=lambda: f"{len(reasons)} of {waiting} units have a reason",
            seconds=LIMIT_SECONDS,
        )
    return max(reasons.values()) - started, ended - started


async def _settle(stage: Stage, log: AuditLog) -> float:
    """Waits until kq writes nothing any more; the seconds that it took, silence included."""
    log.news()
    for turn in range(1, MOST_SETTLING + 1):
        await pause(QUIET_SECONDS, stage.check)
        number = audit.count(log.news()).attempts
        tell(f"  settling: {number} writes of ours in {QUIET_SECONDS:.0f} s")
        if not number:
            return turn * QUIET_SECONDS
    return MOST_SETTLING * QUIET_SECONDS
