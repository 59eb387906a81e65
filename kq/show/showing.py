"""A show from its first line to its last."""

import asyncio
from collections.abc import Callable, Iterable

from rich.text import Text

from kq.show import frame
from kq.show.cast import Cast
from kq.show.ending import Ending
from kq.show.pace import Pace
from kq.show.page import Page
from kq.show.play import Play
from kq.sim.time import VirtualLoop
from kq.sim.world import Terms

MOST_TURNS = 200_000
"""Turns of the loop in one virtual second that are more than any show has."""

Say = Callable[[Text], None]
"""Where lines go."""


def show(
    cast: Cast,
    *,
    seed: int,
    page: Page,
    pace: Pace,
    say: Say,
    check: Callable[[], None] = lambda: None,
    terms: Terms | None = None,
) -> Ending:
    """Shows it all but what to do next, and gives what came of it.

    `check` is called between any two steps; what it raises ends the show.
    """
    _say_all(say, frame.opening(cast, seed))
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        play = runner.run(_opened(cast, seed, terms))
        _say_all(say, page.heads())
        # Between two runs the loop stands still, so that whoever reads can take their time.
        while moments := runner.run(play.moments()):
            check()
            for moment in moments:
                if lines := page.lines(moment):
                    pace.wait(moment.at)
                    _say_all(say, lines)
        ending = runner.run(play.close())
    check()
    _say_all(say, frame.summary(ending))
    return ending


async def _opened(cast: Cast, seed: int, terms: Terms | None) -> Play:
    play = Play(cast, seed=seed, terms=terms)
    await play.open()
    return play


def _new_loop() -> VirtualLoop:
    return VirtualLoop(most_turns=MOST_TURNS)


def _say_all(say: Say, lines: Iterable[Text]) -> None:
    for line in lines:
        say(line)
