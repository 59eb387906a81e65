"""A scene is played anew on the real cluster where a play tells something else, not for ever."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from scene_grounds import TRIES, RealScenes


class Told(RealScenes[str, str]):
    """Plays of which it is known beforehand what they tell."""

    def __init__(self, *plays: str | BaseException) -> None:
        self.left = list(plays)
        cluster: Any = None
        with ThreadPoolExecutor(1) as thread:
            super().__init__(cluster, {"scene": "scene"}, self.play, thread)

    async def play(self, client: Any, scene: str) -> str:
        raise AssertionError("it is played by nobody")

    def _played(self, scenes: Iterable[str]) -> list[str | BaseException]:
        return [self.left.pop(0) for _ in scenes]


def is_right(story: str) -> None:
    assert story == "right"


@pytest.mark.parametrize("before", [(), ("wrong",), ("wrong", "wrong"), (TimeoutError(),)])
def test_one_play_of_three_has_to_pass(before: tuple[str | BaseException, ...]) -> None:
    told = Told(*before, "right", "never asked for")
    told.agrees("scene", is_right)
    assert told.left == ["never asked for"]


@pytest.mark.parametrize("last", ["wrong", TimeoutError()])
def test_what_no_play_tells_is_wrong(last: str | BaseException) -> None:
    told = Told("wrong", "wrong", last, "right")
    with pytest.raises((AssertionError, TimeoutError)):
        told.agrees("scene", is_right)
    assert (len(told.left), TRIES) == (1, 3)


def test_what_breaks_is_told_at_once() -> None:
    told = Told(KeyError("x"), "right")
    with pytest.raises(KeyError):
        told.agrees("scene", is_right)
