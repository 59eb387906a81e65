"""A toll on the manager's way to the API server: it counts writes, and strikes at the n-th.

The manager speaks plain HTTP to it on loopback; it speaks TLS to the API server. Watches stream
through. Each life of a manager has a path of its own, so that nothing a dead one had still under
way gets through.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from controlplane.components import HOST
from controlplane.kubeconfig import Access
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

READS = ("GET", "HEAD")
OF_ONE_CONNECTION = ("Connection", "Host", "Keep-Alive", "Transfer-Encoding")
SECONDS = 30.0
GRACE_SECONDS = 0.1
"""How long streams may go on when the toll closes: nobody reads them any more."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """A write that took effect."""

    method: str
    path: str

    @property
    def what(self) -> str:
        """The verb and the kind of thing, as in `PATCH queueunits/status`."""
        inside = self.path.partition("?")[0].partition("/namespaces/")[2].split("/")[1:]
        return f"{self.method} {'/'.join(inside[::2])}"

    @property
    def is_event(self) -> bool:
        """Whether it only tells people something."""
        return self.what.endswith(" events")


@dataclass(slots=True, kw_only=True)
class Trap:
    """What strikes when the n-th write that names the scenario took effect."""

    scenario: str
    nth: int
    strike: Callable[[], None]
    spares_events: bool
    """Whether Events are no writes that count."""
    crossings: list[Crossing] = field(default_factory=list)
    struck: Crossing | None = None
    """The write that was never answered."""
    error: Exception | None = None

    def concerns(self, path: str, body: bytes) -> bool:
        """Whether a write is the scenario's, and not of one before that is not over yet."""
        return self.scenario in path or self.scenario.encode() in body

    def is_sprung(self, crossing: Crossing) -> bool:
        """Notes a write; whether it is the n-th that counts."""
        self.crossings.append(crossing)
        if not self._counts(crossing) or sum(map(self._counts, self.crossings)) != self.nth:
            return False
        self.struck = crossing
        return True

    def _counts(self, crossing: Crossing) -> bool:
        return not (self.spares_events and crossing.is_event)


class Toll:
    """Lets everything through, writes one at a time."""

    def __init__(
        self,
        *,
        session: aiohttp.ClientSession,
        writes: asyncio.TaskGroup,
        server: str,
        port: int,
    ) -> None:
        self._session = session
        self._writes = writes
        self._server = server
        self._port = port
        self._loop = asyncio.get_running_loop()
        self._gate = asyncio.Lock()
        self._closed = asyncio.Event()
        self._life = 0
        self._trap: Trap | None = None

    def new_life(self) -> str:
        """The server's URL for a manager about to start; the one before gets nothing through."""
        self._life += 1
        return f"http://{HOST}:{self._port}/{self._life}"

    @contextmanager
    def armed(self, trap: Trap) -> Iterator[None]:
        """The trap may strike in this block; what it strikes gets no answer before that is done."""
        self._trap = trap
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(self._disarm(), self._loop).result(SECONDS)
            if trap.error:
                raise trap.error

    def close(self) -> None:
        """Lets nothing through any more."""
        self._loop.call_soon_threadsafe(self._closed.set)

    async def wait_closed(self) -> None:
        """Returns when it is to close."""
        await self._closed.wait()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """The API server's answer, if the manager that asks is alive."""
        life, _, path = request.raw_path.removeprefix("/").partition("/")
        body = await request.read()
        if request.method in READS:
            return await self._stream(request, f"/{path}")
        # A write that is under way takes effect, though who sent it is dead.
        passing = self._write(request, f"/{path}", body, int(life))
        return await asyncio.shield(self._writes.create_task(passing, name=f"write {path}"))

    async def _stream(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        async with self._ask(request, path, None) as response:
            answer = web.StreamResponse(status=response.status, headers=passed(response.headers))
            await answer.prepare(request)
            async for chunk in response.content.iter_any():
                await answer.write(chunk)
            return answer

    async def _write(
        self, request: web.BaseRequest, path: str, body: bytes, life: int
    ) -> web.Response:
        async with self._gate:
            if life != self._life:
                return web.Response(status=503, text="the manager of that life is dead")
            try:
                async with self._ask(request, path, body) as response:
                    answer = await response.read()
            except aiohttp.ClientError as err:
                return web.Response(status=502, text=str(err))
            if response.ok:
                await self._note(Crossing(request.method, path), body)
        return web.Response(status=response.status, headers=passed(response.headers), body=answer)

    async def _note(self, crossing: Crossing, body: bytes) -> None:
        trap = self._trap
        if trap is None or not trap.concerns(crossing.path, body) or not trap.is_sprung(crossing):
            return
        try:
            await asyncio.to_thread(trap.strike)
        except Exception as err:  # it belongs to whoever set the trap, not to the dead
            trap.error = err

    async def _disarm(self) -> None:
        async with self._gate:
            self._trap = None

    def _ask(
        self, request: web.BaseRequest, path: str, body: bytes | None
    ) -> aiohttp.client._RequestContextManager:
        url = URL(self._server + path, encoded=True)
        return self._session.request(
            request.method, url, data=body, headers=passed(request.headers)
        )


@contextmanager
def toll_before(access: Access) -> Iterator[Toll]:
    """A toll before an API server, in a thread of its own; it knows no login but the manager's."""
    opened: Future[Toll] = Future()
    thread = threading.Thread(
        target=lambda: asyncio.run(_serve(access, opened)), name="toll", daemon=True
    )
    thread.start()
    toll = opened.result(SECONDS)
    try:
        yield toll
    finally:
        toll.close()
        thread.join(SECONDS)


async def _serve(access: Access, opened: Future[Toll]) -> None:
    listener = socket.create_server((HOST, 0))
    async with (
        aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=access.tls, limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
        ) as session,
        asyncio.TaskGroup() as writes,
    ):
        port = listener.getsockname()[1]
        toll = Toll(session=session, writes=writes, server=access.server, port=port)
        # Without cancellation the watches of dead managers would stay open.
        server = web.Server(toll.handle, handler_cancellation=True)
        runner = web.ServerRunner(server, access_log=None, shutdown_timeout=GRACE_SECONDS)
        await runner.setup()
        await web.SockSite(runner, listener).start()
        opened.set_result(toll)
        await toll.wait_closed()
        await runner.cleanup()


def passed(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """What is handed on: all but what holds for one connection only."""
    kept = headers.copy()
    for name in OF_ONE_CONNECTION:
        kept.popall(name, None)
    return kept
