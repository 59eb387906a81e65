"""Prints every change that histories make in the API server: `python -m history_trace SEED ...`."""

import sys
from functools import partial
from hashlib import sha256
from random import Random

import pytest
from history_draw import draw
from history_player import play
from soak import quiet

from kq.sim.api.storage import Event, Storage


def trace(seed: int) -> list[str]:
    """One line for each change: its version, what happened to which object, and to which state."""
    lines: list[str] = []
    tell = Storage._tell

    def told(self: Storage, shelf: object, event: Event) -> None:
        lines.append(line_of(event))
        tell(self, shelf, event)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Storage, "_tell", told)
        # Names of Events are drawn from the system's randomness.
        patch.setattr("kq.kube.recorder.secrets.token_hex", partial(letters, Random(seed)))
        outcome = play(draw(seed))
    return [*lines, f"struck {sorted(outcome.met.items())}", *outcome.wrongs]


def letters(chance: Random, count: int) -> str:
    """As `secrets.token_hex`, the same each time."""
    return chance.randbytes(count).hex()


def line_of(event: Event) -> str:
    obj = event.stored.read()
    state = sha256(event.stored.raw).hexdigest()[:12]
    return f"{event.version} {event.change} {obj['kind']} {event.stored.place} {state}"


if __name__ == "__main__":
    with quiet():
        for seed in sys.argv[1:]:
            print(f"seed {seed}", *trace(int(seed)), sep="\n")
