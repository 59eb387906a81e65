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
    strict: bool = False


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
    """How long its pods run."""
    pods: int = 1
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


TEAMS = (Quota(name="vision", limit=8), Quota(name="speech", limit=6, strict=True))
OUTAGE = Outage(begin=34, end=54)
ROLES = (
    Role(at=0, team="vision", name="resnet", gpus=2, pods=2, seconds=60),
    Role(at=4, team="vision", name="segment", gpus=6, seconds=40),
    Role(at=8, team="speech", name="whisper", gpus=4, seconds=60, kind="PyTorchJob"),
    Role(at=12, team="speech", name="diarize", gpus=6, seconds=30),
    Role(at=16, team="speech", name="accents", gpus=1, seconds=20),
    Role(at=20, team="vision", name="thumbs", gpus=2, seconds=25, kind="TFJob"),
    Role(at=24, team="vision", name="captions", gpus=2, seconds=30, kind="Workflow"),
    Role(at=28, team="vision", name="deadline", gpus=4, seconds=25, priority=100),
    Role(at=38, team="speech", name="dialects", gpus=2, seconds=20),
)
"""The story: each of them waits for another reason, or goes before others for one."""

NAMES = {
    "vision": ("crops", "depth", "masks", "ocr", "poses", "tiles"),
    "speech": ("denoise", "phones", "pitch", "topics", "voices"),
}
SPREAD = 0.1
"""By what part of it a run time is drawn longer or shorter."""
IMPORTANT = 0.1
"""How many of the drawn jobs have a high priority."""


def cast_of(jobs: int, chance: Random) -> Cast:
    """So many jobs: the story first, then drawn ones; run times are drawn too."""
    story = [replace(each, seconds=_drawn_near(each.seconds, chance)) for each in ROLES[:jobs]]
    drawn = _drawn_roles(jobs - len(story), chance)
    return Cast(lab=Quota(name=LAB, limit=10), teams=TEAMS, roles=(*story, *drawn), outage=OUTAGE)


def _drawn_roles(count: int, chance: Random) -> Iterator[Role]:
    at = ROLES[-1].at
    for number in range(1, count + 1):
        at += chance.randint(1, 8)
        team = chance.choice(TEAMS)
        yield Role(
            at=at,
            team=team.name,
            name=f"{chance.choice(NAMES[team.name])}-{number}",
            gpus=chance.choice((1, 1, 2, 2, 3)),
            pods=chance.choice((1, 1, 1, 2)),
            seconds=chance.randint(10, 40),
            priority=100 if chance.random() < IMPORTANT else 0,
        )


def _drawn_near(seconds: int, chance: Random) -> int:
    return round(seconds * chance.uniform(1 - SPREAD, 1 + SPREAD))
