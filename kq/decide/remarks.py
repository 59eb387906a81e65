"""What the owner of a job should know of what it says (spec 5.6a, 9.18, 12.8, 22.1)."""

from collections.abc import Iterator

from kq.core import keys, messages, wire
from kq.core.messages import cut
from kq.core.model import Condition, QueueUnit
from kq.decide import unitspec
from kq.decide.actions import Action, PatchStatus, TellJob
from kq.decide.situation import Situation

INVALID = "InvalidAnnotation"
CONFIGURED = "Configured"
"""Condition of a unit whose job has annotations that cannot be read; no other has it."""
LONGEST_VALUE = 100


def about_priority(now: Situation) -> list[Action]:
    """What the job's owner should know of its priority (spec 12.8)."""
    told: list[Action] = []
    if now.priority.missing_class:
        text = f"PriorityClass {now.priority.missing_class} does not exist"
        told.append(TellJob(now.job, True, "PriorityClassNotFound", text))
    return [*told, *(TellJob(now.job, True, INVALID, text) for text in _bad_priority(now))]


def about_values(now: Situation, unit: QueueUnit | None) -> list[Action]:
    """New values of annotations that set something and cannot be read (spec 9.18)."""
    known = unit.annotations if unit is not None else {}
    return [
        TellJob(now.job, True, INVALID, text)
        for key, text in _bad_values(now)
        if now.job.annotations[key] != known.get(key)
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
    texts = [*_bad_priority(now), *(text for _, text in _bad_values(now))]
    known = unit.condition(CONFIGURED)
    if not texts:
        if known is None or known.status:
            return []
        mended = Condition(CONFIGURED, True, "Mended", "")
        return [PatchStatus(unit, wire.status_patch(unit, now.now, conditions=[mended]))]
    text = cut("; ".join(texts))
    if known is not None and not known.status and known.message == text:
        return []
    wrong = Condition(CONFIGURED, False, INVALID, text)
    return [PatchStatus(unit, wire.status_patch(unit, now.now, conditions=[wrong]))]


def _bad_priority(now: Situation) -> Iterator[str]:
    value = now.priority.bad_annotation
    if value is not None:
        yield _wrong(keys.PRIORITY, value, "a whole number (int32)")


def _bad_values(now: Situation) -> Iterator[tuple[str, str]]:
    """By their keys."""
    for key, (read, wanted) in unitspec.READERS.items():
        text = now.job.annotations.get(key)
        if text is not None and read(text) is None:
            yield key, _wrong(key, text, wanted)


def _wrong(key: str, value: str, wanted: str) -> str:
    return messages.m16(key, f"{value:.{LONGEST_VALUE}}", wanted)
