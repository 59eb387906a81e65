"""Fields of settings that are one of a few words."""

from dataclasses import field
from typing import Any


def one_of(*values: str) -> Any:
    """A field whose value is one of these; the first is the default."""
    return field(default=values[0], metadata={"values": values})
