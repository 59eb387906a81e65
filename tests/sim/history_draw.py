"""Draws histories: the same seed gives the same history."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from history_kinds import CASES
from history_quotas import LEAVES, MINIMA, POLICIES, QUOTAS, RECLAIMS, STOPS
from history_steps import (
    Bar,
    Deactivate,
    Delete,
    DeleteUnit,
    Drop,
    Forget,
    Govern,
    History,
    Jump,
    KillManager,
    Limit,
    LosePods,
    LoseWebhook,
    Move,
    Pause,
    Plan,
    Reorder,
    Step,
    Stop,
    Submit,
)

from kq.sim.faults import Trouble

OTHER = "other-"
"""How names of jobs of other kinds begin."""
OTHERS_SHARE = 0.2
"""Of histories that have jobs of other kinds: operators take their time."""
TROUBLES = tuple(each for each in Trouble if each is not Trouble.STALE)
"""No list of kq may be stale (test_sim_faults.py), so that one can never strike."""
BUSY_SECONDS = 45.0
"""Seconds in which things happen; then nothing does, and all has to come to its end."""


def draw(seed: int) -> History:
    """The history of a seed."""
    chance = Random(seed)
    names = [f"job-{number}" for number in range(chance.randint(4, 12))]
    steps: list[Step] = [
        *_rules(chance),
        *(_submit(chance, name) for name in names),
        *_others(chance, names),
        *_edits(chance, names),
        *_administration(chance),
        *_troubles(chance),
        *_mishaps(chance),
    ]
    return History(seed=seed, steps=tuple(sorted(steps, key=lambda step: step.at)))


def _submit(chance: Random, name: str) -> Submit:
    return Submit(
        at=_moment(chance, BUSY_SECONDS / 2),
        name=name,
        quota=chance.choice(("a", "a", "b", "apart")),
        cpu=chance.choice((1, 2, 2)),
        pods=chance.choice((1, 1, 2)),
        seconds=chance.choice((0, 2, 10, 20)),
        linger=chance.choice((0, 3, 12)),
        priority=chance.randint(0, 2),
        suspended=chance.random() < 0.3,
    )


def _rules(chance: Random) -> Iterator[Govern]:
    """How Queues work from the beginning, and sometimes otherwise later."""
    ruled, takes = chance.random() < 0.6, chance.random() < 0.35
    for quota in LEAVES if ruled or takes else ():
        moments = (0.0,) if chance.random() < 0.8 else (0.0, _moment(chance))
        for at in moments:
            yield _rule(chance, at, quota, takes)


def _rule(chance: Random, at: float, quota: str, takes: bool) -> Govern:
    return Govern(
        at=at,
        quota=quota,
        policy=chance.choice(POLICIES),
        threshold=chance.choice((1, 2, 4)),
        max_depth=chance.choice((0, 0, 0, 1, 2)),
        waits_for_pods=chance.random() < 0.2,
        skips_impossible=chance.random() < 0.3,
        preempts=takes and chance.random() < 0.7,
        reclaims=chance.choice(RECLAIMS) if takes and quota in MINIMA else "Never",
    )


def _others(chance: Random, names: list[str]) -> Iterator[Submit]:
    """Jobs of one or two other kinds, whose names it adds, in some histories."""
    if chance.random() > OTHERS_SHARE:
        return
    for kind in chance.choices(tuple(CASES), k=chance.choice((1, 1, 2))):
        names.append(f"{OTHER}{len(names)}")
        job = _submit(chance, names[-1])
        quota = chance.choice(("a", "b"))
        yield replace(job, kind=kind, quota=quota, cpu=CASES[kind].cpu, pods=1, suspended=False)


def _edits(chance: Random, names: list[str]) -> Iterator[Step]:
    """What is done to jobs: to some of them one thing after the other."""
    for name in names:
        for _ in range(chance.choice((1, 1, 1, 2))):
            yield from _edit(chance, name)


def _edit(chance: Random, name: str) -> Iterator[Step]:
    at, seconds = _moment(chance), chance.uniform(0, 20)
    match chance.random():
        case luck if luck < 0.22:
            yield Delete(at=at, name=name)
        case luck if luck < 0.29:
            yield Reorder(at=at, name=name, priority=chance.randint(0, 9))
        case luck if luck < 0.38:
            yield Move(at=at, name=name, quota=chance.choice(LEAVES))
        case luck if luck < 0.45:
            yield Deactivate(at=at, name=name, seconds=seconds)
        case luck if luck < 0.51:
            yield Pause(at=at, name=name, seconds=seconds)
        case luck if luck < 0.57:
            yield DeleteUnit(at=at, name=name)
        case luck if luck < 0.61:
            yield LosePods(at=at, name=name)


def _administration(chance: Random) -> Iterator[Step]:
    """What is done to quotas and Queues."""
    for quota in chance.sample(LEAVES, chance.randint(0, 2)):
        yield Limit(at=_moment(chance), quota=quota, cpu=chance.randint(4, 8))
    for _ in range(chance.choice((0, 0, 1, 2))):
        at, seconds = _moment(chance), chance.uniform(0, 20)
        match chance.random():
            case luck if luck < 0.45:
                quota, policy = chance.choice(LEAVES), chance.choice(STOPS)
                yield Stop(at=at, quota=quota, policy=policy, seconds=seconds)
            case luck if luck < 0.7:
                yield Bar(at=at, quota=chance.choice(LEAVES), seconds=seconds)
            case _:
                yield Drop(at=at, quota=chance.choice(tuple(QUOTAS)), seconds=seconds)


def _troubles(chance: Random) -> Iterator[Plan]:
    for _ in range(chance.randint(0, 8)):
        yield Plan(
            at=_moment(chance),
            trouble=chance.choice(TROUBLES),
            spared=chance.choice((0, 0, 1, 2, 5, 9)),
            times=chance.choice((1, 1, 1, 3)),
            seconds=chance.choice((0.05, 0.5, 3.0)),
        )


def _mishaps(chance: Random) -> Iterator[Step]:
    for _ in range(chance.choice((0, 0, 1, 2))):
        yield KillManager(at=_moment(chance))
    if chance.random() < 0.3:
        yield LoseWebhook(at=_moment(chance), seconds=chance.uniform(0, 10))
    if chance.random() < 0.2:
        yield Jump(at=_moment(chance), seconds=chance.choice((-90, -5, 5, 90)))
    if chance.random() < 0.3:
        yield Forget(at=_moment(chance))


def _moment(chance: Random, latest: float = BUSY_SECONDS) -> float:
    # Much of what is interesting happens when several things do at once.
    return round(chance.uniform(0, latest), chance.choice((0, 0, 1, 3)))
