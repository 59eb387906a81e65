"""Trees of quotas and ResourceQuotas, as scenarios of those modes make them."""

from typing import Any

from ground import Object
from world import World

from kq.core.kinds import ELASTIC_QUOTA_TREE, EVENT, RESOURCE_QUOTA

SYSTEM = "kube-system"
TREE = "elasticquotatree"


def node(name: str, *children: Object, limits: Any = None, **fields: Any) -> Object:
    """A node; `limits` is its max."""
    limit = {"max": {key: str(amount) for key, amount in limits.items()}} if limits else {}
    return {"name": name, "children": list(children) or None, **limit, **fields}


def plant(world: World, root: Object, name: str = TREE) -> None:
    """Makes the tree of the cluster, in place of any other."""
    uproot(world)
    body = {"metadata": {"name": name, "namespace": SYSTEM}, "spec": {"root": root}}
    world.ground.create(ELASTIC_QUOTA_TREE, body)


def grow(world: World, root: Object) -> None:
    """Changes the tree of the cluster."""
    world.ground.patch(ELASTIC_QUOTA_TREE, SYSTEM, TREE, {"spec": {"root": root}})


def uproot(world: World) -> None:
    """Removes all trees."""
    for each in world.ground.items(ELASTIC_QUOTA_TREE, SYSTEM):
        world.ground.delete(ELASTIC_QUOTA_TREE, SYSTEM, each["metadata"]["name"])


def wait_told(world: World, reason: str, text: str) -> None:
    """Returns when an event on a tree says that."""

    def found() -> bool:
        listed = world.ground.items(EVENT, SYSTEM)
        return any(each["reason"] == reason and text in each["message"] for each in listed)

    world.ground.until(found, f"event {reason} says: {text}")


def limit(world: World, name: str, hard: dict[str, Any], **spec: Any) -> None:
    """Makes a ResourceQuota."""
    texts = {key: str(amount) for key, amount in hard.items()}
    meta = {"name": name, "namespace": world.namespace}
    world.ground.create(RESOURCE_QUOTA, {"metadata": meta, "spec": {"hard": texts, **spec}})


def set_limit(world: World, name: str, hard: dict[str, Any]) -> None:
    """Changes what a ResourceQuota says."""
    texts = {key: str(amount) for key, amount in hard.items()}
    world.change(RESOURCE_QUOTA, name, {"spec": {"hard": texts}})


def container(requests: Any = None, limits: Any = None) -> Object:
    """The one container of a job's pods."""
    given = {"requests": requests, "limits": limits}
    return {
        "name": "main",
        "image": "busybox:stable",
        "resources": {k: v for k, v in given.items() if v},
    }
