"""Whose a pod is: its owner, or what stands for its job if no owner leads there (spec 8.23)."""

from functools import lru_cache

from kq.core.model import Owner


@lru_cache(8192)
def controlled_by(api_version: str, kind: str, name: str, uid: str) -> Owner:
    """An owner; the same object for all pods of a job, which come one after the other."""
    return Owner(api_version, kind, name, uid, controller=True)


def of_app(namespace: str, name: str) -> str:
    """A SparkApplication that the pod names by label."""
    return f"app:{namespace}/{name}"


def of_unit(key: str) -> str:
    """The job of a unit that the pod names by annotation."""
    return f"unit:{key}"


def named_unit(holder: str) -> str:
    """The key of the unit that a pod names so; empty if it names none."""
    return holder.removeprefix("unit:") if holder.startswith("unit:") else ""
