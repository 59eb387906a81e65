"""Pod sets of jobs that list their pods by role: their names, order and counts (spec 2.10, 8.2)."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

from kq.core import codec
from kq.core.kinds import Object
from kq.core.model import PodSet

ORDER = ("chief", "master", "launcher", "ps", "worker", "evaluator")
PRIORITY_ORDER = ("launcher", "chief", "master", "worker", "ps", "evaluator")
MOST_PODS = 1_000_000
MOST_POD_SETS = 256
"""That a unit takes."""
MOST_LETTERS = 63
NAMELESS = "main"
POD_SPEC = ("template", "spec")
SHOWN_LETTERS = 64


def pod_set_names(roles: Iterable[str], uid: str) -> list[str]:
    """What the pod sets of the roles are called: legal, and none like another."""
    names: dict[str, None] = {}
    last: dict[str, int] = {}
    for role in roles:
        name = base = pod_set_name(role, uid)
        while name in names:
            last[base] = last.get(base, 1) + 1
            suffix = f"-{last[base]}"
            name = base[: MOST_LETTERS - len(suffix)].rstrip("-") + suffix
        names[name] = None
    return list(names)


def pod_set_name(role: str, uid: str) -> str:
    """The role in lower case, with `-` for what a name cannot have."""
    name = re.sub("[^a-z0-9-]", "-", role.lower()).strip("-") or NAMELESS
    if len(name) <= MOST_LETTERS:
        return name
    return f"{name[:54]}-{hashlib.sha256(uid.encode()).hexdigest()[:8]}"


def pod_sets_by_role(
    spec: Object, field: str, uid: str, *, templates: bool
) -> tuple[tuple[PodSet, ...], str | None]:
    """Those of the replica specs in that field of a job's spec, and what is wrong with them."""
    path = ("spec", field)
    specs = codec.mapping(spec, field)
    roles = sorted(specs, key=lambda role: (_rank(role, ORDER), role.lower(), role))
    pod_sets: list[PodSet] = []
    defects = [_no_map(spec.get(field), ".".join(path)), too_many(roles, ".".join(path))]
    roles = roles[:MOST_POD_SETS]
    for role, name in zip(roles, pod_set_names(roles, uid), strict=True):
        where = ".".join((*path, role))
        one = codec.mapping(specs, role)
        count, defect = counted(one.get("replicas"), f"{where}.replicas")
        template = codec.template_of(codec.mapping(one, "template") if templates else {})
        place = (*path, role, "template", "metadata")
        pod_sets.append(PodSet(name=name, count=count, wanted=count, template=template, path=place))
        defects += [_no_map(specs[role], where), defect, no_maps(one, where, *POD_SPEC)]
        defects.append(template.defect)
    return tuple(pod_sets), next(filter(None, defects), None)


def no_maps(parent: Object, where: str, *way: str) -> str | None:
    """What stands in the place of the first map on the way that is none; absent ones may be.

    Read as an empty one, its pods would count as nothing (spec 12.7).
    """
    here: object = parent
    for key in way:
        here = here.get(key) if isinstance(here, Mapping) else None
        where = f"{where}.{key}"
        if here is None or not isinstance(here, Mapping):
            return _no_map(here, where)
    return None


def too_many(parts: Sequence[object], key: str) -> str | None:
    """That a job has more parts than a unit takes (spec 22.1); None if it has not."""
    if len(parts) <= MOST_POD_SETS:
        return None
    return f"{key} is of {len(parts)} pod sets, not at most {MOST_POD_SETS}"


def _no_map(value: object, key: str) -> str | None:
    if value is None or isinstance(value, Mapping):
        return None
    return f"{key} is {told(value)}, not a map"


def counted(
    value: object, key: str, default: int = 1, most: int = MOST_PODS
) -> tuple[int, str | None]:
    """The count that a field gives, and what is wrong with it in the words of M16."""
    if value is None:
        return default, None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most:
        return value, None
    return 0, f"{key} is {told(value)}, not a number from 0 to {most}"


def told(value: object) -> str:
    """The value as a message names it: of lists and maps, which may be long, only that."""
    match value:
        case list():
            return "a list"
        case Mapping():
            return "a map"
        case str() if len(value) > SHOWN_LETTERS:
            return repr(value[:SHOWN_LETTERS] + "...")
        case _:
            return repr(value)


def by_priority(pod_sets: Iterable[PodSet]) -> list[PodSet]:
    """In the order in which their templates are asked for the job's priority (spec 12.9)."""
    return sorted(pod_sets, key=lambda each: (_rank(each.name, PRIORITY_ORDER), each.name))


def _rank(role: str, order: Sequence[str]) -> int:
    name = role.lower()
    return order.index(name) if name in order else len(order)
