"""What admission checks want added to a job's pods: put into its templates, and taken out again.

Spec 8.9, 14.10-14.12. A merge patch replaces lists, so the patches are made of the whole job and
sent with its resourceVersion.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from kq.core import keys
from kq.core.checks import FIELDS, Added, Answer, added_of, remembered
from kq.core.kinds import Object
from kq.core.messages import m17, m17_unknown, m20
from kq.core.model import JobView, PodSet
from kq.core.patch import Patch, Path

TOLERATIONS = "tolerations"
IN_METADATA = ("labels", "annotations")
WORDS = {"labels": "label", "annotations": "annotation", "nodeSelector": "node selector"}
TEMPLATE = "its template"


def clash_of(job: JobView, whole: Object, answers: Sequence[Answer]) -> str:
    """Why what is wanted cannot be added, in the words of M17 or M20; empty if it can."""
    sets = {each.name: each for each in job.pod_sets}
    said: dict[tuple[str, str, str], tuple[str, str]] = {}
    for check, pod_set, wanted in _each(answers):
        if not job.takes_updates or (pod_set in sets and not sets[pod_set].path):
            return m20(job.kind.kind, check)
        if pod_set not in sets:
            return m17_unknown(check, pod_set)
        for field, key, value in _pairs(wanted):
            there = _at(whole, _place(sets[pod_set], field)) or {}
            given = (TEMPLATE, there[key]) if key in there else None
            other, known = said.setdefault((pod_set, field, key), given or (check, value))
            if known != value:
                what = f"{WORDS[field]} {key}={value}"
                by = other if other == TEMPLATE else f"admission check {other}"
                return m17(check, what, pod_set, by, str(known))
    return ""


def with_updates(job: JobView, whole: Object, answers: Sequence[Answer], attempt: int) -> Patch:
    """The patch that adds what is wanted and not there yet, and remembers just that."""
    sets = {each.name: each for each in job.pod_sets}
    added: dict[str, dict[str, Any]] = {}
    edited: Any = whole
    for _, pod_set, wanted in _each(answers):
        ours = added.setdefault(pod_set, {})
        for field, value in wanted.items():
            place = _place(sets[pod_set], field)
            new = _lacking(_at(edited, place), value)
            if not new:
                continue
            edited = edited_at(edited, place, partial(_joined, new))
            ours[field] = _joined(new, ours.get(field))
    text = remembered(Added(attempt, {name: ours for name, ours in added.items() if ours}))
    return _change(whole, edited, text)


def without_updates(job: JobView, whole: Object) -> Patch:
    """The patch that takes out what is remembered, where it is still as it was added."""
    added = added_of(job.annotations) or Added()
    sets = {each.name: each for each in job.pod_sets}
    edited: Any = whole
    for pod_set, ours in added.podSets.items():
        for field in FIELDS:
            place = _place(sets[pod_set], field) if pod_set in sets and field in ours else ()
            there = _at(edited, place) if place else None
            if there:
                edited = edited_at(edited, place, partial(_reduced, ours[field]))
    return _change(whole, edited, None)


def _each(answers: Sequence[Answer]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for answer in answers:
        for update in answer.updates:
            if update.wanted:
                yield answer.check, update.pod_set, update.wanted


def _pairs(wanted: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Fields, keys and values that can contradict one another; tolerations cannot."""
    for field in WORDS:
        for key, value in wanted.get(field, {}).items():
            yield field, key, value


def _place(pod_set: PodSet, field: str) -> Path:
    """Where that field of its pods stands; a role of Spark has all of them in one map."""
    if not pod_set.path or pod_set.path[-1] != "metadata":
        return (*pod_set.path, field) if pod_set.path else ()
    part = "metadata" if field in IN_METADATA else "spec"
    return (*pod_set.path[:-1], part, field)


def _at(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def edited_at(value: Any, path: Path, edit: Callable[[Any], Any]) -> Any:
    """A copy with another value there; one that is None then is left out."""
    if not path:
        return edit(value)
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = list(value)
        items[step] = edited_at(items[step], rest, edit)
        return items
    here = dict(value) if isinstance(value, Mapping) else {}
    new = edited_at(here.get(step), rest, edit)
    if new is None:
        here.pop(step, None)
        return here
    return {**here, step: new}


def _lacking(there: Any, wanted: Any) -> Any:
    if isinstance(wanted, list):
        return [each for each in wanted if each not in (there or ())]
    return {key: value for key, value in wanted.items() if key not in (there or {})}


def _joined(new: Any, there: Any) -> Any:
    return [*(there or ()), *new] if isinstance(new, list) else {**(there or {}), **new}


def _reduced(ours: Any, there: Any) -> Any:
    """Without what is ours and as it was added; None if nothing is left."""
    if isinstance(there, list):
        listed = ours if isinstance(ours, list) else []
        return [each for each in there if each not in listed] or None
    mine = ours if isinstance(ours, Mapping) else {}
    kept = {key: value for key, value in there.items() if key not in mine or mine[key] != value}
    return kept or None


def _change(whole: Object, edited: Object, text: str | None) -> Patch:
    """The change of the spec, with what is remembered of it from now on."""
    patch: dict[str, Any] = {"metadata": {"annotations": {keys.POD_SET_UPDATES: text}}}
    spec = difference(whole.get("spec") or {}, edited.get("spec") or {})
    return Patch({**patch, "spec": spec} if spec else patch)


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The body of the merge patch that makes the one map the other."""
    changed: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            inner = difference(before, value)
            if inner:
                changed[key] = inner
        elif before != value or key not in old:
            changed[key] = value
    return changed
