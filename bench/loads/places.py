"""More jobs than there are places: how soon does the next start where one has ended?"""

from bench import meter
from bench.outcome import Outcome, Row
from bench.rush import rush
from bench.stage import Sizes, Stage
from bench.stats import p50_p99, to_next_release, to_own_release

JOBS = 600
PLACES = 100
RUN_FOR = "1s"


async def run(stage: Stage, sizes: Sizes) -> Outcome:
    """600 jobs of one second into 100 places."""
    stage.make_quota(PLACES)
    bodies = stage.jobs(JOBS, RUN_FOR)
    before = meter.cpu_seconds(stage.processes)
    course = await rush(stage, bodies)
    cpu = meter.spent(before, meter.cpu_seconds(stage.processes))
    following = p50_p99(to_next_release(course.completed, course.released))
    own = p50_p99(to_own_release(course.completed, course.released, PLACES))
    wall = course.completed[-1]
    figures = {
        "release_latency_ms": following,
        "release_latency_own_place_ms": own,
        "places_wall_seconds": round(wall, 2),
    }
    manager = cpu[stage.manager.name]
    rows = [
        Row("wall time", f"{wall:.1f} s", f"{JOBS} jobs of {RUN_FOR} into {PLACES} places"),
        Row("release latency p50", f"{following['p50']:.1f} ms", "completion to the next release"),
        Row("release latency p99", f"{following['p99']:.1f} ms", ""),
        Row("own place p50", f"{own['p50']:.1f} ms", "n-th completion to (100 + n)-th release"),
        Row("own place p99", f"{own['p99']:.1f} ms", "below 0: released before Complete was seen"),
        Row("CPU manager", f"{manager:.2f} s", f"for all {JOBS} jobs"),
    ]
    return Outcome(load="places", figures=figures, rows=rows)
