"""The Queue that is made for a quota, and how it follows the quota (spec 3.3-3.8, 10.5)."""

import json
from collections.abc import Mapping
from typing import Any

from kq.core import keys
from kq.core.kinds import QUEUE
from kq.core.model import Queue, Quota

WITHOUT_QUEUE = frozenset(
    {"koordinator-root-quota", "koordinator-default-quota", "koordinator-system-quota"}
)
PRIORITY = 1000
_COPIED_PREFIXES = ("koord-queue/", "kube-queue/")
"""Both spellings of what a quota may set for its Queue (spec 10.14)."""


def new_queue(quota: Quota | str, namespace: str, default_policy: str) -> dict[str, Any]:
    """The Queue of a quota, as it is created; of a plain name where there is no quota object."""
    name = quota if isinstance(quota, str) else quota.name
    labelled = None if isinstance(quota, str) else labelled_policy(quota)
    copied = {} if isinstance(quota, str) else copied_annotations(quota)
    written = labelled or default_policy
    annotations = {**copied, keys.COPIED: _json(copied), keys.DEFAULT_POLICY: written}
    labels = {keys.AUTO_MADE_LABEL: "true"}
    if not isinstance(quota, str) and keys.PARENT_LABEL in quota.labels:
        labels[keys.PARENT_LABEL] = quota.labels[keys.PARENT_LABEL]
    return {
        "apiVersion": QUEUE.api_version,
        "kind": QUEUE.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "annotations": annotations,
        },
        "spec": {"queuePolicy": written, "priority": PRIORITY},
    }


def difference(queue: Queue, quota: Quota | None, default_policy: str) -> dict[str, Any]:
    """A merge patch that carries the quota's changes to its Queue; empty if there are none.

    Only what was copied is ever changed or taken away: what a person set on the Queue stays. Where
    there is no quota object the Queue follows the default policy alone.
    """
    annotations = _annotations(queue, quota) if quota is not None else {}
    meta: dict[str, Any] = {}
    parent = quota.labels.get(keys.PARENT_LABEL) if quota is not None else None
    if quota is not None and queue.labels.get(keys.PARENT_LABEL) != parent:
        meta["labels"] = {keys.PARENT_LABEL: parent}
    labelled = labelled_policy(quota) if quota is not None else None
    policy = labelled or _unlabelled(queue, default_policy)
    spec = {"queuePolicy": policy} if policy != queue.policy else {}
    marked = queue.annotations.get(keys.DEFAULT_POLICY)
    if marked != policy and (spec or labelled is not None):
        annotations[keys.DEFAULT_POLICY] = policy
    if annotations:
        meta["annotations"] = annotations
    return {key: part for key, part in (("metadata", meta), ("spec", spec)) if part}


def is_auto_made(queue: Queue) -> bool:
    """Whether kq made it."""
    return queue.labels.get(keys.AUTO_MADE_LABEL) == "true"


def labelled_policy(quota: Quota) -> str | None:
    """The policy that the quota's label names (spec 3.6)."""
    return next((quota.labels[key] for key in keys.POLICY_LABELS if quota.labels.get(key)), None)


def copied_annotations(quota: Quota) -> dict[str, str]:
    """The quota's annotations that its Queue takes over (spec 3.4)."""
    return {
        key: text
        for key, text in quota.annotations.items()
        if (key.startswith(_COPIED_PREFIXES) and key not in keys.MANAGER_ONLY)
        or key == keys.CREATED_BY_QUOTA_ENABLE
    }


def _unlabelled(queue: Queue, default_policy: str) -> str:
    """Where no label says it: what kq wrote itself follows the default, and an edit stays."""
    if queue.annotations.get(keys.DEFAULT_POLICY) == queue.policy or not queue.policy:
        return default_policy
    return queue.policy


def _annotations(queue: Queue, quota: Quota) -> dict[str, str | None]:
    """What is to be set, and what was copied and is no longer on the quota (spec 3.4, 3.5)."""
    wanted = copied_annotations(quota)
    before = _copied_before(queue)
    patch: dict[str, str | None] = {
        key: text for key, text in wanted.items() if queue.annotations.get(key) != text
    }
    for key, text in before.items():
        if key not in wanted and queue.annotations.get(key) == text:
            patch[key] = None
    if before != wanted:
        patch[keys.COPIED] = _json(wanted)
    return patch


def _copied_before(queue: Queue) -> dict[str, str]:
    try:
        known = json.loads(queue.annotations.get(keys.COPIED) or "{}")
    except ValueError:
        return {}
    if not isinstance(known, dict):
        return {}
    return {key: text for key, text in known.items() if isinstance(text, str)}


def _json(value: Mapping[str, str]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
