"""Makes a history that fails as short as it can be."""

from collections.abc import Callable
from dataclasses import replace

from history_steps import History


def shrunk(history: History, fails: Callable[[History], bool], tries: int = 300) -> History:
    """A history that fails too, and would not if one more of its steps were left out.

    Large pieces are tried first; after so many tries it is as short as it has become.
    """
    size = max(1, len(history.steps) // 2)
    while True:
        smaller, tries = _without_pieces(history, fails, size, tries)
        if tries <= 0 or (size == 1 and smaller == history):
            return smaller
        size = max(1, size // 2)
        history = smaller


def _without_pieces(
    history: History, fails: Callable[[History], bool], size: int, tries: int
) -> tuple[History, int]:
    begin = 0
    while begin < len(history.steps) and tries > 0:
        steps = history.steps[:begin] + history.steps[begin + size :]
        tries -= 1
        shorter = replace(history, steps=steps)
        if fails(shorter):
            history = shorter
        else:
            begin += size
    return history, tries
