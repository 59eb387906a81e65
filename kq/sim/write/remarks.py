"""What the server has to say of a write that it takes."""

from collections.abc import Iterator

from kq.core.kinds import Object
from kq.sim.api.kinds import Kind, Naming
from kq.sim.api.names import name_faults

_USES = {
    "Pod": "the Pod's hostname",
    "Job.batch": "Pod names and hostnames",
}
"""What the names of a kind become, where a DNS subdomain may be too much."""


def remarks(kind: Kind, obj: Object, old: Object | None) -> list[str]:
    """The warnings about an object's new version."""
    if kind.custom:
        return list(_finalizers(obj, old))
    if old is None and kind.kind_key in _USES:
        return list(_name(kind, obj))
    return []


def _name(kind: Kind, obj: Object) -> Iterator[str]:
    faults = name_faults(obj["metadata"]["name"], Naming.LABEL)
    if faults:
        yield (
            f"metadata.name: this is used in {_USES[kind.kind_key]}, which can result in"
            f" surprising behavior; a DNS label is recommended: [{' '.join(faults)}]"
        )


def _finalizers(obj: Object, old: Object | None) -> Iterator[str]:
    had = (old or {}).get("metadata", {}).get("finalizers") or ()
    for finalizer in obj["metadata"].get("finalizers") or ():
        if "/" not in finalizer and finalizer not in had:
            yield (
                f'metadata.finalizers: "{finalizer}": prefer a domain-qualified finalizer name to'
                " avoid accidental conflicts with other finalizer writers"
            )
