"""The stage of the cases on the simulated cluster: kq at work, and an onlooker who adds up."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from history_onlooker import Onlooker
from reading import is_suspended, message_of, phase_of
from simulated_ground import SimulatedGround, simulated_ground
from structlog.testing import capture_logs
from world import World

from kq.core.kinds import JOB, NAMESPACE, QUEUE, QUEUE_UNIT, ResourceKind
from kq.sim.api.storage import Storage
from kq.sim.faults import Asked, Fault, Faults, Matches, Trouble, any_write
from kq.sim.world import Simulation, Terms

Object = dict[str, Any]
TEAM = "team-a"
SETTLED = 20.0
"""Virtual seconds in which whatever is to be written is written."""
LOOK_SECONDS = 0.25
ALWAYS = 10**6
WATCHED = (
    "jobs",
    "pods",
    "queueunits",
    "queues",
    "elasticquotas",
    "namespaces",
    "priorityclasses",
    "limitranges",
    "runtimeclasses",
)
"""What the manager watches; the webhook watches namespaces and quotas too."""
OURS = ("jobs", "queueunits", "queues")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A cluster of one team, on which kq is at work."""

    ground: SimulatedGround
    world: World
    onlooker: Onlooker
    heard: list[Asked]
    """Every request of kq, in order."""
    logs: list[Any]
    planned: list[Fault] = field(default_factory=list)

    @property
    def simulation(self) -> Simulation:
        return self.ground.simulation

    @property
    def storage(self) -> Storage:
        return self.simulation.server.storage

    @property
    def faults(self) -> Faults:
        return self.simulation.faults

    @property
    def now(self) -> float:
        return self.ground.loop.time()

    # what goes wrong

    def plan(self, trouble: Trouble, on: Matches | None = None, **how: Any) -> Fault:
        """Plans a fault which has to strike before the case is over."""
        fault = self.faults.plan(trouble, on, **how)
        self.planned.append(fault)
        return fault

    def meanwhile(self, on: Matches, act: Callable[[Asked], None], *, times: int = 1) -> list[int]:
        """Has somebody act just before such requests are served; how often so far is its length."""
        done: list[int] = []

        def strikes(asked: Asked) -> bool:
            if len(done) < times and on(asked):
                done.append(len(done))
                act(asked)
            return False

        self.faults.plan(Trouble.SLOW, strikes)
        return done

    # time

    def passes(self, seconds: float = SETTLED) -> None:
        """So many seconds later."""
        self.ground.run(asyncio.sleep(seconds))

    def until(self, holds: Callable[[], Any], what: str, seconds: float = 60.0) -> float:
        """How long it takes until that holds."""
        begin = self.now
        while not holds():
            if self.now > begin + seconds:
                raise AssertionError(f"not within {seconds:.0f} s: {what}")
            self.passes(LOOK_SECONDS)
        return self.now - begin

    # what kq did

    def asked(self, verb: str, plural: str = "", name: str = "") -> list[Asked]:
        """Requests of that verb so far, perhaps for one kind or one object only."""
        return [
            each
            for each in self.heard
            if each.verb == verb
            and plural in ("", each.plural)
            and name in ("", each.name)
            and each.plural != "events"
        ]

    def writes(self) -> list[Asked]:
        """Every write so far but those of Events."""
        return [each for each in self.heard if any_write(each)]

    def sorts(self) -> Counter[str]:
        """How many writes of which sort there were."""
        return Counter(sort_of(each) for each in self.writes())

    # what is there

    def phases(self) -> dict[str, str]:
        """The phase of each unit, by name."""
        return {each["metadata"]["name"]: phase_of(each) for each in self.all(QUEUE_UNIT)}

    def all(self, kind: ResourceKind) -> list[Object]:
        return self.ground.items(kind, "" if kind is QUEUE else TEAM)

    def message(self, name: str) -> str:
        unit = self.world.seen_unit(name)
        return message_of(unit) if unit else ""

    def outcome(self) -> Object:
        """What is to be the same, whatever went wrong on the way."""
        units = {each["metadata"]["name"]: each for each in self.all(QUEUE_UNIT)}
        jobs = {each["metadata"]["name"]: each for each in self.all(JOB)}
        return {
            "units": {
                name: (
                    phase_of(each),
                    message_of(each),
                    each["spec"].get("active"),
                    each["spec"].get("priority"),
                    each["status"].get("attempts", 0),
                    sum(part["replicas"] for part in each["status"].get("admissions") or ()),
                )
                for name, each in units.items()
            },
            "owners": {
                name: each["spec"]["consumerRef"]["uid"]
                == jobs.get(name, {}).get("metadata", {}).get("uid")
                for name, each in units.items()
            },
            "held": {name: is_suspended(each) for name, each in jobs.items()},
            "queues": {
                each["metadata"]["name"]: (
                    each["spec"].get("queuePolicy"),
                    each.get("status", {}).get("usage"),
                    each.get("status", {}).get("pendingUnits", 0),
                    each.get("status", {}).get("admittedUnits", 0),
                )
                for each in self.all(QUEUE)
            },
        }

    def surprises(self) -> list[Any]:
        """What must not be in the log, whatever happens."""
        return [
            each
            for each in self.logs
            if each["log_level"] == "critical"
            or "unexpectedly" in each["event"]
            or "handler failed" in each["event"]
        ]


@contextmanager
def on_stage(seed: int = 1, terms: Terms | None = None) -> Iterator[Case]:
    """A case; at its end all that was planned has struck, and no quota was ever exceeded."""
    random.seed(seed)  # informers take their jitter from the module
    with capture_logs() as logs, simulated_ground(seed, terms) as ground:
        heard: list[Asked] = []

        def hears(asked: Asked) -> bool:
            heard.append(asked)
            return False

        ground.simulation.faults.plan(Trouble.SLOW, hears)
        onlooker = Onlooker(ground.simulation.server.storage, ground.loop.time)
        ground.create(NAMESPACE, {"metadata": {"name": TEAM}})
        case = Case(
            ground=ground,
            world=World(ground=ground, namespace=TEAM),
            onlooker=onlooker,
            heard=heard,
            logs=logs,
        )
        yield case
        assert [each.trouble for each in case.planned if not each.struck] == []
        assert onlooker.wrongs == []
        assert case.surprises() == []


def sort_of(asked: Asked) -> str:
    """`patch queueunits/status`."""
    part = f"/{asked.subresource}" if asked.subresource else ""
    return f"{asked.verb} {asked.plural}{part}"
