"""In process kq's requests wait, and are tried again, as over its own transport."""

import asyncio

import pytest
from simulation import START, WIDGET, Sim, seen

from kq.core.kinds import CONFIG_MAP
from kq.kube.client import Client
from kq.kube.connection import Connection
from kq.kube.errors import ApiError, Conflict, Indeterminate, TooManyRequests
from kq.kube.informer import Informer
from kq.kube.lane import TRIES, Lane
from kq.kube.requests import Options, Verb, prepare
from kq.kube.transport import Wire
from kq.sim.faults import Faults, Trouble, on
from kq.sim.faultywire import FaultyWire
from kq.sim.local import LocalTransport
from kq.sim.patience import Patient

pytestmark = pytest.mark.looptime


def even(low: float, high: float) -> float:
    return low


def patient(sim: Sim, faults: Faults, *, at_once: int = 8, latency: float = 0.0) -> Patient:
    wire = FaultyWire(
        LocalTransport(sim.server),
        faults=faults,
        version=lambda: sim.server.storage.version,
        kill=lambda: None,
        latency=latency,
    )
    return Patient(wire, lane=Lane(max_in_flight=at_once), uniform=even)


def client_on(wire: Wire) -> Client:
    return Client(Connection(base_url="https://sim"), transport=wire)


@pytest.mark.parametrize(
    ("trouble", "seconds"),
    [
        pytest.param(Trouble.BUSY, 4.0, id="as long as it is told"),
        pytest.param(Trouble.UNREACHABLE, 0.6, id="longer each time"),
    ],
)
async def test_what_did_nothing_is_tried_again_after_a_while(
    trouble: Trouble, seconds: float
) -> None:
    faults = Faults()
    fault = faults.plan(trouble, on("create", "configmaps"), times=2, seconds=2)
    sim = await Sim().start()
    async with client_on(patient(sim, faults)) as client:
        made = await client.create(CONFIG_MAP, {"metadata": {"name": "c"}}, "default")
    assert made["metadata"]["name"] == "c"
    assert fault.struck == 2
    assert asyncio.get_running_loop().time() == pytest.approx(seconds)
    assert client.server_date() == START.replace(second=int(seconds))


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        (Trouble.LOST, Indeterminate),
        (Trouble.UNSENT, Indeterminate),
        (Trouble.CONFLICT, Conflict),
    ],
)
async def test_what_may_have_been_done_is_not_tried_again(
    trouble: Trouble, error: type[ApiError]
) -> None:
    faults = Faults()
    fault = faults.plan(trouble, on("create", "configmaps"), times=3)
    sim = await Sim().start()
    async with client_on(patient(sim, faults)) as client:
        with pytest.raises(error):
            await client.create(CONFIG_MAP, {"metadata": {"name": "c"}}, "default")
    assert fault.struck == 1


async def test_a_server_that_stays_busy_is_the_callers_to_plan_for() -> None:
    faults = Faults()
    fault = faults.plan(Trouble.BUSY, times=9, seconds=1)
    wire = patient(await Sim().start(), faults)
    request = prepare(Verb.GET, CONFIG_MAP, "c", "default")
    with pytest.raises(TooManyRequests):
        await wire.send(request, None, Options())
    assert fault.struck == TRIES
    with pytest.raises(TooManyRequests):
        await wire.send(request, None, Options(priority=True))
    assert fault.struck == TRIES + 1


async def test_only_so_many_requests_are_under_way_at_once_and_urgent_ones_besides() -> None:
    wire = patient(await Sim().start(), Faults(), at_once=2, latency=0.5)
    request = prepare(Verb.LIST, CONFIG_MAP, namespace="default")
    loop = asyncio.get_running_loop()
    ends: list[tuple[float, bool]] = []

    async def ask(*, priority: bool) -> None:
        await wire.send(request, None, Options(priority=priority))
        ends.append((round(loop.time(), 3), priority))

    await asyncio.gather(*(ask(priority=each) for each in (False, False, False, True)))
    assert sorted(ends) == [(1.0, False), (1.0, False), (1.0, True), (2.0, False)]


async def test_kq_asks_for_no_list_that_a_replica_may_answer_that_is_behind() -> None:
    faults = Faults()
    faults.plan(Trouble.STALE, times=9, seconds=9)
    sim = await Sim().start()
    await sim.widget("a")
    async with client_on(patient(sim, faults)) as client:
        informer = Informer(client=client, kind=WIDGET, decode=seen, uniform=even)
        running = asyncio.create_task(informer.run())
        await informer.wait_synced()
        assert [view.name for view in informer.lister.values()] == ["a"]
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert faults.met == {}
