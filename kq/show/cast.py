"""Who plays: teams with their quotas, and the jobs that they submit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

LAB = "lab"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A limit in GPUs; a strict one lets nobody overtake (policy Block)."""

    name: str
    limit: int
    owed: int = 0
    """So many it takes back from the others, if they use more than what they are owed."""
    strict: bool = False
    preempts: bool = False
    """Whether its important jobs take the place of less important ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One job: who submits it when, and what it asks for."""

    at: float
    """Seconds after the start of the show."""
    team: str
    name: str
    gpus: int
    """Of each pod."""
    seconds: int
    """How long it runs."""
    pods: int = 1
    """That have GPUs."""
    priority: int = 0
    kind: str = "Job"

    @property
    def total(self) -> int:
        """GPUs of all its pods."""
        return self.gpus * self.pods


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """When kq's manager is killed, and when it is started again."""

    begin: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """All of a show: one quota over those of the teams, jobs by time of submit, an outage."""

    lab: Quota
    teams: Sequence[Quota]
    roles: Sequence[Role]
    outage: Outage

    @property
    def limits(self) -> Mapping[str, int]:
        """GPUs by the name of the quota."""
        return {each.name: each.limit for each in (*self.teams, self.lab)}


TEAMS = (
    Quota(name="vision", limit=8, owed=4, preempts=True),
    Quota(name="speech", limit=6, owed=4, strict=True),
    Quota(name="text", limit=6, owed=4),
)
OUTAGE = Outage(begin=30, end=44)
USUAL, RAISED, URGENT = 0, 10, 100
"""Priorities."""
ROLES = (
    Role(
        at=0,
        team="vision",
        name="resnet",
        gpus=2,
        pods=2,
        seconds=60,
        kind="PyTorchJob",
        priority=RAISED,
    ),
    Role(at=3, team="vision", name="crops", gpus=2, pods=2, seconds=45, priority=RAISED),
    Role(at=6, team="speech", name="whisper", gpus=2, pods=2, seconds=70, kind="MPIJob"),
    Role(at=9, team="text", name="gpt", gpus=2, pods=2, seconds=60, kind="TrainJob"),
    Role(at=14, team="vision", name="segment", gpus=3, pods=2, seconds=30, kind="JobSet"),
    Role(at=17, team="speech", name="diarize", gpus=3, pods=2, seconds=30, kind="XGBoostJob"),
    Role(at=20, team="speech", name="accents", gpus=1, seconds=20, kind="PaddleJob"),
    Role(at=24, team="vision", name="urgent", gpus=4, seconds=30, kind="RayJob", priority=URGENT),
    Role(at=36, team="text", name="tokens", gpus=1, pods=2, seconds=25, kind="SparkApplication"),
    Role(at=50, team="vision", name="thumbs", gpus=2, seconds=20, kind="TFJob"),
    Role(at=56, team="text", name="sandbox", gpus=1, seconds=40, kind="RayCluster"),
    Role(
        at=60, team="vision", name="caption", gpus=2, seconds=25, kind="Workflow", priority=RAISED
    ),
)
"""The story: every kind once. Each waits for another reason, or goes before others for one: gpt has
crops stopped, as its team is owed that much; urgent has resnet stopped, as it is more important."""

NAMES = {
    "vision": ("depth", "masks", "ocr", "poses", "tiles"),
    "speech": ("noise", "phone", "pitch", "topic", "vocal"),
    "text": ("chat", "dedup", "embed", "rank", "spell"),
}
SPREAD = 0.1
"""By what part of it a run time is drawn longer or shorter."""
PRIORITIES = (*[USUAL] * 7, RAISED, RAISED, URGENT)
"""Of the drawn jobs, each as often as it stands here."""
OF_ONE_POD = ("Workflow",)


def cast_of(jobs: int, chance: Random) -> Cast:
    """So many jobs: the story first, then drawn ones; run times are drawn too."""
    story = [replace(each, seconds=_drawn_near(each.seconds, chance)) for each in ROLES[:jobs]]
    drawn = _drawn_roles(jobs - len(story), chance)
    return Cast(lab=Quota(name=LAB, limit=12), teams=TEAMS, roles=(*story, *drawn), outage=OUTAGE)


def _drawn_roles(count: int, chance: Random) -> Iterator[Role]:
    at = ROLES[-1].at
    kinds = sorted({each.kind for each in ROLES})
    for number in range(1, count + 1):
        at += chance.randint(1, 8)
        team, kind = chance.choice(TEAMS), chance.choice(kinds)
        yield Role(
            at=at,
            team=team.name,
            name=f"{chance.choice(NAMES[team.name])}-{number}",
            gpus=chance.choice((1, 1, 2, 2, 3)),
            pods=1 if kind in OF_ONE_POD else chance.choice((1, 1, 1, 2)),
            seconds=chance.randint(10, 40),
            priority=chance.choice(PRIORITIES),
            kind=kind,
        )


def _drawn_near(seconds: int, chance: Random) -> int:
    return round(seconds * chance.uniform(1 - SPREAD, 1 + SPREAD))
