"""Jobs of every operator are held by their suspend field, and run to their end without it."""

import ssl
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPSConnection
from typing import Any

import pytest

from controlplane.cluster import Cluster, Object
from controlplane.errors import Refused
from controlplane.operators import examples

Check = Callable[[Object], object]


def has(condition: str) -> Check:
    return lambda found: any(
        each["type"] == condition and each["status"] == "True"
        for each in found.get("status", {}).get("conditions", [])
    )


def status_is(value: str, *path: str) -> Check:
    def check(found: Object) -> bool:
        seen = found.get("status", {})
        for key in path:
            seen = seen.get(key, {})
        return bool(seen == value)

    return check


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How a job of one kind is made, held, let go and seen to have ended."""

    listed: str
    make: Callable[[str], Object]
    held: Check
    ended: Check
    release: Object = field(default_factory=lambda: {"spec": {"suspend": False}})


def training(kind: str) -> Kind:
    return Kind(
        listed=f"/apis/kubeflow.org/v1/namespaces/{{}}/{kind.lower()}s",
        make=lambda name: examples.training_job(kind, name),
        held=has("Suspended"),
        ended=has("Succeeded"),
        release={"spec": {"runPolicy": {"suspend": False}}},
    )


MPI = Kind(
    listed="/apis/kubeflow.org/v2beta1/namespaces/{}/mpijobs",
    make=examples.mpi_job,
    held=has("Suspended"),
    ended=has("Succeeded"),
    release={"spec": {"runPolicy": {"suspend": False}}},
)
JOB_SET = Kind(
    listed="/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets",
    make=examples.job_set,
    held=has("Suspended"),
    ended=has("Completed"),
)
TRAIN_JOB = Kind(
    listed="/apis/trainer.kubeflow.org/v1alpha1/namespaces/{}/trainjobs",
    make=lambda name: examples.train_job(name, runtime="torch"),
    held=has("Suspended"),
    ended=has("Complete"),
)
RAY_JOB = Kind(
    listed="/apis/ray.io/v1/namespaces/{}/rayjobs",
    make=examples.ray_job,
    held=status_is("Suspended", "jobDeploymentStatus"),
    ended=status_is("Complete", "jobDeploymentStatus"),
)
RAY_JOB_BY_HTTP = Kind(
    listed="/apis/ray.io/v1/namespaces/{}/rayjobs",
    make=lambda name: examples.ray_job(name, mode="HTTPMode"),
    held=status_is("Suspended", "jobDeploymentStatus"),
    ended=status_is("Complete", "jobDeploymentStatus"),
)
RAY_CLUSTER = Kind(
    listed="/apis/ray.io/v1/namespaces/{}/rayclusters",
    make=examples.ray_cluster,
    held=status_is("suspended", "state"),
    ended=status_is("ready", "state"),
)
WORKFLOW = Kind(
    listed="/apis/argoproj.io/v1alpha1/namespaces/{}/workflows",
    make=examples.workflow,
    held=status_is("Running", "phase"),
    ended=status_is("Succeeded", "phase"),
    release={"spec": {"suspend": None}},
)
SPARK = Kind(
    listed="/apis/sparkoperator.k8s.io/v1beta2/namespaces/{}/sparkapplications",
    make=examples.spark_application,
    held=status_is("SUSPENDED", "applicationState", "state"),
    ended=status_is("COMPLETED", "applicationState", "state"),
)


def marked(operator: str, name: str, kind: Kind) -> object:
    return pytest.param(kind, id=name, marks=pytest.mark.operators(operator))


@pytest.mark.parametrize(
    "kind",
    [
        *(marked("training", each, training(each)) for each in examples.TRAINING),
        marked("mpi", "MPIJob v2beta1", MPI),
        marked("jobset", "JobSet", JOB_SET),
        marked("ray", "RayJob", RAY_JOB),
        marked("ray", "RayJob by HTTP", RAY_JOB_BY_HTTP),
        marked("ray", "RayCluster", RAY_CLUSTER),
        marked("argo", "Workflow", WORKFLOW),
        marked("spark", "SparkApplication", SPARK),
    ],
)
def test_a_suspended_job_has_no_pods_and_a_resumed_one_runs_to_its_end(
    control_plane: Cluster, namespace: str, kind: Kind
) -> None:
    check_held_then_run(control_plane, namespace, kind)


@pytest.mark.operators("trainer")
def test_a_train_job_is_held_and_run_through_all_its_layers(
    control_plane: Cluster, namespace: str
) -> None:
    runtimes = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"
    control_plane.api("POST", runtimes, examples.training_runtime("torch"))
    check_held_then_run(control_plane, namespace, TRAIN_JOB)


def check_held_then_run(cluster: Cluster, namespace: str, kind: Kind) -> None:
    listed = kind.listed.format(namespace)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    cluster.api("POST", listed, kind.make("a"))
    cluster.wait(f"{listed}/a", kind.held)
    assert cluster.api("GET", pods)["items"] == []
    cluster.api("PATCH", f"{listed}/a", kind.release)
    cluster.wait(f"{listed}/a", kind.ended)
    played = {each["status"]["phase"] for each in cluster.api("GET", pods)["items"]}
    assert "Pending" not in played


@pytest.mark.operators("training", "jobset", "trainer")
@pytest.mark.parametrize(
    ("path", "refused"),
    [
        pytest.param(
            "/apis/kubeflow.org/v1/namespaces/{}/tfjobs",
            examples.training_job("TFJob", "no.label"),
            id="TFJob",
        ),
        pytest.param(
            "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets",
            examples.job_set("a" * 63),
            id="JobSet",
        ),
        pytest.param(
            "/apis/trainer.kubeflow.org/v1alpha1/namespaces/{}/trainjobs",
            examples.train_job("a", runtime="of-nobody"),
            id="TrainJob",
        ),
    ],
)
def test_the_webhook_of_an_operator_refuses_what_it_does_not_like(
    control_plane: Cluster, namespace: str, path: str, refused: Object
) -> None:
    with pytest.raises(Refused, match=r'40[03] .* admission webhook ".*" denied the request'):
        control_plane.api("POST", path.format(namespace), refused)


@pytest.mark.operators("ray")
def test_of_the_webhooks_in_its_manifests_ray_serves_one(control_plane: Cluster) -> None:
    """The others would refuse every job: a webhook that answers 404 has failed."""
    listed = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    made = control_plane.api("GET", f"{listed}/kuberay-validating-webhook-configuration")
    [called] = [each["clientConfig"]["service"] for each in made["webhooks"]]
    assert called["path"] == "/validate-ray-io-v1-raycluster"
    answers = {
        kind: answer_to(called["port"], f"/validate-ray-io-v1-{kind}")
        for kind in ("raycluster", "rayjob", "rayservice")
    }
    assert answers == {"raycluster": 200, "rayjob": 404, "rayservice": 404}


def answer_to(port: int, path: str) -> int:
    """The status of what a webhook on loopback says to a request that is no review."""
    # Its certificate is for the name of a Service.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with closing(HTTPSConnection("localhost", port, context=context, timeout=10)) as connection:
        connection.request("POST", path, b"{}", {"Content-Type": "application/json"})
        return connection.getresponse().status


@pytest.mark.operators("ray")
def test_a_ray_job_with_an_id_of_its_own_runs_anew_after_a_suspension(
    control_plane: Cluster, namespace: str
) -> None:
    listed = RAY_JOB.listed.format(namespace)
    made = examples.ray_job("a", suspend=False, run_for="forever")
    made["spec"]["jobId"] = "chosen"
    control_plane.api("POST", listed, made)
    running = status_is("RUNNING", "jobStatus")
    first = control_plane.wait(f"{listed}/a", running)["status"]["rayClusterName"]
    control_plane.api("PATCH", f"{listed}/a", {"spec": {"suspend": True}})
    control_plane.wait(f"{listed}/a", RAY_JOB.held)
    control_plane.api("PATCH", f"{listed}/a", RAY_JOB.release)
    second = control_plane.wait(f"{listed}/a", running)["status"]
    assert second["rayClusterName"] != first
    assert second["jobId"] == "chosen"


@pytest.mark.operators("ray")
def test_a_ray_job_whose_submitter_fails_has_failed(control_plane: Cluster, namespace: str) -> None:
    listed = RAY_JOB.listed.format(namespace)
    made = examples.ray_job("a", suspend=False)
    made["spec"]["submitterPodTemplate"]["metadata"]["annotations"] = {"fail-after": "0s"}
    made["spec"]["submitterConfig"] = {"backoffLimit": 0}
    control_plane.api("POST", listed, made)
    control_plane.wait(f"{listed}/a", status_is("Failed", "jobDeploymentStatus"))


@pytest.mark.operators("spark")
def test_the_pods_of_a_spark_application_go_with_it(control_plane: Cluster, namespace: str) -> None:
    listed = SPARK.listed.format(namespace)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    control_plane.api(
        "POST", listed, examples.spark_application("a", suspend=False, run_for="forever")
    )
    control_plane.wait(f"{listed}/a", status_is("RUNNING", "applicationState", "state"))
    # A pod that is deleted in the second in which it was made keeps KWOK busy for longer.
    control_plane.wait(pods, lambda found: phases(found) == ["Running"] * 3)
    control_plane.api("DELETE", f"{listed}/a")
    control_plane.wait(pods, lambda found: not found["items"], seconds=90.0)


def phases(pods: Any) -> list[str]:
    """Of a list of pods."""
    return [each["status"]["phase"] for each in pods["items"]]
