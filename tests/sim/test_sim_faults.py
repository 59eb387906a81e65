"""Each fault strikes when it is planned to, counts that it did, and two jobs still run in turn."""

from collections.abc import Iterator

import objects
import pytest
from reading import phase_of
from simulated_ground import SimulatedGround, simulated_ground
from world import World

from kq.core.kinds import ELASTIC_QUOTA, JOB, NAMESPACE
from kq.kube.errors import ApiError
from kq.kube.requests import Options, prepare
from kq.kube.requests import Verb as Asking
from kq.sim.faults import Asked, Faults, Matches, Trouble, asked_of, on
from kq.sim.faultywire import FaultyWire
from kq.sim.local import LocalTransport

NAME = "test-a"


@pytest.fixture
def ground() -> Iterator[SimulatedGround]:
    with simulated_ground() as ground:
        ground.create(NAMESPACE, {"metadata": {"name": NAME}})
        yield ground


@pytest.fixture
def world(ground: SimulatedGround) -> World:
    return World(ground=ground, namespace=NAME)


def submit_two(world: World) -> None:
    """Two jobs of which one fits."""
    a = world.quota("a", cpu=1)
    world.submit(
        world.manifest("first", a, cpu=1, run_for="1s"),
        world.manifest("second", a, cpu=1, run_for="1s"),
    )


def have_succeeded(world: World) -> bool:
    units = (world.seen_unit("first"), world.seen_unit("second"))
    return all(unit is not None and phase_of(unit) == "Succeed" for unit in units)


STRIKES = [
    (Trouble.SLOW, on("patch", "jobs"), 2),
    (Trouble.UNREACHABLE, on("patch", "jobs"), 2),
    (Trouble.UNSENT, on("patch", "queueunits", "status"), 2),
    (Trouble.BUSY, on("create", "queueunits"), 2),
    (Trouble.FAILED, on("patch", "queueunits", "status"), 2),
    (Trouble.CONFLICT, on("patch", "jobs"), 2),
    (Trouble.LOST, on("patch", "queueunits", "status"), 2),
    (Trouble.LOST, on("create", "queueunits"), 2),
    (Trouble.LATE, on("watch", "queueunits"), 2),
    (Trouble.DROPPED, on("watch", "jobs"), 2),
    (Trouble.STALLED, on("watch", "queueunits"), 1),
    (Trouble.EXPIRED, on("watch", "pods"), 2),
    (Trouble.GARBLED, on("watch", "pods"), 2),
    (Trouble.GARBLED, on("patch", "queueunits", "status"), 2),
]


@pytest.mark.parametrize(("trouble", "wanted", "times"), STRIKES)
def test_jobs_run_in_turn_whatever_strikes(
    ground: SimulatedGround, world: World, trouble: Trouble, wanted: Matches, times: int
) -> None:
    fault = ground.simulation.faults.plan(trouble, wanted, times=times)
    submit_two(world)
    # A watch that went silent is given up after 150 seconds.
    ground.until(lambda: have_succeeded(world), "both have succeeded", seconds=400.0)
    assert fault.struck == times
    assert ground.simulation.faults.met == {trouble: times}


def test_every_trouble_is_struck_by_somewhere_here() -> None:
    """The manager's death and the stale list have tests of their own."""
    assert {each[0] for each in STRIKES} | {Trouble.DEATH, Trouble.STALE} == set(Trouble)


def test_no_list_of_kq_may_be_answered_by_a_replica_that_is_behind(
    ground: SimulatedGround, world: World
) -> None:
    """Each is of the newest version, so nothing that was seen can be gone in it."""
    stale = ground.simulation.faults.plan(Trouble.STALE, times=10**6)
    seen = ground.simulation.faults.plan(Trouble.SLOW, lambda asked: asked.verb == "list", times=99)
    ground.run(ground.simulation.kill_manager())
    ground.run(ground.simulation.start_manager())
    submit_two(world)
    ground.until(lambda: have_succeeded(world), "both have succeeded")
    assert seen.struck >= 9
    assert stale.struck == 0


@pytest.mark.parametrize("code", [400, 401, 403, 404, 413, 422, 500, 502, 503, 504])
def test_a_request_may_be_refused_with_any_code(ground: SimulatedGround, code: int) -> None:
    faults = Faults()
    server = ground.simulation.server
    wire = FaultyWire(LocalTransport(server), faults=faults, version=lambda: 1, kill=lambda: None)
    faults.plan(Trouble.FAILED, code=code)
    with pytest.raises(ApiError) as refused:
        ground.run(wire.send(prepare(Asking.LIST, JOB, namespace=NAME), None, Options()))
    assert refused.value.code == code
    assert faults.met == {Trouble.FAILED: 1}


@pytest.mark.parametrize("spared", range(13))
def test_jobs_run_in_turn_at_whatever_write_the_manager_is_killed(
    ground: SimulatedGround, world: World, spared: int
) -> None:
    simulation = ground.simulation
    fault = simulation.faults.plan(Trouble.DEATH, spared=spared)
    manager = simulation.manager
    assert manager is not None
    a = world.name_of("a")
    body = objects.elastic_quota(a, NAME, {"cpu": 1})
    ground.create(ELASTIC_QUOTA, body)
    for name in ("first", "second"):
        world.job(name, a, cpu=1, run_for="1s")
    ground.until(lambda: manager.is_over, "the manager is dead")
    ground.run(simulation.start_manager())
    ground.until(lambda: have_succeeded(world), "both have succeeded")
    assert fault.struck == 1


def test_a_job_submitted_while_the_webhook_is_down_is_held_by_the_manager(
    ground: SimulatedGround, world: World
) -> None:
    a = world.quota("a", cpu=1)
    world.job("first", a, cpu=1)
    world.wait_granted("first")
    ground.run(ground.simulation.kill_webhook())
    world.job("second", a, cpu=1)
    world.wait_event("second", "SlippedThrough")
    world.wait_held("second")
    ground.run(ground.simulation.start_webhook())
    read = world.submit(world.manifest("third", a, cpu=1))
    assert f"held by koord-queue until quota {a} allows" in read


def test_a_fault_spares_as_many_as_it_is_told_and_then_strikes_in_a_row() -> None:
    faults = Faults()
    fault = faults.plan(Trouble.BUSY, on("patch", "jobs"), spared=2, times=2)
    patch = Asked(verb="patch", plural="jobs", namespace="a", name="b", subresource="")
    other = Asked(verb="get", plural="jobs", namespace="a", name="b", subresource="")
    struck = [bool(faults.strike(each, Trouble.BUSY)) for each in (patch, other) * 5]
    assert struck == [False] * 4 + [True, False] * 2 + [False, False]
    assert (fault.struck, faults.met) == (2, {Trouble.BUSY: 2})


@pytest.mark.parametrize(
    ("verb", "name", "subresource", "wanted"),
    [
        (Asking.LIST, None, None, ("list", "", "")),
        (Asking.WATCH, None, None, ("watch", "", "")),
        (Asking.GET, "b", None, ("get", "b", "")),
        (Asking.CREATE, None, None, ("create", "", "")),
        (Asking.MERGE_PATCH, "b", "status", ("patch", "b", "status")),
        (Asking.DELETE, "b", None, ("delete", "b", "")),
    ],
)
def test_a_request_is_known_by_its_verb_and_address(
    verb: Asking, name: str | None, subresource: str | None, wanted: tuple[str, str, str]
) -> None:
    query = {"watch": True} if verb is Asking.WATCH else None
    request = prepare(verb, JOB, name, "a", subresource=subresource, query=query)
    asked = asked_of(request)
    assert (asked.verb, asked.name, asked.subresource) == wanted
    assert (asked.plural, asked.namespace) == ("jobs", "a")


def test_only_a_list_that_takes_any_version_is_answered_by_a_replica_that_is_behind(
    ground: SimulatedGround, world: World
) -> None:
    world.submit(world.manifest("first", cpu=1, spec={"suspend": True}))
    server, faults = ground.simulation.server, Faults()
    wire = FaultyWire(
        LocalTransport(server),
        faults=faults,
        version=lambda: server.storage.version,
        kill=lambda: None,
    )
    faults.plan(Trouble.STALE, times=2, seconds=40)

    def listed(version: str) -> bool:
        query = {"resourceVersion": version} if version else None
        request = prepare(Asking.LIST, JOB, namespace=NAME, query=query)
        return b"first" in ground.run(wire.send(request, None, Options()))

    assert listed("")
    assert faults.met == {}
    assert not listed("0")
    assert faults.met == {Trouble.STALE: 1}
    faults.end()
    assert listed("0")
