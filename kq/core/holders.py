"""What stands for the job of a pod whose owners do not lead to it (spec 8.23)."""


def of_app(namespace: str, name: str) -> str:
    """A SparkApplication that the pod names by label."""
    return f"app:{namespace}/{name}"


def of_unit(key: str) -> str:
    """The job of a unit that the pod names by annotation."""
    return f"unit:{key}"
