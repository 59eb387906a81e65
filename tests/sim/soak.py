"""Plays histories for some minutes: `PYTHONPATH=tests:tests/e2e:tests/sim:. python -m soak`.

It ends at the first that fails, with that one made as short as it can be, and exit code 1.
"""

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import structlog
from history_player import play
from history_shrinking import shrunk
from history_steps import draw

FIRST_SEED = 1000


@contextmanager
def quiet() -> Iterator[None]:
    """No line of a log: a history is made of failures."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.reset_defaults()


def soak(minutes: float, seed: int) -> int:
    """The exit code."""
    begin, count, met = monotonic(), 0, Counter[str]()
    while monotonic() < begin + 60 * minutes:
        history = draw(seed + count)
        outcome = play(history)
        count += 1
        met.update(outcome.met)
        if outcome.wrongs:
            print(f"seed {history.seed}:", *outcome.wrongs, sep="\n", flush=True)
            shortest = shrunk(history, lambda each: bool(play(each).wrongs))
            print(shortest, *play(shortest).wrongs, sep="\n")
            return 1
    rate = count / (monotonic() - begin)
    print(f"{count} histories from seed {seed}, {rate:.1f} a second; struck: {dict(met)}")
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help="the first")
    arguments = parser.parse_args()
    with quiet():
        sys.exit(soak(arguments.minutes, arguments.seed))


if __name__ == "__main__":
    main()
