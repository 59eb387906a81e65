"""The warnings of the webhook (spec 20); W9 names the command that shows why. Pure."""


def w1(user: str) -> str:
    """The user may not bypass the queue."""
    return f"koord-queue/bypass ignored: not permitted for {user}"


def w2(key: str) -> str:
    """An annotation was taken out."""
    return f"{key} removed: written by koord-queue only"


def w7(pod_set: str, before: str, after: str) -> str:
    """A pod template named another quota than its job."""
    changed = f"quota label of pod template {pod_set} changed from {before} to {after}"
    return f"{changed}, the quota of the job"


def w9(quota: str, name: str) -> str:
    """The job is held; without a name (generateName) there is nothing to look at yet."""
    held = f"held by koord-queue until quota {quota} allows"
    return f"{held}; see kubectl describe queueunit {name}" if name else held
