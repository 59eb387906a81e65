"""Jobs that go, come again or end while kq writes, on the simulated cluster: I2, I6, G3."""

import asyncio
from collections.abc import Callable
from typing import Any

import kind_cases_data as data
import kind_cases_kubeflow as kubeflow
import msgspec
import pytest
from case_plays import KINDS
from ground import path
from kind_cases import KindCase
from kind_world import KindWorld
from reading import phase_of
from sim_case import TEAM, Case
from simulated_ground import MERGE
from test_sim_case_kinds import stage_of

from kq.core.kinds import POD
from kq.sim.api.call import Request
from kq.sim.faults import Asked

KEEPS_FINALIZER = (data.RAY_JOB,)
"""They are gone only when their operator has seen it: too late to come again meanwhile."""


class Waiting:
    """A job of the kind that is about to be granted, and another one behind it."""

    def __init__(self, case: Case, kind: KindCase) -> None:
        self.case, self.kind = case, kind
        self.jobs = KindWorld.of(case.world, kind)
        self.codes: list[int] = []
        self.quota = case.world.quota("a", cpu=kind.cpu)
        case.world.job("holds", self.quota, cpu=kind.cpu)
        case.world.wait_phase("holds", "Running")
        self.jobs.submit("first", self.quota)
        self.unit = self.jobs.unit("first")
        case.world.wait_phase(self.unit, "Enqueued")
        case.passes(3)
        case.world.job("next", self.quota, cpu=kind.cpu)
        case.passes(2)
        self.released = len(self.releases())

    def releases(self) -> list[Asked]:
        asked = self.case.asked("patch", self.kind.kind.plural, "first")
        return [each for each in asked if not each.subresource]

    def is_grant(self, asked: Asked) -> bool:
        return self.is_status(asked) and len(self.releases()) == self.released

    def is_release(self, asked: Asked) -> bool:
        of_kind = asked.plural == self.kind.kind.plural and asked.name == "first"
        return asked.verb == "patch" and of_kind and not asked.subresource

    def is_told_running(self, asked: Asked) -> bool:
        return self.is_status(asked) and len(self.releases()) > self.released

    def is_status(self, asked: Asked) -> bool:
        where = (asked.verb, asked.plural, asked.subresource, asked.name)
        return where == ("patch", "queueunits", "status", self.unit)

    def somebody(self, *steps: tuple[str, str, Any]) -> Callable[[Asked], None]:
        """Somebody else is quicker with that."""

        async def acts() -> None:
            for method, where, body in steps:
                patches = method == "PATCH"
                request = Request(
                    method=method,
                    path=where,
                    query={},
                    body=msgspec.json.encode(body),
                    content_type=MERGE if patches else "application/json",
                )
                answer = await self.case.simulation.server.serve(request)
                self.codes.append(answer.code)

        tasks: set[asyncio.Task[None]] = set()

        def strikes(asked: Asked) -> None:
            task = asyncio.get_running_loop().create_task(acts())
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        return strikes

    def let_it_start(self) -> None:
        self.case.world.delete_job("holds")
        self.case.passes(25)


WHEN = [
    pytest.param(Waiting.is_grant, id="before the grant"),
    pytest.param(Waiting.is_release, id="before the release"),
    pytest.param(Waiting.is_told_running, id="after the release"),
]
of_every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)


@of_every_kind
@pytest.mark.parametrize("when", WHEN)
def test_i2_a_job_deleted_on_its_way_gives_its_quota_to_the_next(
    kind: KindCase, when: Callable[[Waiting, Asked], bool]
) -> None:
    """Case I2: before, in the midst of, and after the write that lets it run."""
    with stage_of(kind) as case:
        waiting = Waiting(case, kind)
        gone = ("DELETE", path(kind.kind, TEAM, "first"), {"propagationPolicy": "Background"})
        done = case.meanwhile(lambda asked: when(waiting, asked), waiting.somebody(gone))
        waiting.let_it_start()
        assert len(done) == 1
        assert case.phases() == {"next": "Running"}
        assert waiting.jobs.seen("first") is None
        assert waiting.jobs.pods("first") == []
        usage = case.world.queue(waiting.quota)["status"]["usage"]
        assert usage == {"cpu": str(kind.cpu)}


AGAIN = tuple(each for each in KINDS if each not in KEEPS_FINALIZER)


@pytest.mark.parametrize("kind", AGAIN, ids=lambda kind: kind.id)
@pytest.mark.parametrize("when", WHEN)
def test_i6_a_job_made_again_on_its_way_is_queued_from_scratch(
    kind: KindCase, when: Callable[[Waiting, Asked], bool]
) -> None:
    """Case I6: what was decided for the old one lets the new one not run."""
    with stage_of(kind) as case:
        waiting = Waiting(case, kind)
        old = waiting.jobs.wait("first", bool)["metadata"]["uid"]
        again = [
            ("DELETE", path(kind.kind, TEAM, "first"), {"propagationPolicy": "Background"}),
            ("POST", path(kind.kind, TEAM), waiting.jobs.manifest("first", waiting.quota)),
        ]
        case.meanwhile(lambda asked: when(waiting, asked), waiting.somebody(*again))
        waiting.let_it_start()
        assert waiting.codes == [200, 201]
        job = waiting.jobs.wait("first", kind.is_held)
        assert job["metadata"]["uid"] != old
        assert case.phases() == {waiting.unit: "Enqueued", "next": "Running"}
        unit = case.world.unit(waiting.unit)
        assert unit["spec"]["consumerRef"]["uid"] == job["metadata"]["uid"]
        assert unit["status"].get("attempts", 0) == 0
        assert [each for each in case.ground.items(POD, TEAM) if "first" in str(each)] == []


STAMP = "2026-03-01T12:30:01Z"
FAILED = {
    "type": "Failed",
    "status": "True",
    "reason": "x",
    "message": "x",
    "lastTransitionTime": STAMP,
    "lastUpdateTime": STAMP,
}
ENDS = [
    pytest.param(kubeflow.TF_JOB, {"conditions": [FAILED]}, "/status", id="TFJob"),
    pytest.param(kubeflow.MPI_JOB, {"conditions": [FAILED]}, "/status", id="MPIJob"),
    pytest.param(data.RAY_JOB, {"jobDeploymentStatus": "ValidationFailed"}, "/status", id="RayJob"),
    pytest.param(data.WORKFLOW, {"phase": "Error"}, "", id="Workflow"),
]


@pytest.mark.parametrize(("kind", "status", "part"), ENDS)
def test_g3_a_job_that_ends_while_it_is_granted_stays_ended(
    kind: KindCase, status: dict[str, Any], part: str
) -> None:
    """Case G3: not queued again, and its grant is the next one's."""
    with stage_of(kind) as case:
        waiting = Waiting(case, kind)
        ends = ("PATCH", path(kind.kind, TEAM, "first") + part, {"status": status})
        case.meanwhile(waiting.is_grant, waiting.somebody(ends))
        waiting.let_it_start()
        assert waiting.codes == [200]
        assert case.phases() == {waiting.unit: "Failed", "next": "Running"}
        case.passes(120)
        unit = case.world.unit(waiting.unit)
        assert phase_of(unit) == "Failed"
        assert not unit["status"]["admissions"]
        assert waiting.jobs.pods("first") == []
