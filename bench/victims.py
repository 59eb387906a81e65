"""How long the choice of victims takes: PYTHONPATH=tests:. python -m bench.victims."""

import sys
import time
from collections.abc import Callable, Sized
from functools import partial
from random import Random

from bench.progress import tell
from kq.core.plugins import Level
from kq.core.resources import Resources
from kq.decide.reclaim import Reclaim, reclaimed
from kq.decide.usage import UsageIndex
from kq.decide.victims import Claimant, Holder, preempted, rank

RUNNING = 10_000
QUOTAS = 20
ROUNDS = 5
POOL = 4_000_000


def main() -> int:
    """Tells the median of each choice, of many units among which nearly all must go."""
    random = Random(1)  # noqa: S311 - units that are the same at each run
    top = Level("top", Resources.of({"cpu": POOL, "memory": POOL}), Resources.of({}))
    names = [f"quota-{number}" for number in range(QUOTAS)]
    some = Resources.of({"cpu": POOL // QUOTAS // 2, "memory": POOL // QUOTAS // 2})
    chains = {name: (Level(name, Resources.of({}), some), top) for name in names}
    usage = UsageIndex(lambda quota: [each.name for each in chains[quota]])
    holders = [_holder(random, number, names[number % (QUOTAS - 1)]) for number in range(RUNNING)]
    holders.sort(key=rank)
    for each in holders:
        usage.charge(each.key, each.quota, each.charge)
    for share in (0.01, 0.04):
        claimant = Claimant(
            queue="queue",
            chain=chains[names[-1]],
            priority=100,
            request=Resources.of({"cpu": int(POOL * share) // 2, "memory": int(POOL * share) // 2}),
        )
        _measure(
            f"preemption of {share:.0%}",
            partial(preempted, claimant, holders, _used(usage), chains.__getitem__),
        )
        _measure(
            f"reclaim of {share:.0%}",
            partial(reclaimed, claimant, holders, _used(usage), chains.__getitem__, Reclaim.LOWER),
        )
    return 0


def _holder(random: Random, number: int, quota: str) -> Holder:
    return Holder(
        key=f"team/job-{number}",
        queue="queue",
        quota=quota,
        priority=random.randrange(100),
        allocated=random.random(),
        charge=Resources.of(
            {"cpu": POOL // RUNNING, "memory": random.randrange(1, POOL // RUNNING * 2)}
        ),
    )


def _used(usage: UsageIndex) -> Callable[[str, str], int]:
    return lambda level, resource: usage.of(level).get(resource, 0)


def _measure(what: str, choose: Callable[[], Sized]) -> None:
    seconds: list[float] = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        found = choose()
        seconds.append(time.perf_counter() - started)
    median = sorted(seconds)[ROUNDS // 2] * 1000
    tell(f"{what} among {RUNNING} units: {len(found)} victims in {median:.1f} ms")


if __name__ == "__main__":
    sys.exit(main())
