"""The one seam between kq and a job kind."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from kq.core.kinds import Object, ResourceKind
from kq.core.model import Grant, JobView
from kq.core.patch import Patch


class JobIntegration(Protocol):
    """What kq knows of one job kind; what the kind can or cannot do is data in its view."""

    @property
    def kinds(self) -> Sequence[ResourceKind]:
        """Where its jobs live on the API server: the first version that is served wins."""

    def view(self, job: Object, *, templates: bool = True) -> JobView:
        """The job as decisions see it; raises DecodeError for one that has no name.

        Without templates its pod sets have empty ones: to read them costs most of a view.
        """

    def hold(self, job: Object) -> Patch:
        """What keeps it from starting at its submit (spec 8.3); no marks of ours."""

    def suspend(self, job: Object) -> Patch:
        """What stops it after it was released."""

    def resume(self, job: Object, grants: Sequence[Grant], now: datetime) -> Patch:
        """What lets it run.

        Of kinds whose view is `whole` the three patches need the whole job; of the others they do
        not look at it.
        """
