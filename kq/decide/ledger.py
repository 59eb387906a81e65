"""What is decided or written but not yet seen again (spec 10.8).

For each unit: the view that the informer has (`stored`), the answer of our last write that it has
not shown yet (`written`), and a grant that is decided and not yet written (`grant`). The last of
these that exists counts.
"""

from dataclasses import dataclass
from weakref import WeakSet

from kq.core.model import QueueUnit

MOST_REMEMBERED = 4096
"""UIDs of units that are gone: for as long as an answer to a write of them may be under way."""


@dataclass(slots=True)
class Entry:
    """What is known of one unit."""

    stored: QueueUnit | None = None
    written: QueueUnit | None = None
    own_versions: tuple[str, ...] = ()
    grant: QueueUnit | None = None

    @property
    def settled(self) -> QueueUnit | None:
        """What the API server has, as far as we know: without a grant not yet written."""
        return self.written or self.stored

    @property
    def effective(self) -> QueueUnit | None:
        """What decisions count with."""
        return self.grant or self.written or self.stored


class Sending:
    """A write of a unit that is under way: which versions the informer has shown meanwhile.

    To be held until its answer is noted; what becomes of it otherwise nobody needs to say.
    """

    def __init__(self, grant: QueueUnit | None = None) -> None:
        self.shown: list[str] = []
        self.grant = grant
        """The grant that was decided when it was sent: the write is of that, or overtakes it."""


class Ledger:
    """Entries by unit; it forgets a write when the informer has shown it or something later.

    Versions are never compared in size. Events of one object arrive in order, and each of our
    writes names the version it was decided on, so a version that is not of our own chain comes
    after it. A view with fewer attempts than ours is older than our grant: the counter only grows.
    """

    def __init__(self) -> None:
        # Of nearly all units only what is stored is known: an entry each would cost a lot.
        self._entries: dict[str, Entry | QueueUnit] = {}
        self._gone: dict[str, None] = {}
        self._sending: dict[str, WeakSet[Sending]] = {}
        self._unshown: dict[str, None] = {}

    def get(self, key: str) -> Entry | None:
        """What is known of a unit at this moment."""
        found = self._entries.get(key)
        return Entry(found) if isinstance(found, QueueUnit) else found

    def known(self, key: str, uid: str, version: str) -> QueueUnit | None:
        """That version of a unit, if it was the answer to our own last write."""
        found = self._entries.get(key)
        written = found.written if isinstance(found, Entry) else None
        if written is None or (written.uid, written.resource_version) != (uid, version):
            return None
        return written

    def sending(self, key: str) -> Sending:
        """A write of that unit is about to be sent."""
        entry = self.get(key)
        sending = Sending(entry.grant if entry else None)
        self._sending.setdefault(key, WeakSet()).add(sending)
        return sending

    def unshown(self, version: int) -> list[QueueUnit]:
        """Units that we wrote, that no watch has shown, and that are gone: it is past that write.

        A watch that began after their end tells nothing of it. In the order of our writes, up to
        the first that may still be shown.
        """
        found = []
        for key in self._unshown:
            entry = self.get(key)
            written = entry.written if entry is not None else None
            if written is None:
                continue
            said = written.resource_version
            if not said.isdecimal() or int(said) > version:
                break
            found.append(written)
        return found

    def saw(self, view: QueueUnit) -> Entry:
        """The informer shows the unit."""
        entry = self.get(view.key) or Entry()
        self._take_in(view, entry)
        self._keep(view.key, entry)
        return entry

    def _take_in(self, view: QueueUnit, entry: Entry) -> None:
        """What follows from that for what we wrote."""
        entry.stored = view
        written, version = entry.written, view.resource_version
        self._note(view.key, version)
        if written is not None and view.uid != written.uid:
            return
        self._unshown.pop(view.key, None)
        if version in entry.own_versions:
            if written is not None and version == written.resource_version:
                entry.written = None
            if entry.written is None and view.key not in self._sending:
                entry.own_versions = ()
            return
        if written is None or view.attempts >= written.attempts:
            entry.written = None
            entry.own_versions = ()

    def _keep(self, key: str, entry: Entry) -> None:
        """What is known of the unit from now on."""
        if entry.effective is None:
            self._entries.pop(key, None)
        elif entry.stored is not None and entry == Entry(entry.stored):
            self._entries[key] = entry.stored
        else:
            self._entries[key] = entry

    def gone(self, key: str, uid: str) -> Entry | None:
        """The informer shows that the unit is deleted; a later one of that name that we have
        already made stays."""
        self._gone[uid] = None
        if len(self._gone) > MOST_REMEMBERED:
            del self._gone[next(iter(self._gone))]
        entry = self.get(key)
        if entry is None:
            return None
        entry.stored = None
        if entry.grant is not None and entry.grant.uid == uid:
            entry.grant = None
        if entry.written is not None and entry.written.uid == uid:
            entry.written = None
            entry.own_versions = ()
            self._unshown.pop(key, None)
        self._keep(key, entry)
        return entry

    def wrote(self, view: QueueUnit, sending: Sending) -> Entry:
        """The API server answered that write with this; a grant on the version before is settled.

        Once the informer has shown it, or one that is not of our own chain, it is no news, and a
        grant that was decided on what was shown counts on.
        """
        entry = self.get(view.key) or Entry()
        self._answer(view, sending, entry)
        self._keep(view.key, entry)
        return entry

    def _answer(self, view: QueueUnit, sending: Sending, entry: Entry) -> None:
        """What follows from the answer to that sending."""
        if view.uid in self._gone:
            # Its end was shown before this answer came: nothing would ever take it out again.
            if entry.grant is not None and entry.grant.uid == view.uid:
                entry.grant = None
            return
        self._answered(view.key, sending)
        foreign = set(sending.shown).difference(entry.own_versions)
        passed = view.resource_version in sending.shown or bool(foreign)
        if entry.grant is sending.grant or not (passed or _rests_on(entry.grant, view)):
            entry.grant = None
        if passed and entry.stored is not None and entry.stored.uid == view.uid:
            entry.own_versions += (view.resource_version,)
            return
        entry.written = view
        entry.own_versions += (view.resource_version,)
        self._unshown.pop(view.key, None)
        if entry.stored is None or entry.stored.uid != view.uid:
            self._unshown[view.key] = None

    def assume(self, view: QueueUnit) -> Entry:
        """A grant is decided; it counts from now on."""
        entry = self.get(view.key) or Entry()
        entry.grant = view
        self._keep(view.key, entry)
        return entry

    def revoke(self, key: str) -> Entry | None:
        """The grant was not written."""
        entry = self.get(key)
        if entry is not None:
            entry.grant = None
            self._keep(key, entry)
        return entry

    def _answered(self, key: str, sending: Sending) -> None:
        under_way = self._sending.get(key)
        if under_way is not None:
            under_way.discard(sending)
            if not under_way:
                del self._sending[key]

    def _note(self, key: str, version: str) -> None:
        """Tell the writes under way; forget where there are none any more."""
        under_way = self._sending.get(key, ())
        for each in under_way:
            each.shown.append(version)
        if not under_way:
            self._sending.pop(key, None)


def is_same_version(one: QueueUnit, other: QueueUnit) -> bool:
    """One version of one object, and as decided on (a grant keeps the version of its base)."""
    return one is other or (
        one.uid == other.uid
        and one.resource_version == other.resource_version
        and one.phase is other.phase
    )


def _rests_on(grant: QueueUnit | None, view: QueueUnit) -> bool:
    return grant is not None and grant.resource_version == view.resource_version
