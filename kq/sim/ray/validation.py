"""What KubeRay finds wrong with a RayJob, each time that it looks at it."""

from collections.abc import Callable, Mapping
from typing import Final

from kq.core.kinds import Object

_SHUTS_DOWN = "spec.shutdownAfterJobFinishes"
_RULES = "spec.deletionStrategy.deletionRules"

Check = Callable[[Object], bool]

CHECKS: Final[Mapping[str, Check]] = {
    "activeDeadlineSeconds must be a positive integer": (
        lambda spec: _is_below(spec, "activeDeadlineSeconds", 1)
    ),
    "backoffLimit must be a positive integer": lambda spec: _is_below(spec, "backoffLimit", 0),
    "TTLSecondsAfterFinished must be a non-negative integer": (
        lambda spec: _is_below(spec, "ttlSecondsAfterFinished", 0)
    ),
    "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended": (
        lambda spec: bool(spec.get("suspend")) and not spec.get("shutdownAfterJobFinishes")
    ),
    "a RayJob with shutdownAfterJobFinishes set to false cannot have TTLSecondsAfterFinished": (
        lambda spec: (
            not spec.get("shutdownAfterJobFinishes") and bool(spec.get("ttlSecondsAfterFinished"))
        )
    ),
    "the ClusterSelector mode doesn't support the suspend operation": (
        lambda spec: bool(spec.get("suspend")) and bool(spec.get("clusterSelector"))
    ),
    f"{_SHUTS_DOWN} and {_RULES} are mutually exclusive": (
        lambda spec: bool(spec.get("shutdownAfterJobFinishes")) and _has_rules(spec)
    ),
}
"""What is said, by what is so."""


def fault_of(spec: Object) -> str:
    """Why KubeRay would have nothing to do with it; empty if it would."""
    return next((said for said, is_so in CHECKS.items() if is_so(spec)), "")


def _is_below(spec: Object, field: str, least: int) -> bool:
    number = spec.get(field)
    return number is not None and number < least


def _has_rules(spec: Object) -> bool:
    return bool((spec.get("deletionStrategy") or {}).get("deletionRules"))
