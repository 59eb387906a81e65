"""Amounts of resources, as integers: what is asked for, what a limit is, what is in use."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, Self

import msgspec

from kq.core.keys import MAX_JOBS
from kq.core.quantity import NANO, Format, Quantity, parse_quantity
from kq.errors import DecodeError, QuantityError

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"

PSEUDO: Final = frozenset({"pods", *MAX_JOBS})
"""Resources that every unit asks for without a word of its own (spec 11.11)."""

_FIRST = {CPU: 0, MEMORY: 1, EPHEMERAL_STORAGE: 2}
_BYTES = frozenset({MEMORY, EPHEMERAL_STORAGE, "storage"})
_HUGEPAGES = "hugepages-"
_QUOTA_PREFIXES = ("requests.", "limits.")


class Resources(msgspec.Struct, frozen=True, eq=False):
    """An amount of each resource that is named: cpu in thousandths, all else in whole units.

    A resource named with 0 differs from one not named (a limit of 0 is a limit). Values are
    shared where they come from `of`, so that many equal ones cost the memory of one.
    """

    _amounts: Mapping[str, int]

    @classmethod
    def of(cls, amounts: Mapping[str, int]) -> "Resources":
        """The one shared value that names these amounts."""
        return _shared(tuple(sorted(amounts.items())))

    def __getitem__(self, name: str) -> int:
        return self._amounts[name]

    def __contains__(self, name: object) -> bool:
        return name in self._amounts

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Resources):
            return NotImplemented
        return self is other or self._amounts == other._amounts

    def __hash__(self) -> int:
        return hash(frozenset(self._amounts.items()))

    def __repr__(self) -> str:
        return f"Resources({', '.join(f'{k}={v}' for k, v in self.to_wire().items())})"

    def __add__(self, other: Self) -> "Resources":
        """The sum, naming what either names."""
        total = dict(self._amounts)
        for name, amount in other.items():
            total[name] = total.get(name, 0) + amount
        return Resources(total)

    def __sub__(self, other: Self) -> "Resources":
        """The difference, exact and so below 0 where `other` is the larger."""
        rest = dict(self._amounts)
        for name, amount in other.items():
            rest[name] = rest.get(name, 0) - amount
        return Resources(rest)

    def times(self, count: int) -> "Resources":
        """`count` times each amount."""
        return Resources.of({name: amount * count for name, amount in self._amounts.items()})

    def maximum(self, other: Self) -> "Resources":
        """The larger amount of each resource that either names."""
        largest = dict(self._amounts)
        for name, amount in other.items():
            largest[name] = max(largest.get(name, amount), amount)
        return Resources(largest)

    def items(self) -> Iterable[tuple[str, int]]:
        """Names and amounts."""
        return self._amounts.items()

    def get(self, name: str, default: int = 0) -> int:
        """The amount of one resource; the default if it is not named."""
        return self._amounts.get(name, default)

    def raised(self, by: Mapping[str, int]) -> Self:
        """The same limit, so much higher in those of these resources that it names."""
        higher = {name: self[name] + more for name, more in by.items() if name in self}
        return type(self)({**self._amounts, **higher})

    def bounds(self, request: "Resources") -> list[tuple[str, int, int]]:
        """What it limits of all that is requested: name, amount and limit."""
        asked = request._amounts
        return [
            (name, asked[name], most)
            for name, most in self._amounts.items()
            if name in asked and asked[name] > 0
        ]

    @property
    def is_zero(self) -> bool:
        """Whether no amount differs from 0."""
        return not any(self._amounts.values())

    def to_wire(self) -> dict[str, str]:
        """A ResourceList in canonical form, in the order of messages."""
        return {name: format_amount(name, self._amounts[name]) for name in in_order(self._amounts)}


class FirmLimit(Resources, frozen=True, eq=False):
    """A limit of firm amounts, too: what it does not name of them is limited to 0 (spec 11.13)."""

    def __getitem__(self, name: str) -> int:
        return self._amounts.get(name, 0)

    def __contains__(self, name: object) -> bool:
        return name in self._amounts or (
            isinstance(name, str) and is_firm(name) and name not in _FIRM_PSEUDO
        )

    def bounds(self, request: Resources) -> list[tuple[str, int, int]]:
        """What it limits of all that is requested: name, amount and limit."""
        asked = request.items()
        return [(name, amount, self[name]) for name, amount in asked if amount > 0 and name in self]


@lru_cache(maxsize=16384)
def _shared(items: tuple[tuple[str, int], ...]) -> Resources:
    return Resources(dict(items))


ZERO: Final = Resources.of({})
"""Nothing of anything, no resource named."""


def parse_resources(mapping: object, where: str) -> Resources:
    """A ResourceList of the wire; DecodeError names the resource, `where` and the value (M16)."""
    return rounded_up(parse_exact(mapping, where))


def parse_exact(mapping: object, where: str) -> dict[str, int]:
    """The nano units that a ResourceList of the wire names; null and an absent value are 0."""
    if mapping is None:
        return {}
    if not isinstance(mapping, Mapping):
        raise DecodeError(f"{where} is {mapping!s:.100}, not a map of quantities")
    return {str(name): _parse_amount(name, value, where) for name, value in mapping.items()}


def rounded_up(exact: Mapping[str, int]) -> Resources:
    """Resources of amounts in nano units, each rounded up."""
    return Resources.of({name: amount_of(name, nano) for name, nano in exact.items()})


def amount_of(resource: str, nano: int) -> int:
    """Nano units in the unit that a resource is counted in, rounded up."""
    return -(-nano // (10**6 if _base(resource) == CPU else NANO))


def format_amount(resource: str, amount: int) -> str:
    """An amount as Kubernetes writes it: `4`, `500m`, `8Gi`."""
    return spell(resource, amount * (10**6 if _base(resource) == CPU else NANO))


@lru_cache(maxsize=8192)
def spell(resource: str, nano: int) -> str:
    """The one spelling of an exact value: for bytes the shorter family, binary if equally long."""
    decimal = str(Quantity(nano))
    base = _base(resource)
    if base not in _BYTES and not base.startswith(_HUGEPAGES):
        return decimal
    binary = str(Quantity(nano, Format.BINARY))
    return binary if len(binary) <= len(decimal) else decimal


def in_order(names: Iterable[str]) -> list[str]:
    """Names of resources as messages list them: cpu, memory, ephemeral-storage, then by name."""
    return sorted(names, key=lambda name: (_FIRST.get(plain(name), len(_FIRST)), name))


def qualified(name: str, of: str) -> str:
    """The resource as one of several of its name: of one quota of several, of one sort of pods."""
    return f"{name}@{of}"


def plain(name: str) -> str:
    """The name of a resource without what it is of."""
    return name.partition("@")[0]


def of_what(name: str) -> str:
    """What a resource is of; empty for one that is of nothing in particular."""
    return name.partition("@")[2]


_FIRM = "@Min"
"""A ResourceQuota's name is in lower case, the mark of a sort of pods has a colon."""


def firm(name: str) -> str:
    """The resource as what nobody may take back: `cpu@Min`, which min limits (spec 11.13)."""
    return f"{name}{_FIRM}"


def is_firm(name: str) -> bool:
    """Whether it is a resource as what nobody may take back."""
    return name.endswith(_FIRM)


_FIRM_PSEUDO = frozenset(map(firm, PSEUDO))


def in_base_units(resource: str, amount: int) -> float:
    """The amount in cores, bytes or whole things."""
    return amount / 1000 if _base(resource) == CPU else float(amount)


def _parse_amount(name: str, value: object, where: str) -> int:
    if value is None:
        return 0
    try:
        nano = parse_quantity(value).nano
    except QuantityError as err:
        raise QuantityError(f"{name} in {where} is {value!s:.100}, not a quantity") from err
    if nano < 0:
        raise DecodeError(f"{name} in {where} is {value!s:.100}, not a quantity of 0 or more")
    return nano


def _base(resource: str) -> str:
    """A quota's key counts in the unit of the resource that it limits (`limits.cpu`)."""
    resource = plain(resource)
    for prefix in _QUOTA_PREFIXES:
        if resource.startswith(prefix):
            return resource.removeprefix(prefix)
    return resource
