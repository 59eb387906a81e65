"""Objects that are kept as their JSON, and read anew when somebody asks for a part of them."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec


class Packed(Mapping[str, Any]):
    """An object of which there are many and few are ever looked at: a tenth of its decoded size."""

    __slots__ = ("_raw",)

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def __getitem__(self, key: str) -> Any:
        return _read(self._raw)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(_read(self._raw))

    def __len__(self) -> int:
        return len(_read(self._raw))

    def get(self, key: str, default: Any = None) -> Any:
        """As a dict's."""
        return _read(self._raw).get(key, default)


@lru_cache(1024)
def _read(raw: bytes) -> dict[str, Any]:
    obj: dict[str, Any] = msgspec.json.decode(raw)
    return obj
