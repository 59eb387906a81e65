import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter

from kq.errors import ConfigError
from kq.health import health_app, metrics_app, serving


async def get(port: int, path: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}{path}") as answer,
    ):
        return answer.status, await answer.text()


async def slow() -> bool:
    return False


def failing() -> bool:
    raise RuntimeError("no")


async def test_a_process_is_alive_whatever_its_checks_say() -> None:
    async with serving(health_app({"synced": lambda: False}), "127.0.0.1", 0) as port:
        assert await get(port, "/healthz") == (200, "ok")


@pytest.mark.parametrize(
    ("checks", "status", "text"),
    [
        ({}, 200, "ok"),
        ({"a": lambda: True}, 200, "ok"),
        ({"a": lambda: True, "b": lambda: False, "c": slow}, 503, "not ready: b, c"),
        ({"a": failing}, 503, "not ready: a"),
    ],
    ids=["none", "one", "two fail", "error"],
)
async def test_a_process_is_ready_if_all_checks_hold(
    checks: dict[str, object], status: int, text: str
) -> None:
    async with serving(health_app(checks), "127.0.0.1", 0) as port:  # type: ignore[arg-type]
        assert await get(port, "/readyz") == (status, text)


async def test_verbose_names_each_check_and_the_details() -> None:
    app = health_app({"a": lambda: True, "b": lambda: False}, lambda: "serial 1f")
    async with serving(app, "127.0.0.1", 0) as port:
        assert await get(port, "/readyz?verbose") == (503, "[+]a ok\n[-]b failed\nserial 1f\n")
        assert await get(port, "/healthz?verbose") == (200, "[+]ping ok\n")


async def test_metrics_are_shown_as_text() -> None:
    registry = CollectorRegistry()
    Counter("things", "Things", registry=registry).inc()
    async with serving(metrics_app(registry), "127.0.0.1", 0) as port:
        status, text = await get(port, "/metrics")
    assert status == 200
    assert "things_total 1.0" in text


async def test_a_port_that_is_taken_is_named() -> None:
    async with serving(health_app({}), "127.0.0.1", 0) as port:
        with pytest.raises(ConfigError, match=f"port {port} cannot be listened on"):
            async with serving(health_app({}), "127.0.0.1", port):
                raise AssertionError("two listen on one port")
