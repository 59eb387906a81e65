"""Histories: what people do and what goes wrong, written so that one can read them."""

from dataclasses import dataclass, replace

from kq.core.kinds import JOB
from kq.sim.faults import Trouble


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
    """A person takes a job out of the queue by its annotation, and back after some seconds."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(Step):
    """An administrator takes a unit out of the queue, and puts it back after some seconds."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteUnit(Step):
    """A person deletes the unit of a job by hand."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LosePods(Step):
    """The node is lost on which all pods of a job are: they are gone at once."""

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
class Stop(Step):
    """An administrator stops the Queue of a quota in one of two ways, for some seconds."""

    quota: str
    policy: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar(Step):
    """An administrator allows a quota to other namespaces alone, for some seconds."""

    quota: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop(Step):
    """An administrator deletes a quota, and makes it anew after some seconds."""

    quota: str
    seconds: float


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


MISHAPS = (Plan, KillManager, Jump, Forget)
"""Steps after which the end is to be as if they had not been."""
EDITS = (Reorder, Move, Deactivate, Pause, DeleteUnit, LosePods)
"""Steps that are done to one job, and leave it there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All steps in their order, and the seed of whatever else is left to chance."""

    seed: int
    steps: tuple[Step, ...]

    @property
    def has_deaths(self) -> bool:
        """Whether a manager is meant to die in it."""
        return any(
            isinstance(each, KillManager)
            or (isinstance(each, Plan) and each.trouble is Trouble.DEATH)
            for each in self.steps
        )

    @property
    def undisturbed(self) -> "History":
        """The same as persons know it: nothing fails, nobody dies."""
        kept = tuple(each for each in self.steps if not isinstance(each, MISHAPS))
        return replace(self, steps=kept)

    def __str__(self) -> str:
        lines = "".join(f"\n  {each}," for each in self.steps)
        return f"History(seed={self.seed}, steps=({lines}\n))"
