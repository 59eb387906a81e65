"""Equal small values kept once: a hundred thousand units name few labels, roles and phases."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, overload


@overload
def share(value: str) -> str: ...
@overload
def share(value: Mapping[str, str]) -> Mapping[str, str]: ...
def share(value: str | Mapping[str, str]) -> str | Mapping[str, str]:
    """An equal value; the same object for equal values seen lately."""
    if isinstance(value, str):
        return _text(value)
    return _strings(tuple(sorted(value.items())))


def shared_texts(texts: Mapping[str, str], own: dict[str, str] | None = None) -> "Texts":
    """The map with shared keys and values, but for times: those of two objects seldom agree.

    `own` are texts that its object has elsewhere.
    """
    own = {} if own is None else own
    names = tuple(sorted(texts))
    values = [texts[name] for name in names]
    return Texts(
        _names(names),
        tuple([own.setdefault(each, each) if _is_time(each) else _text(each) for each in values]),
    )


class Texts(Mapping[str, str]):
    """A small frozen map that has its names in common with others: half the size of a dict."""

    __slots__ = ("_names", "_values")

    def __init__(self, names: tuple[str, ...], values: tuple[str, ...]) -> None:
        self._names = names
        self._values = values

    def __getitem__(self, name: str) -> str:
        if name in self._names:
            return self._values[self._names.index(name)]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def get(self, name: str, default: Any = None) -> Any:
        """The text of that name; the default if there is none."""
        names = self._names
        return self._values[names.index(name)] if name in names else default

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Texts):
            return self._values == other._values and self._names == other._names
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash((self._names, self._values))

    def __repr__(self) -> str:
        return repr(dict(self))


def _is_time(text: str) -> bool:
    return text[10:11] == "T" and text[4:5] == "-" and text[-1] == "Z"


@lru_cache(4096)
def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_text, names))


@lru_cache(65536)
def _text(value: str) -> str:
    return value


@lru_cache(65536)
def _strings(items: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return MappingProxyType(dict(items))
