"""What the client stands on: the pace, the sockets, and sessions that are closed."""

import asyncio
import gc
import socket
import subprocess
import sys

import pytest
from fake_api import FakeApi

from kq.core.kinds import JOB
from kq.kube.client import Client
from kq.kube.connection import Connection
from kq.kube.informer import quiet_collector
from kq.kube.lane import Pace


def test_a_pace_lets_the_burst_through_and_then_spaces() -> None:
    pace = Pace(qps=10, burst=3)
    assert [round(pace.reserve(100.0), 1) for _ in range(6)] == [0, 0, 0, 0.1, 0.2, 0.3]


def test_a_pace_saves_up_no_more_than_the_burst() -> None:
    pace = Pace(qps=10, burst=2)
    pace.reserve(0)
    assert [round(pace.reserve(1000.0), 1) for _ in range(3)] == [0, 0, 0.1]


def test_no_rate_is_no_limit() -> None:
    pace = Pace(qps=0, burst=0)
    assert {pace.reserve(0) for _ in range(100)} == {0}


async def test_a_dead_peer_is_noticed_by_keep_alive_within_45_seconds(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[socket.socket] = []
    real = asyncio.get_running_loop().sock_connect

    async def note(sock: socket.socket, address: object) -> None:
        made.append(sock)
        await real(sock, address)  # type: ignore[arg-type]

    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", note)
    api.put("jobs", "a")
    async with Client(Connection(base_url=api.url)) as client:
        await client.get(JOB, "a", "ns")
        (used,) = made
        idle, interval, count = (
            used.getsockopt(socket.IPPROTO_TCP, option)
            for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        )
        assert used.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert idle + interval * count <= 45


async def test_connections_are_kept_for_the_next_request(api: FakeApi, client: Client) -> None:
    api.put("jobs", "a")
    ports = set()

    async def note(request: object) -> object:
        ports.add(request.transport.get_extra_info("peername"))  # type: ignore[attr-defined]
        return await api.dispatch(request, api.seen[-1])  # type: ignore[arg-type]

    api.fail(note, times=3)  # type: ignore[arg-type]
    for _ in range(3):
        await client.get(JOB, "a", "ns")
    assert len(ports) == 1


async def test_a_client_outside_its_block_says_so(api: FakeApi) -> None:
    client = Client(Connection(base_url=api.url))
    with pytest.raises(RuntimeError, match="async with"):
        await client.get(JOB, "a", "ns")


def test_only_auth_imports_the_slow_library() -> None:
    modules = "client connection errors informer recorder replica requests store watch"
    imports = "; ".join(f"import kq.kube.{module}" for module in modules.split())
    script = f"{imports}; import sys; sys.exit('kubernetes_asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_the_collector_is_off_inside_and_what_was_made_is_frozen() -> None:
    thresholds = gc.get_threshold()
    try:
        with quiet_collector():
            assert not gc.isenabled()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
