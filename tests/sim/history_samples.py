"""Jobs of which histories are made by hand."""

from dataclasses import replace

from history_steps import Delete, History, Submit

FIRST = Submit(
    at=1.0,
    name="first",
    quota="a",
    cpu=2,
    pods=2,
    seconds=20,
    linger=12,
    priority=1,
    suspended=False,
)
SECOND = replace(FIRST, name="second", seconds=2, linger=0)
THIRD = replace(SECOND, name="third", suspended=True)
BUSY = History(seed=1, steps=(FIRST, SECOND, THIRD, Delete(at=8.0, name="first")))
"""The second has to wait until the last pod of the first is gone, and the third for the second."""
