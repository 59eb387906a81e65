"""The cluster behaves as one with real nodes: Jobs run, fail, wait and linger as told."""

import json
from collections.abc import Callable
from subprocess import CompletedProcess

import pytest

from controlplane.cluster import Cluster, Object
from controlplane.errors import ControlPlaneError, Refused


def job(name: str, *, suspend: bool = False, **annotations: str) -> Object:
    """A Job of one pod that KWOK plays as the annotations say."""
    steering = {key.replace("_", "-"): value for key, value in annotations.items()}
    container = {"name": "main", "image": "example.com/none", "command": ["true"]}
    template = {
        "metadata": {"annotations": steering},
        "spec": {"containers": [container], "restartPolicy": "Never"},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"suspend": suspend, "backoffLimit": 0, "template": template},
    }


def has_condition(kind: str) -> Callable[[Object], bool]:
    return lambda found: any(
        condition["type"] == kind and condition["status"] == "True"
        for condition in found["status"].get("conditions", [])
    )


def pods_of(cluster: Cluster, namespace: str) -> list[Object]:
    return list(cluster.api("GET", f"/api/v1/namespaces/{namespace}/pods")["items"])


@pytest.fixture
def jobs(namespace: str) -> str:
    return f"/apis/batch/v1/namespaces/{namespace}/jobs"


def test_a_job_runs_to_its_end(control_plane: Cluster, jobs: str) -> None:
    control_plane.api("POST", jobs, job("short", run_for="1s"))
    done = control_plane.wait(f"{jobs}/short", has_condition("Complete"))
    assert done["status"]["succeeded"] == 1


def test_a_job_fails_when_it_is_told_to(control_plane: Cluster, jobs: str) -> None:
    control_plane.api("POST", jobs, job("broken", run_for="1h", fail_after="0s"))
    done = control_plane.wait(f"{jobs}/broken", has_condition("Failed"))
    assert done["status"]["failed"] == 1


def test_a_suspended_job_has_no_pods_until_it_is_resumed(
    control_plane: Cluster, jobs: str, namespace: str
) -> None:
    control_plane.api("POST", jobs, job("held", suspend=True, run_for="forever"))
    control_plane.wait(f"{jobs}/held", has_condition("Suspended"))
    assert pods_of(control_plane, namespace) == []
    control_plane.api("PATCH", f"{jobs}/held", {"spec": {"suspend": False}})
    running = control_plane.wait(f"{jobs}/held", lambda found: found["status"].get("ready"))
    assert running["status"]["active"] == 1


def test_the_pods_of_a_suspended_job_linger_as_long_as_told(
    control_plane: Cluster, jobs: str, namespace: str
) -> None:
    slow = job("slow", run_for="forever", linger_for="2s")
    control_plane.api("POST", jobs, slow)
    control_plane.wait(f"{jobs}/slow", lambda found: found["status"].get("ready"))
    control_plane.api("PATCH", f"{jobs}/slow", {"spec": {"suspend": True}})
    control_plane.wait(f"{jobs}/slow", has_condition("Suspended"))
    [lingering] = pods_of(control_plane, namespace)
    assert "deletionTimestamp" in lingering["metadata"]
    control_plane.wait_gone(f"/api/v1/namespaces/{namespace}/pods/{lingering['metadata']['name']}")


def test_a_pod_starts_no_sooner_than_told(
    control_plane: Cluster, jobs: str, namespace: str
) -> None:
    control_plane.api("POST", jobs, job("late", start_after="1h"))
    control_plane.wait(f"{jobs}/late", lambda found: found["status"].get("active"))
    [pod] = pods_of(control_plane, namespace)
    path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}"
    scheduled = control_plane.wait(path, has_condition("PodScheduled"))
    assert scheduled["status"]["phase"] == "Pending"


def test_a_gated_pod_is_not_played(control_plane: Cluster, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    spec = {"containers": [{"name": "main", "image": "example.com/none"}]}
    gates = {"schedulingGates": [{"name": "example.com/hold"}]}
    control_plane.api("POST", pods, {"metadata": {"name": "gated"}, "spec": {**spec, **gates}})
    control_plane.api("POST", pods, {"metadata": {"name": "open"}, "spec": spec})
    control_plane.wait(f"{pods}/open", lambda found: found["status"]["phase"] == "Succeeded")
    assert control_plane.api("GET", f"{pods}/gated")["status"]["phase"] == "Pending"


def test_an_owned_object_goes_with_its_owner(
    control_plane: Cluster, jobs: str, namespace: str
) -> None:
    control_plane.api("POST", jobs, job("owner", run_for="forever"))
    control_plane.wait(f"{jobs}/owner", lambda found: found["status"].get("ready"))
    [pod] = pods_of(control_plane, namespace)
    control_plane.api("DELETE", f"{jobs}/owner", {"propagationPolicy": "Background"})
    control_plane.wait_gone(f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}")


def test_the_nodes_have_room_for_everything(control_plane: Cluster) -> None:
    nodes = control_plane.api("GET", "/api/v1/nodes")["items"]
    assert [node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes] == ["1k", "1k"]


def test_kubectl_talks_to_the_same_cluster(
    kubectl: Callable[..., CompletedProcess[str]], namespace: str
) -> None:
    kubectl("create", "-f", "-", "-n", namespace, input=json.dumps(job("by-hand", suspend=True)))
    assert kubectl("get", "jobs", "-n", namespace, "-o", "name").stdout == "job.batch/by-hand\n"


def test_a_failure_of_kubectl_shows_what_it_said(
    kubectl: Callable[..., CompletedProcess[str]], namespace: str
) -> None:
    with pytest.raises(ControlPlaneError, match=r"kubectl get job none .* not found"):
        kubectl("get", "job", "none", "-n", namespace)
    assert kubectl("get", "job", "none", "-n", namespace, check=False).returncode == 1


def test_a_refused_request_says_why(control_plane: Cluster, jobs: str) -> None:
    with pytest.raises(Refused, match=r"404 NotFound: GET .* jobs.batch \"none\" not found"):
        control_plane.api("GET", f"{jobs}/none")


def test_waiting_in_vain_shows_the_last_that_was_seen(control_plane: Cluster, jobs: str) -> None:
    control_plane.api("POST", jobs, job("idle", suspend=True))
    with pytest.raises(ControlPlaneError, match=r"(?s)idle after 0.1 s: .*\"suspend\": true"):
        control_plane.wait(f"{jobs}/idle", has_condition("Complete"), seconds=0.1)


def test_a_cluster_without_an_audit_log_says_so(control_plane: Cluster) -> None:
    with pytest.raises(ControlPlaneError, match="without audit=True"):
        next(control_plane.audit())


def test_the_audit_log_holds_every_write_once(audited_control_plane: Cluster) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    audited_control_plane.api("POST", maps, {"metadata": {"name": "counted"}})
    audited_control_plane.api("PATCH", f"{maps}/counted", {"data": {"a": "1"}})
    written = [
        event["verb"]
        for event in audited_control_plane.audit()
        if event.get("objectRef", {}).get("name") == "counted"
    ]
    assert written == ["create", "patch"]


def test_two_control_planes_know_nothing_of_each_other(
    control_plane: Cluster, audited_control_plane: Cluster
) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    audited_control_plane.api("POST", maps, {"metadata": {"name": "only-there"}})
    names = [each["metadata"]["name"] for each in control_plane.api("GET", maps)["items"]]
    assert "only-there" not in names
