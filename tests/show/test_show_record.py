"""What the API server has recorded, and what of it should not have been."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from kq.core.kinds import ELASTIC_QUOTA, POD, ResourceKind
from kq.show.cast import Cast, Role, cast_of
from kq.show.kinds import KINDS
from kq.show.manifests import elastic_quota, job
from kq.show.record import Record, record_of
from kq.show.specs import GPU
from kq.sim.api.kinds import Kind
from kq.sim.api.storage import Storage

Object = dict[str, Any]
ROLES = (
    Role(at=0, team="vision", name="a", gpus=3, pods=2, seconds=9),
    Role(at=1, team="vision", name="b", gpus=3, seconds=9),
    Role(at=2, team="speech", name="c", gpus=6, seconds=9, kind="RayCluster"),
)


def cast() -> Cast:
    made = cast_of(1, Random(1))
    return Cast(lab=made.lab, teams=made.teams, roles=ROLES, outage=made.outage)


class Cluster:
    """Puts what happens into a storage, as an API server does."""

    def __init__(self) -> None:
        self._storage = Storage()
        for each in (cast().lab, *cast().teams):
            self._put(ELASTIC_QUOTA, each.name, elastic_quota(each))

    def submit(self, role: Role, *, held: bool = True) -> None:
        self.hold(role, held)

    def hold(self, role: Role, held: bool = True, **status: Any) -> None:
        """The job of a role, held or let go."""
        made = job(role)
        spec = {**made["spec"], "suspend": held}
        self._put(KINDS[role.kind].resource, role.name, {**made, "spec": spec, "status": status})

    def release(self, role: Role) -> None:
        self.hold(role, held=False)

    def end(self, role: Role) -> None:
        told = [{"type": "Complete", "status": "True"}]
        self.hold(role, held=False, conditions=told)

    def pod(self, role: Role, name: str, phase: str = "Running", gpus: int | None = None) -> None:
        asked = {GPU: str(role.gpus if gpus is None else gpus)}
        owner = {"uid": f"{KINDS[role.kind].resource.kind}-{role.name}", "controller": True}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": role.team, "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "main", "resources": {"limits": asked}}]},
            "status": {"phase": phase},
        }
        self._put(POD, name, body)

    def lose(self, role: Role, pod: str) -> None:
        self._remove(POD, role.team, pod)

    def delete(self, role: Role) -> None:
        self._remove(KINDS[role.kind].resource, role.team, role.name)

    def record(self) -> Record:
        return record_of(self._storage, cast())

    def _put(self, kind: ResourceKind, name: str, obj: Object) -> None:
        meta = {"uid": f"{kind.kind}-{name}", **obj["metadata"]}
        self._storage.put(_kind(kind), {**obj, "metadata": meta})

    def _remove(self, kind: ResourceKind, namespace: str, name: str) -> None:
        stored = self._storage.get(_kind(kind), namespace, name)
        assert stored is not None
        self._storage.remove(_kind(kind), stored.read())


def _kind(kind: ResourceKind) -> Kind:
    return Kind(group=kind.group, version=kind.version, kind=kind.kind, plural=kind.plural)


A, B, C = ROLES


def run(cluster: Cluster, role: Role, *pods: str) -> None:
    """It is let go, its pods run and end, and it ends."""
    cluster.release(role)
    for each in pods:
        cluster.pod(role, each)
    for each in pods:
        cluster.pod(role, each, "Succeeded")
    cluster.end(role)


def wrongs(cluster: Cluster) -> Sequence[str]:
    """What was wrong, whatever the versions."""
    return [each.split(", at version")[0] for each in cluster.record().wrongs]


def test_a_day_on_which_all_goes_well() -> None:
    cluster = Cluster()
    cluster.submit(A)
    run(cluster, A, "a-1", "a-2")
    cluster.submit(B)
    run(cluster, B, "b-1")
    found = cluster.record()
    assert found.wrongs == []
    assert found.peaks == {"vision": 6, "lab": 6}
    assert found.stops == 0
    assert found.changes == 4 + 2 * 3 + 3 * 2


def test_one_that_is_stopped_and_comes_back_is_counted() -> None:
    cluster = Cluster()
    cluster.submit(B)
    cluster.release(B)
    cluster.pod(B, "b-1")
    cluster.hold(B)
    cluster.lose(B, "b-1")
    run(cluster, B, "b-2")
    found = cluster.record()
    assert (found.wrongs, found.stops) == ([], 1)


def test_a_job_that_nobody_held() -> None:
    cluster = Cluster()
    cluster.submit(A, held=False)
    assert wrongs(cluster) == ["job vision/a was not held at its submit"]


def test_a_pod_of_a_held_job() -> None:
    cluster = Cluster()
    cluster.submit(A)
    cluster.pod(A, "a-1", "Pending")
    assert wrongs(cluster) == ["job vision/a got a pod while it was held"]


def test_a_pod_of_a_held_job_without_gpus() -> None:
    cluster = Cluster()
    cluster.submit(A)
    cluster.pod(A, "a-1", "Pending", gpus=0)
    assert wrongs(cluster) == ["job vision/a got a pod while it was held"]


def test_a_pod_after_the_end() -> None:
    cluster = Cluster()
    cluster.submit(B)
    run(cluster, B, "b-1")
    cluster.pod(B, "b-2")
    assert wrongs(cluster) == ["job vision/b got a pod after its end"]


def test_a_second_run_after_the_end() -> None:
    cluster = Cluster()
    cluster.submit(B)
    cluster.end(B)
    cluster.hold(B)
    assert wrongs(cluster) == ["job vision/b was let go 1 times, and stopped 1 times"]
    cluster.release(B)
    assert wrongs(cluster) == ["job vision/b was let go after its end"]


def test_one_that_is_let_go_beside_pods_of_its_last_run() -> None:
    cluster = Cluster()
    cluster.submit(B)
    cluster.release(B)
    cluster.pod(B, "b-1")
    cluster.hold(B)
    cluster.release(B)
    assert wrongs(cluster) == ["job vision/b was let go beside pods of its last run"]


def test_more_pods_than_a_job_has() -> None:
    cluster = Cluster()
    cluster.submit(B)
    cluster.release(B)
    cluster.pod(B, "b-1")
    cluster.pod(B, "b-2")
    assert wrongs(cluster) == ["job vision/b had more pods than it asked for"]


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_a_quota_that_is_exceeded_for_one_instant(phase: str) -> None:
    cluster = Cluster()
    for each in (A, B):
        cluster.submit(each)
        cluster.release(each)
    cluster.pod(A, "a-1")
    cluster.pod(A, "a-2")
    cluster.pod(B, "b-1", phase)
    cluster.pod(B, "b-1", "Succeeded")
    assert wrongs(cluster) == ["9 of 8 GPUs of quota vision in use"]
    assert cluster.record().peaks["vision"] == 9


def test_a_quota_of_all_teams_that_is_exceeded() -> None:
    cluster = Cluster()
    for each in ROLES:
        cluster.submit(each)
        cluster.release(each)
    cluster.pod(A, "a-1")
    cluster.pod(A, "a-2")
    cluster.pod(C, "c-1")
    assert wrongs(cluster) == []
    cluster.pod(B, "b-1", gpus=1)
    assert wrongs(cluster) == ["13 of 12 GPUs of quota lab in use"]


def test_one_that_never_ends_by_itself_has_ended_when_it_is_gone() -> None:
    cluster = Cluster()
    cluster.submit(C)
    cluster.release(C)
    cluster.pod(C, "c-1")
    cluster.delete(C)
    cluster.lose(C, "c-1")
    assert cluster.record().wrongs == []
    assert cluster.record().peaks == {"speech": 6, "lab": 6}


def test_what_is_wrong_says_at_which_version() -> None:
    cluster = Cluster()
    cluster.submit(A)
    cluster.pod(A, "a-1")
    (wrong,) = cluster.record().wrongs
    assert wrong.endswith("held, at version 7")


def test_jobs_of_others_are_nobody_s_business() -> None:
    cluster = Cluster()
    stranger = Role(at=0, team="vision", name="stranger", gpus=9, seconds=9)
    cluster.submit(stranger, held=False)
    cluster.pod(stranger, "stranger-1")
    assert cluster.record().wrongs == []
