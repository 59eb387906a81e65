"""Objects of built-in kinds, right and wrong, to be completed and judged by the real server too."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
CONTAINER: Object = {"name": "m", "image": "b"}
SPEC: Object = {"restartPolicy": "Never", "containers": [CONTAINER]}


@dataclass(frozen=True)
class Case:
    what: str
    obj: Object

    def __str__(self) -> str:
        return self.what


def job(spec: Object | None = None, pod: Object = SPEC, **more: Any) -> Object:
    template = {"spec": pod}
    named = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    return {**named, "spec": {"template": template, **(spec or {})}, **more}


def with_resources(**resources: Any) -> Object:
    return job(pod={**SPEC, "containers": [{**CONTAINER, "resources": resources}]})


def with_container(**fields: Any) -> Object:
    container = {key: value for key, value in {**CONTAINER, **fields}.items() if value != ...}
    return job(pod={**SPEC, "containers": [container]})


def of(kind: str, version: str = "v1", **fields: Any) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "case"}, **fields}


def cron(**spec: Any) -> Object:
    wanted = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": SPEC}}}}
    return of("CronJob", "batch/v1", spec={**wanted, **spec})


def hook(**fields: Any) -> Object:
    wanted = {
        "name": "a.b.c",
        "clientConfig": {"url": "https://x"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    webhooks = [{**wanted, **fields}]
    version = "admissionregistration.k8s.io/v1"
    return of("MutatingWebhookConfiguration", version, webhooks=webhooks)


def cases() -> Iterator[Case]:
    for group in (jobs, job_numbers, templates, resources, crons, others, extensions, bare):
        yield from group()


def jobs() -> Iterator[Case]:
    yield Case("a job", job())
    yield Case("completions", job({"completions": 3}))
    yield Case("parallelism", job({"parallelism": 3}))
    yield Case("indexed", job({"completionMode": "Indexed", "completions": 3}))
    per_index = {"completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1}
    yield Case("a limit per index", job(per_index))
    yield Case("a limit per index, not indexed", job({"backoffLimitPerIndex": 1}))
    yield Case("most failed, no limit", job({"maxFailedIndexes": 1}))
    yield Case("suspended", job({"suspend": True}))
    yield Case("no spec", {key: value for key, value in job().items() if key != "spec"})
    yield Case("no template", {**job(), "spec": {}})
    yield Case("with status", job(status={"active": 1}))
    yield Case("a selector", job({"selector": {"matchLabels": {"a": "b"}}}))
    manual = {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}}
    yield Case("a selector by hand", job(manual))
    rules = [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]
    yield Case("a failure policy", job({"podFailurePolicy": {"rules": rules}}))
    disrupted = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    yield Case("a condition's status", job({"podFailurePolicy": {"rules": disrupted}}))
    labelled = {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}
    yield Case("labels of the template", job({"template": labelled}))
    own = {"name": "j", "labels": {"a": "b"}}
    yield Case("labels of its own", job({"template": labelled}, metadata=own))
    yield Case("managed by", job({"managedBy": "x.io/y"}))
    yield Case("managed by no path", job({"managedBy": "a b"}))
    yield Case("a spec that is a list", {**job(), "spec": []})
    yield Case("a template that is a text", job({"template": "x"}))
    yield Case("a label that is a number", job(metadata={"name": "j", "labels": {"a": 1}}))
    yield Case("an unknown field", job({"foo": 1}))


def job_numbers() -> Iterator[Case]:
    for field in ("parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished"):
        yield Case(f"{field} below zero", job({field: -1}))
    yield Case("a number as text", job({"parallelism": "x"}))
    yield Case("half a pod", job({"parallelism": 1.5}))
    yield Case("too large a number", job({"parallelism": 2**31}))
    yield Case("a flag as text", job({"suspend": "x"}))
    yield Case("an unknown mode", job({"completionMode": "X"}))
    yield Case("an unknown replacement policy", job({"podReplacementPolicy": "X"}))


def templates() -> Iterator[Case]:
    yield Case("no containers", job(pod={"restartPolicy": "Never"}))
    yield Case("empty containers", job(pod={**SPEC, "containers": []}))
    yield Case("containers that are a map", job(pod={**SPEC, "containers": {"a": 1}}))
    for policy in (None, "Always", "X"):
        yield Case(f"restart policy {policy}", job(pod={**SPEC, "restartPolicy": policy}))
    yield Case("no image", with_container(image=...))
    yield Case("no name", with_container(name=...))
    yield Case("a bad name", with_container(name="A_b"))
    yield Case("a tag", with_container(image="b:1", ports=[{"containerPort": 80}]))
    yield Case("the latest", with_container(image="x.io:5000/b:latest"))
    command = {"exec": {"command": ["x"]}}
    probes = {"readinessProbe": {"httpGet": {"port": 80}}, "livenessProbe": command}
    yield Case("probes", with_container(**probes))
    yield Case("a probe of no command", with_container(livenessProbe={"exec": {}}))
    yield Case("a probe of nothing", with_container(livenessProbe={}))
    twice = job(pod={**SPEC, "containers": [CONTAINER, CONTAINER]})
    yield Case("two of one name", twice)
    reference = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    init = {**CONTAINER, "name": "i", "env": [{"name": "A", **reference}], "args": []}
    volumes = [
        {"name": "v"},
        {"name": "c", "configMap": {"name": "x"}},
        {"name": "h", "hostPath": {"path": "/x"}},
    ]
    yield Case("volumes", job(pod={**SPEC, "initContainers": [init], "volumes": volumes}))
    tolerations = [{"key": "a", "operator": "X"}]
    yield Case("a wrong toleration", job(pod={**SPEC, "tolerations": tolerations}))
    everything = [{"operator": "Equal"}]
    yield Case("a toleration of nothing", job(pod={**SPEC, "tolerations": everything}))
    yield Case("a bad selector", job(pod={**SPEC, "nodeSelector": {"a b": "c"}}))
    yield Case("a bad class", job(pod={**SPEC, "priorityClassName": "A_b"}))


def resources() -> Iterator[Case]:
    for amount in ("x", "-1", "1.5", "1e3", "1.0001m", ""):
        yield Case(f"cpu of {amount!r}", with_resources(requests={"cpu": amount}))
    limits = {"cpu": 2, "memory": "2.5Gi", "nvidia.com/gpu": 1}
    requests = {"cpu": "1000m", "memory": "1024Mi"}
    yield Case("amounts", with_resources(requests=requests, limits=limits))
    yield Case("above its limit", with_resources(requests={"cpu": 2}, limits={"cpu": 1}))
    yield Case("a device without limit", with_resources(requests={"nvidia.com/gpu": 2}))
    yield Case("part of a device", with_resources(limits={"nvidia.com/gpu": "1500m"}))
    yield Case("no such resource", with_resources(limits={"foo": 1}))


def crons() -> Iterator[Case]:
    yield Case("a cron job", cron())
    yield Case("no schedule", cron(schedule=""))
    yield Case("half a schedule", cron(schedule="x"))
    yield Case("an unknown policy", cron(concurrencyPolicy="X"))
    negative = {"startingDeadlineSeconds": -1, "successfulJobsHistoryLimit": -1}
    yield Case("negative limits", cron(**negative))
    yield Case("a template of nothing", cron(jobTemplate={}))


def others() -> Iterator[Case]:
    yield Case("a namespace", of("Namespace"))
    yield Case("a key with a space", of("ConfigMap", data={"a b": "x"}))
    yield Case("an empty map", of("ConfigMap", data={}))
    secret = of("Secret", stringData={"a": "x"}, data={"b": "eA=="})
    yield Case("texts of a secret", secret)
    yield Case("a secret that is no base64", of("Secret", data={"b": "!"}))
    yield Case("a taint of no effect", of("Node", spec={"taints": [{"key": "a", "effect": "X"}]}))
    about = {"kind": "Pod", "name": "x", "namespace": "default"}
    event = {"involvedObject": about, "reason": "R", "message": "m", "type": "Normal"}
    yield Case("an event", of("Event", **event))
    elsewhere = {**event, "involvedObject": {**about, "namespace": "other"}}
    yield Case("an event of elsewhere", of("Event", **elsewhere))
    yield Case("a new event", of("Event", **event, eventTime="2026-01-01T00:00:00.000000Z"))
    limits = [{"type": "Container", "default": {"cpu": "1000m"}, "max": {"memory": "1024Mi"}}]
    yield Case("a limit range", of("LimitRange", spec={"limits": limits}))
    crossed = [{"type": "Container", "min": {"cpu": 2}, "max": {"cpu": "1"}}]
    yield Case("crossed limits", of("LimitRange", spec={"limits": crossed}))
    hard = {"cpu": "4000m", "pods": 10, "requests.memory": "1024Mi", "count/jobs.batch": "5"}
    yield Case("a quota", of("ResourceQuota", spec={"hard": hard}))
    yield Case("a quota of half pods", of("ResourceQuota", spec={"hard": {"pods": "1500m"}}))
    yield Case("a quota of nothing known", of("ResourceQuota", spec={"hard": {"foo": 1}}))
    lease = "coordination.k8s.io/v1"
    times = {"renewTime": "2026-01-01T00:00:00Z"}
    yield Case("a lease's coarse time", of("Lease", lease, spec=times))
    yield Case("a lease of no time", of("Lease", lease, spec={"leaseDurationSeconds": 0}))
    yield Case("a class", of("PriorityClass", "scheduling.k8s.io/v1", value=5))
    high = {"value": 2_000_000_000, "preemptionPolicy": "x"}
    yield Case("too high a class", of("PriorityClass", "scheduling.k8s.io/v1", **high))
    yield Case("a runtime class of nothing", of("RuntimeClass", "node.k8s.io/v1"))


def extensions() -> Iterator[Case]:
    rules = [{"apiGroups": ["a"], "apiVersions": ["v1"], "operations": ["CREATE"]}]
    yield Case("a webhook", hook(rules=[{**rules[0], "resources": ["x"]}]))
    yield Case("a service", hook(clientConfig={"service": {"name": "x", "namespace": "y"}}))
    yield Case("a short name", hook(name="a.b"))
    yield Case("a long wait", hook(timeoutSeconds=40))
    yield Case("an unknown failure policy", hook(failurePolicy="X"))
    yield Case("plain HTTP", hook(clientConfig={"url": "http://x"}))
    yield Case("no versions", hook(admissionReviewVersions=[]))
    subject = {"kind": "User", "name": "u"}
    role = {"kind": "ClusterRole", "name": "x"}
    rbac = "rbac.authorization.k8s.io/v1"
    yield Case("a binding", of("ClusterRoleBinding", rbac, roleRef=role, subjects=[subject]))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    yield Case("a deployment", of("Deployment", "apps/v1", spec=spec))


def bare() -> Iterator[Case]:
    """Objects that leave out what Go writes all the same."""
    yield Case("a lease of nothing", of("Lease", "coordination.k8s.io/v1"))
    yield Case("a role of nothing", of("ClusterRole", "rbac.authorization.k8s.io/v1"))
    no_rules = of("ClusterRole", "rbac.authorization.k8s.io/v1", rules=[])
    yield Case("a role of no rules", no_rules)
    yield Case("limits of nothing", of("LimitRange"))
    yield Case("a quota of nothing", of("ResourceQuota"))
    yield Case("limits of no limit", of("LimitRange", spec={"limits": []}))
    yield Case("a template", of("PodTemplate", template={"spec": SPEC}))
    conditions = [{"type": "Ready", "status": "True"}, {"type": "Mine"}]
    tainted = {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}
    node = of("Node", spec=tainted, status={"conditions": conditions})
    yield Case("conditions of a node", node)
    claim = {"resourceFieldRef": {"resource": "limits.cpu"}}
    yield Case("a part of nothing", with_container(env=[{"name": "A", "valueFrom": claim}]))
    named = [{"name": "A"}]
    yield Case("a variable of nothing", with_container(env=named))
    sources = {"name": "v", "projected": {}}
    yield Case("a projection of nothing", job(pod={**SPEC, "volumes": [sources]}))
    elsewhere = {"type": "ExternalName", "externalName": "a.b", "ports": [{"port": 80}]}
    yield Case("a service", of("Service", spec=elsewhere))
    about = {"kind": "Pod", "namespace": "default"}
    yield Case("an event of little", of("Event", involvedObject=about))
    yield Case("a service account", of("ServiceAccount"))
