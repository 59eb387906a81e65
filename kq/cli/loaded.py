"""What has to be said of the objects with which a simulated cluster begins."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from kq.sim.install import kind_of
from kq.sim.loading import Bereft
from kq.sim.world import Simulation

NAMED = 5
"""So many names are said, the others are counted."""


def remarks(simulation: Simulation) -> Iterator[str]:
    """One sentence each: how many there are, what was made for them, what will not stay."""
    loader = simulation.loader
    if loader.count:
        yield f"{_count(loader.count, 'object')} loaded{_made(loader.namespaces)}"
    if loader.repeated:
        names = _some(loader.repeated)
        yield f"loaded more than once, the last one counts: {names}"
    for _, group in groupby(sorted(simulation.bereft, key=_sort), key=_sort):
        yield _without_owners(list(group))
    server = simulation.server
    if not server.storage.list(kind_of(server, "v1", "Node")):
        yield "no node on it: pods stay Pending until you create one"


def _made(namespaces: Iterable[str]) -> str:
    names = sorted(namespaces)
    if not names:
        return ""
    them = "namespace" if len(names) == 1 else "namespaces"
    made = f"made {them} {_some(names)}"
    return f"; {made}, without labels, as no file has any: export namespaces too"


def _without_owners(group: Sequence[Bereft]) -> str:
    first, names = group[0], _some([each.place for each in group])
    what, one = _count(len(group), first.kind), len(group) == 1
    owners = ", ".join(_each(each.owner if one else f"{each.owner}s" for each in group))
    export = f"export {','.join(_each(each.owners for each in group))} too"
    if first.is_served:
        are = f"its {owners} is" if one else f"their {owners} are"
        return f"{what} will be deleted, as {are} in no file: {names}; {export}"
    operators = ",".join(_each(each.operator for each in group))
    how = f"start it with --operators {operators}, and " if operators else ""
    lacks = f"{'stays' if one else 'stay'} without {'its' if one else 'their'} {owners}"
    return f"{what} {lacks}, which this cluster does not serve: {names}; {how}{export}"


def _each(names: Iterable[str]) -> list[str]:
    return sorted(set(names) - {""})


def _sort(each: Bereft) -> tuple[str, bool]:
    return each.kind, each.is_served


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    said = ", ".join(names[:NAMED])
    return f"{said} and {more} more" if more > 0 else said
