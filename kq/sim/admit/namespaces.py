"""The life of namespaces, as far as writes are refused for it."""

from kq.sim.api.admission import Operation, Review
from kq.sim.api.kinds import Kind
from kq.sim.api.status import forbidden, not_found
from kq.sim.api.storage import Storage

IMMORTAL = ("default", "kube-public", "kube-system")


class NamespaceLifecycle:
    """Nothing is made in a namespace that is not there or about to go; some never go."""

    def __init__(self, storage: Storage, kind: Kind) -> None:
        self._storage = storage
        self._kind = kind

    def mutate(self, review: Review) -> None:
        """Refuses what would be made where it cannot be."""
        call = review.call
        if review.operation is not Operation.CREATE or not call.kind.namespaced:
            return
        stored = self._storage.get(self._kind, "", call.namespace)
        if stored is None:
            raise not_found(self._kind, call.namespace)
        if stored.fields["status.phase"] == "Terminating":
            name = call.namespace
            raise forbidden(
                call.kind,
                review.name or (review.obj or {})["metadata"].get("generateName", ""),
                f"unable to create new content in namespace {name} because it is being terminated",
                [
                    {
                        "reason": "NamespaceTerminating",
                        "message": f"namespace {name} is being terminated",
                        "field": "metadata.namespace",
                    }
                ],
            )

    def check(self, review: Review) -> None:
        """Refuses the deletion of a namespace that the cluster needs."""
        is_deletion = review.operation is Operation.DELETE
        if is_deletion and review.call.kind.key == self._kind.key and review.name in IMMORTAL:
            raise forbidden(self._kind, review.name, "this namespace may not be deleted")
