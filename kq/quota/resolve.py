"""Labels and namespace to a quota, and who takes part at all (spec 5.2, 5.3, 5.4)."""

from collections.abc import Mapping

from kq.core import keys
from kq.core.model import NamespaceView
from kq.core.options import Selection


def labelled_quota(labels: Mapping[str, str]) -> str | None:
    """The quota that the labels name, by the three spellings in their order; empty is absent."""
    return next((labels[key] for key in keys.QUOTA_LABELS if labels.get(key)), None)


def is_excluded(namespace: NamespaceView, selection: Selection) -> bool:
    """Whether jobs of the namespace are not managed (spec 5.2)."""
    if namespace.name in selection.excluded:
        return True
    managed = namespace.labels.get(keys.MANAGED_LABEL)
    return managed != "true" if selection.labelled_only else managed == "false"
