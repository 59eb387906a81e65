"""Who writes what for a job, counted at the API server."""

from collections import Counter

from bench import objects
from bench.audit import AuditLog, Writes, count
from bench.failure import BenchError
from bench.loads.burst import SETTLE_SECONDS
from bench.outcome import Outcome, Row
from bench.progress import pause
from bench.rush import rush
from bench.stage import Sizes, Stage

JOBS = 300


async def run(stage: Stage, sizes: Sizes) -> Outcome:
    """A burst of 300 with the audit log on."""
    stage.make_quota(JOBS)
    log = audit_log(stage)
    await rush(stage, objects.jobs(JOBS, "0s"))
    await pause(SETTLE_SECONDS, stage.check)
    written = count(log.news())
    stage.check_ended(JOBS)
    figures = {
        "writes_per_job": round(written.objects / JOBS, 3),
        "events_per_job": round(written.events / JOBS, 3),
    }
    return Outcome(load="writes", figures=figures, rows=rows_of(written, JOBS))


def audit_log(stage: Stage) -> AuditLog:
    """The log of the stage's API server, from now on."""
    path = stage.cluster.audit_log
    if path is None:
        raise BenchError("the API server of this stage writes no audit log")
    return AuditLog(path)


def rows_of(written: Writes, jobs: int) -> list[Row]:
    """Totals, then ours by what was done, then everybody else's by user."""
    others = sum(written.others.values())
    by_user: Counter[str] = Counter()
    for (user, _, _), number in written.others.items():
        by_user[user] += number
    return [
        Row("our writes a job", f"{written.objects / jobs:.2f}", "Events and leases apart"),
        Row("our events a job", f"{written.events / jobs:.2f}"),
        Row("others' writes a job", f"{others / jobs:.2f}", "the submit too"),
        *(
            Row(f"  {verb} {what}", f"{number / jobs:.2f}", "ours")
            for (verb, what), number in written.ours.most_common()
        ),
        *(
            Row(f"  {verb} {what}", f"{number / jobs:.2f}", f"ours, refused with {code}")
            for (verb, what, code), number in written.refused.most_common()
        ),
        *(
            Row(f"  {user}", f"{number / jobs:.2f}", _most(written, user, jobs))
            for user, number in by_user.most_common()
        ),
    ]


def _most(written: Writes, user: str, jobs: int) -> str:
    """What a user wrote, most first; what happens less than once in ten jobs is left out."""
    done = {(verb, what): n for (who, verb, what), n in written.others.items() if who == user}
    return ", ".join(
        f"{verb} {what} {number / jobs:.1f}"
        for (verb, what), number in Counter(done).most_common()
        if number / jobs >= 0.1
    )
