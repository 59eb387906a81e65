"""Jobs of one pod that ends at once, submitted into a free quota; and without any queue."""

from collections.abc import Mapping

from bench import meter
from bench.meter import LOAD
from bench.outcome import Outcome, Row
from bench.progress import pause
from bench.rush import LIMIT_SECONDS, Course, rush
from bench.stage import Sizes, Stage

SETTLE_SECONDS = 5.0
"""How long processor time is counted after the last completion: what is still to be written."""

SECONDS_A_JOB = 0.3
"""What is waited for at most, where that is longer than the limit of every rush."""

MACHINE = "all processes, the load generator's too"


async def with_queue(stage: Stage, sizes: Sizes) -> Outcome:
    """The burst through the queue."""
    jobs = sizes.jobs
    stage.make_quota(jobs)
    course, cpu = await _burst(stage, jobs)
    stage.check_ended(jobs)
    parts = stage.parts
    per_1000 = {name: seconds * 1000 / jobs for name, seconds in cpu.items()}
    machine = sum(per_1000.values())
    rss = {role: meter.peak_megabytes(process) for role, process in parts.items()}
    rate = jobs / course.released[-1]
    figures = {
        "released_per_second": round(rate, 1),
        "burst_seconds_to_last_completion": round(course.completed[-1], 2),
        "cpu_seconds_per_1000": {
            **{role: round(per_1000[process.name], 2) for role, process in parts.items()},
            "apiserver": round(per_1000["kube-apiserver"], 2),
            "machine": round(machine, 2),
        },
        "rss_mb": {name: round(megabytes, 1) for name, megabytes in rss.items()},
    }
    submits = f"{jobs} jobs, submitted in {course.submitted:.1f} s"
    rows = [
        Row("released a second", f"{rate:.0f}", submits),
        Row("last release", f"{course.released[-1]:.1f} s", "from the first create"),
        Row("last completion", f"{course.completed[-1]:.1f} s", "from the first create"),
        *cpu_rows(per_1000),
        *(Row(f"RSS {name}", f"{size:.0f} MB", "at its peak") for name, size in rss.items()),
    ]
    return Outcome(load="burst", figures=figures, rows=rows)


async def without_queue(stage: Stage, sizes: Sizes) -> Outcome:
    """The same on a control plane that has no queue: nobody holds a job."""
    jobs = sizes.jobs
    course, cpu = await _burst(stage, jobs)
    per_1000 = {name: seconds * 1000 / jobs for name, seconds in cpu.items()}
    figures = {
        "cpu_seconds_per_1000": {
            "apiserver_without_queue": round(per_1000["kube-apiserver"], 2),
            "machine_without_queue": round(sum(per_1000.values()), 2),
        }
    }
    rows = [
        Row(
            "last completion",
            f"{course.completed[-1]:.1f} s",
            f"{jobs} jobs, submitted in {course.submitted:.1f} s",
        ),
        *cpu_rows(per_1000),
    ]
    return Outcome(load="no queue", figures=figures, rows=rows)


async def _burst(stage: Stage, jobs: int) -> tuple[Course, dict[str, float]]:
    """The course of the burst, and processor time by process until it has settled."""
    bodies = stage.jobs(jobs, "0s")
    before = meter.cpu_seconds(stage.processes)
    course = await rush(stage, bodies, max(LIMIT_SECONDS, jobs * SECONDS_A_JOB))
    await pause(SETTLE_SECONDS, stage.check)
    return course, meter.spent(before, meter.cpu_seconds(stage.processes))


def cpu_rows(per_1000: Mapping[str, float]) -> list[Row]:
    """Processor time of each process, and of all."""
    whole = sum(per_1000.values())
    rows = [
        Row(f"CPU {name}", f"{seconds:.2f} s", "ours: submits and watches" if name == LOAD else "")
        for name, seconds in per_1000.items()
    ]
    remark = f"{MACHINE}; to {SETTLE_SECONDS:.0f} s after the end; all CPU rows per 1,000 jobs"
    return [*rows, Row("CPU machine", f"{whole:.1f} s", remark)]
