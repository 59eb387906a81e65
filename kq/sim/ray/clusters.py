"""KubeRay's controller of RayClusters: a head and groups of workers, all of them or none."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from kq.sim.cluster.operators import OperatorController
from kq.sim.control.controller import Due, Key, Pace
from kq.sim.control.objects import PODS, holds, is_deleted, is_ended, status_of
from kq.sim.control.view import Happened, Known, Seen, View
from kq.sim.control.writes import Plan, Write, is_written, taken
from kq.sim.ray.clusterstatus import status_after
from kq.sim.ray.parts import (
    OPERATOR,
    RAY_CLUSTERS,
    deletion,
    is_foreign,
    is_of_status,
    replaced,
)
from kq.sim.ray.pods import group_of, head, wanted, workers

REQUEUE: Final = timedelta(seconds=2)
"""After what it wrote of itself it comes again so late, if nothing else happens."""


class RayClusters:
    """The operator of RayClusters."""

    name = OPERATOR
    kind = RAY_CLUSTERS
    children: tuple[str, ...] = (PODS,)
    batch = 0.0

    def sync(self, cluster: Seen, children: Sequence[Known], now: datetime) -> Plan:
        """Its pods made or ended, then what it says of them."""
        if is_deleted(cluster) or is_foreign(cluster):
            return None
        pods = [each.obj for each in children]
        outcomes = yield list(_pod_writes(cluster, pods))
        status = status_after(cluster, pods, now)
        is_news = status != status_of(cluster)
        if is_news:
            taken((yield [replaced(RAY_CLUSTERS, cluster, status)]))
        if not all(map(is_written, outcomes)):
            taken(outcomes)
        if not is_news:
            return None
        return REQUEUE if pods or _was_suspended(cluster) else timedelta(0)


class RayClusterController:
    """Looks at a RayCluster when its spec or one of its pods changes."""

    name = OPERATOR
    pace = Pace(first=1.0, longest=60.0)

    def __init__(self) -> None:
        self._operator = OperatorController(RayClusters())
        self.kinds = self._operator.kinds

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """What concerns a RayCluster but what its status says."""
        if happened.kind == RAY_CLUSTERS and is_of_status(happened):
            return ()
        return self._operator.concerns(happened, view, now)

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """One look at a RayCluster."""
        return (yield from self._operator.sync(key, view, now))


def _pod_writes(cluster: Seen, pods: Sequence[Seen]) -> Iterable[Write]:
    """What is to be done about its pods; one that is ending still takes a place."""
    conditions = status_of(cluster).get("conditions")
    if holds(conditions, "RayClusterSuspending"):
        return [deletion(PODS, pod) for pod in pods if not is_deleted(pod)]
    if holds(conditions, "RayClusterSuspended") or cluster["spec"].get("suspend"):
        return []
    over = [pod for pod in pods if is_ended(pod) and not is_deleted(pod)]
    writes: list[Write] = [deletion(PODS, pod) for pod in over]
    present = [pod for pod in pods if not is_ended(pod)]
    if not any(group_of(pod) == "headgroup" for pod in pods):
        writes.append(head(cluster))
    for group in cluster["spec"].get("workerGroupSpecs") or ():
        mine = [pod for pod in present if group_of(pod) == group["groupName"]]
        count = wanted(group)
        writes += workers(cluster, group, mine, count - len(mine))
        writes += [deletion(PODS, pod) for pod in mine[count:] if not is_deleted(pod)]
    return writes


def _was_suspended(cluster: Seen) -> bool:
    return holds(status_of(cluster).get("conditions"), "RayClusterSuspended")
