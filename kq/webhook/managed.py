"""Which submitted jobs are held, and why the others are not (spec 5). Pure."""

from collections.abc import Mapping
from enum import Enum
from typing import Protocol

from kq.core import keys
from kq.core.model import JobView, NamespaceView
from kq.jobs.children import claimed_maker
from kq.quota.resolve import is_excluded
from kq.settings import BypassSettings, Settings
from kq.webhook.review import Request


class World(Protocol):
    """What the webhook knows of the cluster, from listers; no call waits for an answer."""

    def namespace(self, name: str) -> NamespaceView | None:
        """The namespace; None if it was not seen yet."""

    def quota_of(self, labels: Mapping[str, str], namespace: str) -> str | None:
        """The quota of a job with these labels (spec 5.3); None if nothing answers."""

    def label_of(self, quota: str) -> str | None:
        """What a label says for that quota; None if none can (spec 5.5)."""


class Standing(Enum):
    """What a submitted job is to the queue."""

    UNTOUCHED = "untouched"
    BYPASSED = "bypassed"
    QUEUED = "queued"


def standing(request: Request, job: JobView, world: World, settings: Settings) -> Standing:
    """Whether a job of an enabled kind is queued, before anybody asks for its quota (spec 5.1)."""
    name = request.namespace or ""
    # A namespace that the watch has not shown yet is judged by its name alone.
    namespace = world.namespace(name) or NamespaceView(name=name)
    if is_excluded(namespace, settings.selection) or job.managed_by_other:
        return Standing.UNTOUCHED
    # Whether the owner exists is not looked up here: the manager queues false claims (spec 5.6a).
    if claimed_maker(job) is not None:
        return Standing.UNTOUCHED
    if asks_for_bypass(job) and may_bypass(request, settings.security.bypass):
        return Standing.BYPASSED
    return Standing.QUEUED


def asks_for_bypass(job: JobView) -> bool:
    """Whether it carries the annotation that asks to be let through (spec 5.9)."""
    return job.annotations.get(keys.BYPASS, "").lower() == "true"


def may_bypass(request: Request, bypass: BypassSettings) -> bool:
    """Whether the user, or one of its groups, may let jobs through."""
    if not bypass.enabled:
        return False
    return request.username in bypass.users or not set(bypass.groups).isdisjoint(request.groups)
