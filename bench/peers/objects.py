"""The quota of a load, as Kueue knows it."""

from bench.objects import MILLICPU, NAMESPACE, Object

API_VERSION = "kueue.x-k8s.io/v1beta2"
API = f"/apis/{API_VERSION}"
LOCAL_QUEUES = f"{API}/namespaces/{NAMESPACE}/localqueues"
WORKLOADS = f"{API}/namespaces/{NAMESPACE}/workloads"
QUEUE = "bench"
FLAVOR = "default"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


def quota(places: int) -> list[tuple[str, Object]]:
    """What gives room for so many jobs, each with where it is posted, in order."""
    amount = {"name": "cpu", "nominalQuota": f"{places * MILLICPU}m"}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": FLAVOR, "resources": [amount]}]}
    cluster_queue = {"namespaceSelector": {}, "resourceGroups": [group]}
    return [
        (f"{API}/resourceflavors", _object("ResourceFlavor", FLAVOR, {})),
        (f"{API}/clusterqueues", _object("ClusterQueue", QUEUE, cluster_queue)),
        (LOCAL_QUEUES, _object("LocalQueue", QUEUE, {"clusterQueue": QUEUE})),
    ]


def has(condition: str, found: Object) -> bool:
    """Whether a condition of an object is true."""
    conditions = found.get("status", {}).get("conditions", ())
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)


def _object(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
