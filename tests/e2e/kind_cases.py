"""What differs between job kinds as far as persons and operators see it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from ground import Object
from reading import condition_of

from kq.core import keys
from kq.core.kinds import ResourceKind

Needed = tuple[ResourceKind, Object]
"""Something that has to be there before a job, and its kind."""
Check = Callable[[Object], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """How the pods of a job are played: those that decide when it ends, and all of them."""

    run_for: str = "forever"
    linger_for: str = "0s"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCase:
    """One kind: a job of it, and what is seen of such a job."""

    kind: ResourceKind
    operators: Sequence[str]
    """Those that have to work, as the mark `operators` names them."""
    suffix: str
    """What the name of its unit has beside that of the job."""
    manifest: Callable[[str, Played], Object]
    """A job as a person writes it who knows nothing of a queue: spec, kind, name."""
    pods: int
    cpu: int
    """What all of its pods ask for together."""
    pod_sets: Sequence[tuple[str, int]]
    """As its unit has them, with their counts."""
    is_held: Callable[[Object], bool]
    is_noticed: Check
    """Whether its operator has seen that it is held."""
    is_ended: Check | None
    """Whether it has succeeded by its operator's word; None if such jobs never end."""
    suspension: Mapping[str, Any]
    """The patch by which a person suspends it."""
    set_by_us: Sequence[tuple[str, ...]] = (("spec", "suspend"), ("spec", "runPolicy", "suspend"))
    """Where we write in its spec."""
    shown: str = ""
    """What `kubectl get` shows of one that waits."""
    evictable: bool = True
    needs: Callable[[str, Played], Sequence[Needed]] = field(default=lambda name, played: ())
    """What a job of that name and play needs; in the job's namespace."""

    @property
    def id(self) -> str:
        """The kind, and its version where there are several."""
        return f"{self.kind.kind}-{self.kind.version}"


def of_kinds(cases: Sequence[KindCase]) -> pytest.MarkDecorator:
    """Runs a scenario for each of these kinds, beside their operators."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(each, id=each.id, marks=pytest.mark.operators(*each.operators))
            for each in cases
        ],
    )


def has(condition: str) -> Check:
    """Whether a condition is True."""
    return lambda job: condition_of(job, condition)


def spec_suspends(job: Object) -> bool:
    """`spec.suspend`, as most kinds have it."""
    return job["spec"].get("suspend") is True


def policy_suspends(job: Object) -> bool:
    """`spec.runPolicy.suspend`, as the training and MPI operators have it, and the annotation."""
    suspended = job["spec"].get("runPolicy", {}).get("suspend") is True
    told = job["metadata"].get("annotations", {}).get(keys.SUSPEND)
    return suspended or ("suspend" not in job["spec"].get("runPolicy", {}) and told == "true")
