"""Whether a job is really the child that it claims to be (spec 5.6a)."""

from kq.core.model import JobView, Owner
from kq.jobs.children import claimed_maker, kind_of
from kq.kube.client import Client
from kq.kube.errors import NotFound

MOST_REMEMBERED = 4096


class Owners:
    """Looks owners up; what was found for a job stays true for it alone, so that a UID that was
    seen once is no pass for others. A failing look-up decides nothing.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._exist: dict[tuple[str, Owner], bool] = {}

    async def is_child(self, job: JobView) -> bool:
        """Whether the job's controller exists and makes such jobs."""
        owner = claimed_maker(job)
        if owner is None:
            return False
        claim = (job.uid, owner)
        known = self._exist.get(claim)
        if known is None:
            known = await self._look_up(owner, job.namespace)
            if len(self._exist) >= MOST_REMEMBERED:
                self._exist.clear()
            self._exist[claim] = known
        return known

    async def _look_up(self, owner: Owner, namespace: str) -> bool:
        try:
            found = await self._client.get(kind_of(owner), owner.name, namespace)
        except NotFound:
            return False
        return bool(found.get("metadata", {}).get("uid") == owner.uid)
