"""What is decided or written but not yet seen again (spec 10.8).

For each unit: the view that the informer has (`stored`), the answer of our last write that it has
not shown yet (`written`), and a grant that is decided and not yet written (`grant`). The last of
these that exists counts.
"""

from dataclasses import dataclass, field

from kq.core.model import QueueUnit

MOST_REMEMBERED = 4096
"""UIDs of units that are gone: for as long as an answer to a write of them may be under way."""


@dataclass(slots=True)
class Entry:
    """What is known of one unit."""

    stored: QueueUnit | None = None
    written: QueueUnit | None = None
    own_versions: set[str] = field(default_factory=set)
    grant: QueueUnit | None = None

    @property
    def settled(self) -> QueueUnit | None:
        """What the API server has, as far as we know: without a grant not yet written."""
        return self.written or self.stored

    @property
    def effective(self) -> QueueUnit | None:
        """What decisions count with."""
        return self.grant or self.written or self.stored


class Ledger:
    """Entries by unit; it forgets a write when the informer has shown it or something later.

    Versions are never compared in size. Events of one object arrive in order, and each of our
    writes names the version it was decided on, so a version that is not of our own chain comes
    after it. A view with fewer attempts than ours is older than our grant: the counter only grows.
    """

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._gone: dict[str, None] = {}

    def get(self, key: str) -> Entry | None:
        """What is known of a unit."""
        return self._entries.get(key)

    def saw(self, view: QueueUnit) -> Entry:
        """The informer shows the unit."""
        entry = self._entries.setdefault(view.key, Entry())
        entry.stored = view
        written, version = entry.written, view.resource_version
        if written is not None and view.uid != written.uid:
            return entry
        if version in entry.own_versions:
            if written is not None and version == written.resource_version:
                entry.written = None
                # A further write may be under way that was decided on this version.
                entry.own_versions = {version}
            return entry
        if written is None or view.attempts >= written.attempts:
            entry.written = None
            entry.own_versions.clear()
        return entry

    def gone(self, key: str, uid: str) -> Entry | None:
        """The informer shows that the unit is deleted; a later one of that name that we have
        already made stays."""
        self._gone[uid] = None
        if len(self._gone) > MOST_REMEMBERED:
            del self._gone[next(iter(self._gone))]
        entry = self._entries.get(key)
        if entry is None:
            return None
        entry.stored = None
        if entry.grant is not None and entry.grant.uid == uid:
            entry.grant = None
        if entry.written is not None and entry.written.uid == uid:
            entry.written = None
            entry.own_versions.clear()
        if entry.effective is None:
            del self._entries[key]
        return entry

    def seen_version(self, key: str) -> str:
        """The version that the informer shows now; to be noted before a write is sent."""
        entry = self._entries.get(key)
        return entry.stored.resource_version if entry and entry.stored else ""

    def wrote(self, view: QueueUnit, seen: str) -> Entry:
        """The API server answered a write of ours with this; the grant, if any, is settled.

        `seen` is `seen_version` from before the write was sent. If the informer has moved on since
        to a version that is not of our own chain, it has shown this one already.
        """
        entry = self._entries.setdefault(view.key, Entry())
        entry.grant = None
        if view.uid in self._gone:
            # Its end was shown before this answer came: nothing would ever take it out again.
            if entry.effective is None:
                del self._entries[view.key]
            return entry
        shown = entry.stored.resource_version if entry.stored else ""
        is_same = entry.stored is not None and entry.stored.uid == view.uid
        if is_same and shown != seen and shown not in entry.own_versions:
            entry.written = None
            entry.own_versions.clear()
            return entry
        entry.written = view
        entry.own_versions.add(view.resource_version)
        return entry

    def assume(self, view: QueueUnit) -> Entry:
        """A grant is decided; it counts from now on."""
        entry = self._entries.setdefault(view.key, Entry())
        entry.grant = view
        return entry

    def revoke(self, key: str) -> Entry | None:
        """The grant was not written."""
        entry = self._entries.get(key)
        if entry is not None:
            entry.grant = None
        return entry
