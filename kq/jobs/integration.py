"""The one seam between kq and a job kind."""

from collections.abc import Sequence
from typing import Protocol

from kq.core.kinds import Object, ResourceKind
from kq.core.model import Grant, JobView, PodSetUpdates
from kq.core.patch import Patch


class JobIntegration(Protocol):
    """What kq knows of one job kind; what the kind can or cannot do is data in its view."""

    @property
    def kind(self) -> ResourceKind:
        """Where its jobs live on the API server."""

    def view(self, job: Object, *, templates: bool = True) -> JobView:
        """The job as decisions see it; raises DecodeError for one that has no name.

        Without templates its pod sets have empty ones: to read them costs most of a view.
        """

    def hold(self, job: Object) -> Patch:
        """What keeps it from starting (spec 8.3), at submit and after it ran; no marks of ours."""

    def resume(self, job: Object, grants: Sequence[Grant], updates: PodSetUpdates) -> Patch:
        """What lets it run, with what the checks want added to its pods."""
