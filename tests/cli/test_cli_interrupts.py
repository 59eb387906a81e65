"""Ctrl-C, wherever it falls."""

import asyncio
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kq.cli import demo
from kq.cli.interrupts import Interrupts
from kq.show.page import Page
from kq.show.play import Play
from kq.sim.time import VirtualLoop


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_work_is_not_broken_off_in_its_midst() -> None:
    done = []
    with Interrupts() as interrupts:
        press()
        done.append("work")
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
    assert done == ["work"]


def test_who_waits_is_broken_off_at_once() -> None:
    with Interrupts() as interrupts:
        signal.signal(signal.SIGALRM, lambda number, frame: press())
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(KeyboardInterrupt):
            interrupts.sleep(60)


def test_who_was_asked_before_does_not_begin_to_wait() -> None:
    with Interrupts() as interrupts:
        press()
        with pytest.raises(KeyboardInterrupt):
            interrupts.sleep(60)


def test_the_second_comes_at_once() -> None:
    with Interrupts():
        press()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_afterwards_ctrl_c_is_what_it_was() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        assert signal.getsignal(signal.SIGINT) != before
        interrupts.check()
    assert signal.getsignal(signal.SIGINT) == before


def test_other_threads_go_without() -> None:
    before = signal.getsignal(signal.SIGINT)

    def use() -> Any:
        with Interrupts() as interrupts:
            interrupts.check()
            interrupts.sleep(0)
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(use).result() == before


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (asyncio.SelectorEventLoop, "_make_self_pipe"),
        (VirtualLoop, "create_task"),
        (Play, "open"),
        (Play, "moments"),
        (Page, "lines"),
        (Play, "close"),
        (asyncio.Runner, "close"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_demo_ends_in_one_line(
    kq_main: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    name: str,
) -> None:
    monkeypatch.setattr(demo, "configure", lambda level, log_format: None)
    inner = getattr(owner, name)
    pressed: list[str] = []

    def pressing(*args: Any, **kwargs: Any) -> Any:
        if not pressed:
            pressed.append(name)
            press()
        return inner(*args, **kwargs)

    monkeypatch.setattr(owner, name, pressing)
    code, out, err = kq_main("demo", "--jobs", "1")
    assert pressed
    assert code == demo.INTERRUPTED
    assert out.splitlines()[-1] == demo.BROKEN_OFF
    assert err == ""
