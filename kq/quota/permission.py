"""Which namespaces may use a quota (spec 15.4, 15.4a)."""

import fnmatch

from kq.core import keys
from kq.core.messages import Reason, m5
from kq.core.model import NamespaceView, Quota
from kq.core.plugins import Problem


def barred(
    known: Quota, namespace: NamespaceView, mapped: str | None, *, has_own: bool = False
) -> Problem | None:
    """M5 if the quota's list leaves the namespace out, or the namespace has another quota.

    `mapped` is the quota that binds the namespace, `has_own` whether this one lies in it.
    """
    listed = known.annotations.get(keys.ALLOWED_NAMESPACES)
    if listed is not None:
        patterns = [each.strip() for each in listed.split(",") if each.strip()]
        if any(fnmatch.fnmatchcase(namespace.name, _glob(each)) for each in patterns):
            return None
        return Problem(Reason.MISCONFIGURED, m5(namespace.name, known.name))
    if mapped is None or mapped == known.name or has_own:
        return None
    return Problem(Reason.MISCONFIGURED, m5(namespace.name, known.name))


def _glob(pattern: str) -> str:
    """Only `*` is a wildcard."""
    return pattern.replace("[", "[[]").replace("?", "[?]")
