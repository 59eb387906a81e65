"""What a submitter is told of a job of a certain kind (spec 20)."""

from kq.core.minresources import EXAMPLE, WANTED


def w4() -> str:
    """A RayJob that kept its cluster (spec 8.13)."""
    return "shutdownAfterJobFinishes set to true: a RayJob cannot be queued without it"


def w5() -> str:
    """An MPIJob whose launcher is to wait for its workers (spec 8.18)."""
    return "launcherCreationPolicy WaitForWorkersReady may start the launcher early after a hold"


def w6() -> str:
    """A Workflow that uses the name of our template for something else (spec 8.14)."""
    return "template koord-queue-suspend of this Workflow is no suspend template: left as it is"


def r8() -> str:
    """A RayJob that KubeRay cannot suspend (spec 8.13)."""
    return (
        "a RayJob can be queued only with shutdownAfterJobFinishes: true and without deletionRules:"
        " change it, or submit it in a namespace that is not managed"
    )


def min_resources_missing() -> str:
    """A Workflow that does not say what it needs, where that is demanded (spec 8.16)."""
    return f"koord-queue/min-resources is missing, not {WANTED}: {EXAMPLE}"
