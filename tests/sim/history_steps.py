"""Histories: what people do and what goes wrong, drawn from a seed, and written so one can read."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from history_kinds import CASES

from kq.core.kinds import JOB
from kq.sim.faults import Trouble

QUOTAS = {"root": 6, "a": 4, "b": 4, "apart": 2}
"""Names and their cpu; `a` and `b` are below `root`."""
MINIMA = {"a": 3, "b": 2}
"""The cpu that they may reclaim."""
PARENTS = {"a": "root", "b": "root"}
LEAVES = ("a", "b", "apart")
POLICIES = ("Priority", "Block", "Intelligent")
RECLAIMS = ("Never", "LowerPriority", "Any")
OTHER = "other-"
"""How names of jobs of other kinds begin."""
OTHERS_SHARE = 0.2
"""Of histories that have jobs of other kinds: operators take their time."""
TROUBLES = tuple(each for each in Trouble if each is not Trouble.STALE)
"""No list of kq may be stale (test_sim_faults.py), so that one can never strike."""
BUSY_SECONDS = 45.0
"""Seconds in which things happen; then nothing does, and all has to come to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something that is done at a moment, in seconds from the beginning."""

    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit(Step):
    """A person submits a job of so many pods.

    What other kinds than Job ask for is settled, and stands as one pod here.
    """

    name: str
    kind: str = JOB.kind
    quota: str
    cpu: int
    pods: int
    seconds: float
    linger: float
    priority: int
    suspended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(Step):
    """A person deletes a job."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reorder(Step):
    """A person changes the priority of a job."""

    name: str
    priority: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Move(Step):
    """A person moves a job to another quota."""

    name: str
    quota: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deactivate(Step):
    """A person takes a job out of the queue, and puts it back after some seconds."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteUnit(Step):
    """A person deletes the unit of a job by hand."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(Step):
    """An administrator changes the limit of a quota."""

    quota: str
    cpu: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Govern(Step):
    """An administrator says how the Queue of a quota works."""

    quota: str
    policy: str
    threshold: int = 4
    max_depth: int = 0
    waits_for_pods: bool = False
    skips_impossible: bool = False
    preempts: bool = False
    reclaims: str = "Never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Step):
    """From now on this goes wrong, after so many requests that it spares."""

    trouble: Trouble
    spared: int
    times: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KillManager(Step):
    """The manager is killed; whoever looks after it starts another within seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseWebhook(Step):
    """The webhook is down for some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump(Step):
    """The clock of kq's node is put forward or back."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget(Step):
    """The API server forgets its history: every watch has to begin anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All steps in their order, and the seed of whatever else is left to chance."""

    seed: int
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        lines = "".join(f"\n  {each}," for each in self.steps)
        return f"History(seed={self.seed}, steps=({lines}\n))"


def draw(seed: int) -> History:
    """The history of a seed."""
    chance = Random(seed)
    names = [f"job-{number}" for number in range(chance.randint(4, 12))]
    steps: list[Step] = [
        *_rules(chance),
        *(_submit(chance, name) for name in names),
        *_others(chance, names),
        *_edits(chance, names),
        *_troubles(chance),
        *_mishaps(chance),
    ]
    # Pods of a TrainJob name no quota (spec 6.6): when it is gone, and its unit with it, a manager
    # that starts beside its last pods cannot know whose they are.
    unnamed = {each.name for each in steps if isinstance(each, Submit) and each.kind == "TrainJob"}
    kept = [each for each in steps if not (isinstance(each, Delete) and each.name in unnamed)]
    return History(seed=seed, steps=tuple(sorted(kept, key=lambda step: step.at)))


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
    for name in names:
        match chance.random():
            case luck if luck < 0.25:
                yield Delete(at=_moment(chance), name=name)
            case luck if luck < 0.32:
                yield Reorder(at=_moment(chance), name=name, priority=chance.randint(0, 9))
            case luck if luck < 0.40:
                yield Move(at=_moment(chance), name=name, quota=chance.choice(LEAVES))
            case luck if luck < 0.50:
                seconds = chance.uniform(0, 20)
                yield Deactivate(at=_moment(chance), name=name, seconds=seconds)
            case luck if luck < 0.58:
                yield DeleteUnit(at=_moment(chance), name=name)
    for quota in chance.sample(LEAVES, chance.randint(0, 2)):
        yield Limit(at=_moment(chance), quota=quota, cpu=chance.randint(4, 8))


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
