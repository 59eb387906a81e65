"""Labels and namespace to a quota, and who takes part at all (spec 5.2, 5.3, 5.4)."""

import re
from collections.abc import Mapping

from kq.core import keys
from kq.core.model import NamespaceView
from kq.core.options import Selection

_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", re.ASCII)


def labelled_quota(labels: Mapping[str, str]) -> str | None:
    """The quota that the labels name, by the three spellings in their order; empty is absent."""
    return next((labels[key] for key in keys.QUOTA_LABELS if labels.get(key)), None)


def is_excluded(namespace: NamespaceView, selection: Selection) -> bool:
    """Whether jobs of the namespace are not managed (spec 5.2)."""
    if namespace.name in selection.excluded:
        return True
    managed = namespace.labels.get(keys.MANAGED_LABEL)
    return managed != "true" if selection.labelled_only else managed == "false"


def is_label_value(text: str) -> bool:
    """Whether the API server takes it as the value of a label (spec 5.5)."""
    return _LABEL_VALUE.fullmatch(text) is not None
