"""Quantities of Kubernetes: read as its own parser reads them, exact, printed as it prints them."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Final

from kq.errors import QuantityError

NANO: Final = 10**9
"""Nano units in one unit: the finest step that a quantity can take."""

_INT64_MAX = 2**63 - 1
_MAX_LENGTH = 256
_MAX_EXPONENT = 256

_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?P<suffix>[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+|)",
    re.ASCII,
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class Format(StrEnum):
    """The family of suffixes in which a quantity was written, and is written again."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact number of nano units; equal ones are equal however they were written."""

    nano: int
    format: Format = field(default=Format.DECIMAL, compare=False)

    @property
    def milli(self) -> int:
        """Thousandths, rounded up."""
        return -(-self.nano // 10**6)

    @property
    def units(self) -> int:
        """Whole units, rounded up."""
        return -(-self.nano // NANO)

    def __str__(self) -> str:
        """The canonical form of Kubernetes: nothing lost, no fraction, the largest suffix."""
        if self.format is Format.BINARY:
            whole = not self.nano % NANO
            # Below 1024 suffixes gain nothing; above the cap a binary one would not read again.
            if whole and 1024 * NANO <= abs(self.nano) <= _INT64_MAX * NANO:
                return _binary(self.nano // NANO)
        return _decimal(self.nano, self.format)


def parse_quantity(value: object) -> Quantity:
    """The quantity that a text, or a number of YAML or JSON, stands for."""
    match value:
        case str():
            return _parse(value)
        case bool():
            raise QuantityError(f"{value!r} is not a quantity")
        case int() | float():
            return _parse(repr(value))
        case _:
            raise QuantityError(f"{value!r} is not a quantity")


@lru_cache(maxsize=8192)
def _parse(text: str) -> Quantity:
    match = _QUANTITY.fullmatch(text) if 0 < len(text) <= _MAX_LENGTH else None
    if match is None:
        raise QuantityError(f"{text[:_MAX_LENGTH]!r} is not a quantity")
    whole, fraction, suffix = match["whole"], match["fraction"] or "", match["suffix"]
    digits = int(whole + fraction or "0")
    if suffix.endswith("i"):
        nano, kind = _binary_nano(digits, suffix, len(fraction)), Format.BINARY
    else:
        exponent = _DECIMAL.get(suffix)
        kind = Format.EXPONENT if exponent is None else Format.DECIMAL
        power = (int(suffix[1:]) if exponent is None else exponent) - len(fraction) + 9
        if power < 0 and not whole and not fraction:
            raise QuantityError(f"{text!r} is not a quantity")
        nano = _decimal_nano(text, digits, power)
    return Quantity(-nano if match["sign"] == "-" else nano, kind)


def _decimal_nano(text: str, digits: int, power: int) -> int:
    if digits and power > _MAX_EXPONENT:
        raise QuantityError(f"{text!r} is too large for a quantity")
    return _times_power_of_ten(digits, power)


def _binary_nano(digits: int, suffix: str, places: int) -> int:
    factor = 1024 ** _BINARY_SUFFIXES.index(suffix)
    # Kubernetes caps binary quantities alone: 9Ei is 2^63-1, but 10E is ten exa.
    return min(_times_power_of_ten(digits * factor, 9 - places), _INT64_MAX * NANO)


def _times_power_of_ten(digits: int, power: int) -> int:
    """`digits` times ten to the `power`, rounded up; what is not zero never becomes it."""
    if not digits:
        return 0
    if power >= 0:
        return digits * int(10**power)
    if -power > _MAX_LENGTH:
        return 1
    return -(-digits // int(10**-power))


def _binary(units: int) -> str:
    power = 0
    while power < len(_BINARY_SUFFIXES) - 1 and not units % 1024:
        units //= 1024
        power += 1
    return f"{units}{_BINARY_SUFFIXES[power]}"


def _decimal(nano: int, form: Format) -> str:
    if not nano:
        return "0"
    exponent = -9
    while not nano % 1000 and (form is Format.EXPONENT or exponent < 18):
        nano //= 1000
        exponent += 3
    if form is Format.EXPONENT:
        return f"{nano}e{exponent}" if exponent else str(nano)
    return f"{nano}{_DECIMAL_SUFFIXES[exponent]}"
