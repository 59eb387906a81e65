"""The order in which a write is admitted: plugins, webhooks, and once more if that is needed."""

from collections.abc import Sequence

from kq.sim.admit.webhooks import Round, Webhooks
from kq.sim.api.admission import Plugin, Review


class Chain:
    """All that stands between a request and the storage."""

    def __init__(self, *, plugins: Sequence[Plugin], webhooks: Webhooks) -> None:
        self._plugins = plugins
        self._webhooks = webhooks

    async def mutate(self, review: Review) -> list[str]:
        """Lets plugins and webhooks change the object; gives the warnings of webhooks."""
        self._plug(review)
        round_ = Round()
        said = await self._webhooks.mutate(review, round_)
        if not round_.changed:
            return said
        told = review.obj
        self._plug(review)
        if review.obj != told:
            round_.object_changed()
        round_.second()
        return said + await self._webhooks.mutate(review, round_)

    async def validate(self, review: Review) -> list[str]:
        """Refuses the write, or gives the warnings of webhooks; quotas are charged last."""
        said = await self._webhooks.validate(review)
        for plugin in self._plugins:
            plugin.check(review)
        return said

    def _plug(self, review: Review) -> None:
        for plugin in self._plugins:
            plugin.mutate(review)
