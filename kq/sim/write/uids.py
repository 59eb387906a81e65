"""Unique names of objects and reviews, from given randomness."""

from typing import Protocol


class Bits(Protocol):
    """A source of random bits, such as `random.Random`."""

    def getrandbits(self, count: int, /) -> int:
        """That many random bits as a number."""


def uid(source: Bits) -> str:
    """A random UUID (version 4)."""
    digits = f"{source.getrandbits(128):032x}"
    groups = digits[:8], digits[8:12], f"4{digits[13:16]}", f"a{digits[17:20]}", digits[20:]
    return "-".join(groups)
