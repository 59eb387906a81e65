"""No quota plugin at all: every job's quota and Queue is `default`, nothing is limited (11.1)."""

from collections.abc import Iterable, Mapping, Sequence

from kq.core.model import NamespaceView, Quota
from kq.core.options import QuotaOptions
from kq.core.plugins import AutoMade, Level, Problem
from kq.quota.byrequest import ByRequest

NAME = "default"


class Unlimited(ByRequest):
    """One quota without limits."""

    @classmethod
    def build(cls, options: QuotaOptions, quotas: Iterable[Quota]) -> "Unlimited":
        """The same whatever quotas there are."""
        return cls()

    def quota_of(self, labels: Mapping[str, str], namespace: NamespaceView) -> str | None:
        """Always `default`."""
        return NAME

    def chain(self, quota: str) -> Sequence[Level] | Problem:
        """No level."""
        return ()

    def ancestry(self, quota: str) -> Sequence[str]:
        """Itself."""
        return (quota,)

    def barred(self, namespace: NamespaceView, quota: str) -> Problem | None:
        """Nobody is."""
        return None

    def names(self) -> Sequence[str]:
        """The one."""
        return (NAME,)

    def queue_of(self, quota: str) -> str:
        """`default`."""
        return NAME

    def spellings(self, quota: str) -> Sequence[str]:
        """Its name."""
        return (quota,)

    def auto_made(self, queue: str) -> AutoMade | None:
        """The one."""
        return AutoMade(NAME) if queue == NAME else None
