"""ResourceQuotas and pods as people write them."""

import json
from typing import Any

from builders import stamp

from kq.core import codec
from kq.core.model import PodSet, Template
from kq.core.options import QuotaOptions
from kq.core.quotaviews import ResourceQuota, resource_quota
from kq.core.resources import plain
from kq.quota.resourcequota import ResourceQuotas

Spec = dict[str, Any]


def rq(name: str = "rq", *, namespace: str = "team-a", status: Any = None, **spec: Any) -> Any:
    """A ResourceQuota, read; its parts as in the object (`hard`, `scopes`, `scopeSelector`)."""
    body: dict[str, Any] = {
        "metadata": {
            "namespace": namespace,
            "name": name,
            "uid": f"uid-of-{namespace}-{name}",
            "resourceVersion": "1",
            "creationTimestamp": stamp(0),
        },
        "spec": spec,
    }
    if status is not None:
        body["status"] = {"hard": status}
    found: ResourceQuota = resource_quota(json.dumps(body).encode())
    return found


def about(**selected: Any) -> dict[str, Any]:
    """A scope selector with one expression: `about(PriorityClass=("In", "high"))`."""
    expressions = [
        {"scopeName": name, "operator": operator, "values": values}
        for name, (operator, *values) in selected.items()
    ]
    return {"matchExpressions": expressions}


def container(
    name: str = "main", requests: Any = None, limits: Any = None, **fields: Any
) -> dict[str, Any]:
    """A container."""
    resources = {"requests": requests, "limits": limits}
    return {
        "name": name,
        "image": "busybox",
        "resources": {key: value for key, value in resources.items() if value is not None},
        **fields,
    }


def pod_template(*containers: dict[str, Any], **spec: Any) -> Template:
    """A pod template; its containers request 1 cpu if none are given."""
    listed = list(containers) or [container(requests={"cpu": 1})]
    return codec.template_of({"spec": {"containers": listed, **spec}})


def pods(*containers: dict[str, Any], name: str = "main", count: int = 1, **spec: Any) -> PodSet:
    """The pods of one role."""
    return PodSet(name=name, count=count, wanted=count, template=pod_template(*containers, **spec))


def picture(*quotas: ResourceQuota, **options: Any) -> ResourceQuotas:
    """All ResourceQuotas there are."""
    return ResourceQuotas.build(QuotaOptions(**options), quotas)


def counted(of: ResourceQuotas, template: Template) -> dict[str, dict[str, str]]:
    """What one pod counts for, by quota and key."""
    found: dict[str, dict[str, str]] = {}
    charged = of.of_pod("team-a", template)
    for key, amount in charged.to_wire().items():
        found.setdefault(key.partition("@")[2], {})[plain(key)] = amount
    return found
