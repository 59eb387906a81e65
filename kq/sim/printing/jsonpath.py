"""The JSON paths that printer columns are written in: fields, positions, filters by equality."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kq.errors import DecodeError

_STEP = re.compile(
    r"""\.(?P<field>(?:[^.\[\]\\'"]|\\.)+)
    |\[['"](?P<quoted>[^'"]+)['"]\]
    |\[(?P<index>-?\d+)\]
    |\[(?P<slice>-?\d*:-?\d*)\]
    |(?P<all>\[\*\]|\.\*)
    |\[\?\(@(?P<inner>(?:\.[^\s=!<>\[\]]+)+)\s*(?P<same>==|!=)\s*(?P<value>[^)]+)\)\]""",
    re.VERBOSE,
)
Step = tuple[str, str, str]


def find(path: str, value: Any) -> list[Any]:
    """All that a path leads to from a value; DecodeError if it cannot be read."""
    found = [value]
    for step in _steps(path):
        found = [each for one in found for each in _next(step, one)]
    return found


@lru_cache(maxsize=512)
def _steps(path: str) -> Sequence[Step]:
    text = path.strip().removeprefix("{").removesuffix("}")
    if text and text[0] not in ".[":
        text = f".{text}"
    steps: list[Step] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            raise DecodeError(f"JSON path {path!r} cannot be read from {text[at:]!r} on")
        steps.append(_step(match))
        at = match.end()
    return steps


def _step(match: re.Match[str]) -> Step:
    if match["all"]:
        return "all", "", ""
    if match["index"]:
        return "index", match["index"], ""
    if match["slice"]:
        return "slice", match["slice"], ""
    if match["inner"]:
        return match["same"], match["inner"], match["value"].strip().strip("'\"")
    return "field", (match["field"] or match["quoted"]).replace("\\", ""), ""


def _next(step: Step, value: Any) -> Iterator[Any]:
    match step, value:
        case ("field", name, _), Mapping() if name in value:
            yield value[name]
        case ("index", index, _), list() if -len(value) <= int(index) < len(value):
            yield value[int(index)]
        case ("slice", ends, _), list():
            yield from value[slice(*(int(each) if each else None for each in ends.split(":")))]
        case ("all", _, _), list():
            yield from value
        case ("all", _, _), Mapping():
            yield from value.values()
        case ("==" | "!=" as same, inner, wanted), list():
            yield from (each for each in value if _is(each, inner, wanted) == (same == "=="))


def _is(value: Any, path: str, wanted: str) -> bool:
    return any(_text(one) == wanted for one in find(path, value))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
