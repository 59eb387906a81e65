"""What the server fills into pods, their templates, and what makes pods from these."""

from typing import Any

from kq.core.podrequests import pod_limits, pod_request
from kq.core.resources import format_amount

Values = dict[str, Any]
_NOTHING: tuple[Any, ...] = (None, {}, "", 0)


def set_words(value: Values, **defaults: Any) -> None:
    """Sets what is missing or says nothing: an empty text, a zero."""
    for name, default in defaults.items():
        if value.get(name) in _NOTHING and value.get(name) is not False:
            value[name] = default


def set_missing(value: Values, **defaults: Any) -> None:
    """Sets what is missing."""
    for name, default in defaults.items():
        value.setdefault(name, default)


def pod_spec(value: Values) -> None:
    """The defaults of a pod spec."""
    set_words(value, dnsPolicy="ClusterFirst", restartPolicy="Always")
    set_words(value, schedulerName="default-scheduler")
    set_missing(value, securityContext={}, terminationGracePeriodSeconds=30)


def container(value: Values) -> None:
    """The defaults of a container."""
    set_words(
        value,
        imagePullPolicy=_pull_policy(value.get("image", "")),
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
    )
    set_missing(value, resources={})


def _pull_policy(image: str) -> str:
    name = image.rpartition("/")[2]
    tag = name.rpartition(":")[2] if ":" in name else "latest"
    return "Always" if tag == "latest" and "@" not in name else "IfNotPresent"


def pod(value: Values) -> None:
    """What a pod has more than a template: requests that follow limits."""
    spec = value.get("spec", {})
    for container in [*spec.get("containers", []), *spec.get("initContainers", [])]:
        resources = container.get("resources", {})
        if resources.get("limits"):
            resources["requests"] = resources["limits"] | resources.get("requests", {})
    if spec:
        _complete_pod_level(spec)
        set_missing(spec, enableServiceLinks=True)


def _complete_pod_level(spec: Values) -> None:
    """Fills what the pod level leaves out of what containers say, then of its own limits."""
    level = spec.get("resources") or {}
    if not level.get("limits") and not level.get("requests"):
        return
    of_containers = {**spec, "resources": None, "overhead": None}
    requests, limits = level.get("requests", {}), level.get("limits", {})
    for name, amount in pod_limits(of_containers).items():
        if name.startswith("hugepages-") and name not in requests:
            limits.setdefault(name, format_amount(name, amount))
    if limits:
        for name, amount in pod_request(of_containers).items():
            if name in ("cpu", "memory"):
                requests.setdefault(name, format_amount(name, amount))
        level |= {"limits": limits, "requests": {**limits, **requests}}


def volume(value: Values) -> None:
    """A volume that says nothing is an empty directory."""
    if len(value) == 1:
        value["emptyDir"] = {}


def job(value: Values) -> None:
    """The defaults of a Job."""
    spec = value.setdefault("spec", {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    per_index = "backoffLimitPerIndex" in spec
    policy = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    set_missing(
        spec,
        parallelism=1,
        backoffLimit=2**31 - 1 if per_index else 6,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy=policy,
        manualSelector=False,
        template={},
    )
    spec["template"].setdefault("spec", {})
    template_labels = spec["template"].get("metadata", {}).get("labels")
    meta = value.setdefault("metadata", {})
    if template_labels and not meta.get("labels"):
        meta["labels"] = template_labels


def cron_job(value: Values) -> None:
    """The defaults of a CronJob."""
    spec = value.setdefault("spec", {})
    set_words(spec, concurrencyPolicy="Allow")
    set_missing(spec, suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)


def deployment(value: Values) -> None:
    """The defaults of a Deployment."""
    spec = value.setdefault("spec", {})
    set_missing(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600, strategy={})
    strategy = spec["strategy"]
    set_words(strategy, type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        set_missing(strategy, rollingUpdate={})
        set_missing(strategy["rollingUpdate"], maxUnavailable="25%", maxSurge="25%")
