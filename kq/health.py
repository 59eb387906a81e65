"""The plain HTTP of a process: `/healthz`, `/readyz` and `/metrics` (spec 18.1)."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.aiohttp import make_aiohttp_handler

from kq.errors import ConfigError

CHECK_SECONDS = 5.0

log = structlog.get_logger()

Check = Callable[[], bool | Awaitable[bool]]
"""Whether one thing that readiness needs is there."""


def health_app(
    checks: Mapping[str, Check], details: Callable[[], str] | None = None
) -> web.Application:
    """`/healthz` says that the process lives, `/readyz` whether every check holds.

    With `?verbose` each check has a line, and `details` (what is served, who leads) follow.
    """

    async def healthz(request: web.Request) -> web.Response:
        return _verdict(request, {"ping": True}, "")

    async def readyz(request: web.Request) -> web.Response:
        states = {name: await _holds(name, check) for name, check in checks.items()}
        return _verdict(request, states, details() if details else "")

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    return app


def metrics_app(registry: CollectorRegistry) -> web.Application:
    """`/metrics` in Prometheus text."""
    app = web.Application()
    app.router.add_get("/metrics", make_aiohttp_handler(registry))
    return app


@asynccontextmanager
async def serving(app: web.Application, host: str, port: int) -> AsyncIterator[int]:
    """Serves the app as long as the block runs; gives its port (0 asks for a free one)."""
    runner = web.AppRunner(app, access_log=None, keepalive_timeout=75.0, shutdown_timeout=1.0)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host or None, port).start()
        except OSError as err:
            raise ConfigError(
                f"port {port} cannot be listened on ({err.strerror or err}): give another one"
            ) from err
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def _holds(name: str, check: Check) -> bool:
    """Whether the check holds; one that fails or hangs does not."""
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            answer = check()
            return bool(await answer if inspect.isawaitable(answer) else answer)
    except Exception as err:
        log.warning("readiness check failed", check=name, error=repr(err))
        return False


def _verdict(request: web.Request, states: Mapping[str, bool], details: str) -> web.Response:
    """200 if all hold, else 503; `ok`, or the checks as the API server prints its own."""
    status = 200 if all(states.values()) else 503
    failed = [name for name, state in states.items() if not state]
    if "verbose" not in request.query:
        text = "ok" if not failed else f"not ready: {', '.join(failed)}"
        return web.Response(status=status, text=text)
    lines = [
        f"[{'+' if state else '-'}]{name} {'ok' if state else 'failed'}"
        for name, state in states.items()
    ]
    lines += [details] if details else []
    return web.Response(status=status, text="\n".join((*lines, "")))
