"""What the owner of a job should know of what it says (spec 5.6a, 9.18, 12.8, 22.1)."""

from collections.abc import Iterator

from kq.core import keys, messages, wire
from kq.core.messages import cut
from kq.core.minresources import wrong_with
from kq.core.model import Condition, JobView, QueueUnit
from kq.decide import unitspec
from kq.decide.actions import Action, PatchStatus, TellJob
from kq.decide.situation import Situation

INVALID = "InvalidAnnotation"
INVALID_LABEL = "InvalidLabel"
CONFIGURED = "Configured"
"""Condition of a unit whose job says what cannot be read; no other has it."""
LONGEST_VALUE = 100


def about_priority(now: Situation) -> list[Action]:
    """What the job's owner should know of its priority (spec 12.8)."""
    told: list[Action] = []
    if now.priority.missing_class:
        text = f"PriorityClass {now.priority.missing_class} does not exist"
        told.append(TellJob(now.job, True, "PriorityClassNotFound", text))
    return [*told, *(TellJob(now.job, True, INVALID, text) for text in _bad_priority(now))]


def about_values(now: Situation, unit: QueueUnit | None) -> list[Action]:
    """New values that set something and cannot be read (spec 9.18, 11.13)."""
    said = {**now.job.labels, **now.job.annotations}
    known = {**unit.labels, **unit.annotations} if unit is not None else {}
    found = [*unreadable(now.job), *_bad_least(now.job)]
    return [
        TellJob(now.job, True, _reason(key), text)
        for key, text in found
        if said[key] != known.get(key)
    ]


def about_owner(now: Situation) -> list[Action]:
    """A claim to be another object's child that is not true (spec 5.6a)."""
    owner = now.job.controller
    if not now.false_claim or owner is None:
        return []
    text = f"{owner.kind} {owner.name} with UID {owner.uid} does not exist: queued as any job"
    return [TellJob(now.job, True, "FalseOwner", text)]


def on_unit(now: Situation, unit: QueueUnit) -> list[Action]:
    """What cannot be read, where a reader of the unit sees it for as long as it stands (22.1).

    It keeps nobody waiting: what cannot be read counts as not said. The event is on the job.
    """
    found = dict(unreadable(now.job))
    texts = [*_bad_priority(now), *found.values()]
    known = unit.condition(CONFIGURED)
    if not texts:
        if known is None or known.status:
            return []
        mended = Condition(CONFIGURED, True, "Mended", "")
        return [PatchStatus(unit, wire.status_patch(unit, now.now, conditions=[mended]))]
    text = cut("; ".join(texts))
    if known is not None and not known.status and known.message == text:
        return []
    is_label = len(texts) == sum(_reason(key) == INVALID_LABEL for key in found)
    wrong = Condition(CONFIGURED, False, INVALID_LABEL if is_label else INVALID, text)
    return [PatchStatus(unit, wire.status_patch(unit, now.now, conditions=[wrong]))]


def unreadable(job: JobView) -> Iterator[tuple[str, str]]:
    """What of a job's labels and annotations sets something and cannot be read, by key (M16)."""
    for key, (read, wanted) in unitspec.READERS.items():
        text = job.annotations.get(key)
        if text is not None and read(text) is None:
            yield key, _wrong(key, text, wanted)
    key = next((each for each in keys.PREEMPTIBLE_LABELS if each in job.labels), "")
    text = job.labels.get(key)
    if text and unitspec.truth(text) is None:
        yield key, _wrong(key, text, "true or false")


def _bad_least(job: JobView) -> Iterator[tuple[str, str]]:
    """Why what it says it needs cannot be read: unlike the others it keeps it waiting (8.16)."""
    wrong = wrong_with(job.annotations)
    if wrong is not None:
        yield next(each for each in keys.MIN_RESOURCES if each in job.annotations), wrong


def wrong_priority(value: str) -> str:
    """A priority that cannot be read (spec 12.8)."""
    return _wrong(keys.PRIORITY, value, "a whole number (int32)")


def _reason(key: str) -> str:
    return INVALID_LABEL if key in keys.PREEMPTIBLE_LABELS else INVALID


def _bad_priority(now: Situation) -> Iterator[str]:
    value = now.priority.bad_annotation
    if value is not None:
        yield wrong_priority(value)


def _wrong(key: str, value: str, wanted: str) -> str:
    return messages.m16(key, f"{value:.{LONGEST_VALUE}}", wanted)
