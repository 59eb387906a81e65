"""Jobs of the training, MPI, JobSet and Trainer operators."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from controlplane.operators import examples
from ground import Object
from kind_cases import KindCase, Needed, Played, has, policy_suspends, spec_suspends

from kq.core.kinds import ResourceKind


def training(kind: str, suffix: str) -> KindCase:
    """A job of the training operator: a leader and two workers."""
    leader = examples.TRAINING[kind][2].lower()
    return KindCase(
        kind=ResourceKind("kubeflow.org", "v1", kind, f"{kind.lower()}s"),
        operators=("training",),
        suffix=suffix,
        manifest=partial(training_job, kind),
        pods=3,
        cpu=3,
        pod_sets=((leader, 1), ("worker", 2)),
        is_held=policy_suspends,
        is_noticed=has("Suspended"),
        is_ended=has("Succeeded"),
        suspension={"spec": {"runPolicy": {"suspend": True}}},
        shown="Queuing",
    )


def training_job(kind: str, name: str, played: Played) -> Object:
    """Its pods go with its leader, so that it leaves nothing that counts."""
    job = examples.training_job(kind, name, run_for=played.run_for, linger_for=played.linger_for)
    job["spec"]["runPolicy"] = {"cleanPodPolicy": "Running"}
    for replicas in job["spec"][examples.TRAINING[kind][0]].values():
        [container] = replicas["template"]["spec"]["containers"]
        container["resources"]["requests"] |= OPERATORS_OWN
    return job


def mpi_job(name: str, played: Played) -> Object:
    """Of the MPI operator, with nothing said of suspension."""
    job = examples.mpi_job(name, run_for=played.run_for)
    job["spec"]["runPolicy"] = {"cleanPodPolicy": "Running"}
    for replicas in job["spec"]["mpiReplicaSpecs"].values():
        replicas["template"]["metadata"]["annotations"]["linger-for"] = played.linger_for
    return job


def job_set(name: str, played: Played) -> Object:
    """A driver and two workers."""
    job = examples.job_set(name, run_for=played.run_for)
    del job["spec"]["suspend"]
    for each in job["spec"]["replicatedJobs"]:
        pod = each["template"]["spec"]["template"]
        pod["metadata"]["annotations"]["linger-for"] = played.linger_for
    return job


def train_job(name: str, played: Played) -> Object:
    """Two nodes."""
    job = examples.train_job(name, runtime=name)
    del job["spec"]["suspend"]
    job["spec"]["runtimeRef"]["kind"] = RUNTIME.kind
    return job


def training_runtime(name: str, played: Played) -> Sequence[Needed]:
    """What the TrainJob of that name is made from."""
    runtime = examples.training_runtime(name, run_for=played.run_for)
    runtime["kind"] = RUNTIME.kind
    [job] = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    pod = job["template"]["spec"]["template"]
    pod["metadata"]["annotations"]["linger-for"] = played.linger_for
    return [(RUNTIME, runtime)]


OPERATORS_OWN = {"memory": "512Mi", "ephemeral-storage": "5Gi"}
"""What init containers ask that the training operator adds to workers of PyTorch and launchers of
MPI. Pods with less than that ask for more than their job says."""
RUNTIME = ResourceKind("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime", "trainingruntimes")
MPI_JOB = replace(
    training("MPIJob", "-mpi-qu"),
    kind=ResourceKind("kubeflow.org", "v2beta1", "MPIJob", "mpijobs"),
    operators=("mpi",),
    manifest=mpi_job,
)
JOB_SET = KindCase(
    kind=ResourceKind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"),
    operators=("jobset",),
    suffix="-jobset-qu",
    manifest=job_set,
    pods=3,
    cpu=3,
    pod_sets=(("driver", 1), ("workers", 2)),
    is_held=spec_suspends,
    is_noticed=has("Suspended"),
    is_ended=has("Completed"),
    suspension={"spec": {"suspend": True}},
)
TRAIN_JOB = KindCase(
    kind=ResourceKind("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs"),
    operators=("trainer",),
    suffix="-train-qu",
    manifest=train_job,
    pods=2,
    cpu=2,
    pod_sets=(("node", 2),),
    is_held=spec_suspends,
    is_noticed=has("Suspended"),
    is_ended=has("Complete"),
    suspension={"spec": {"suspend": True}},
    set_by_us=(("spec", "suspend"), ("spec", "runtimePatches")),
    needs=training_runtime,
)
TF_JOB = training("TFJob", "-tf-qu")
PYTORCH_JOB = training("PyTorchJob", "-py-qu")

CASES = (
    TF_JOB,
    PYTORCH_JOB,
    training("XGBoostJob", "-xgb-qu"),
    training("PaddleJob", "-paddle-qu"),
    training("MPIJob", "-mpi-qu"),
    MPI_JOB,
    JOB_SET,
    TRAIN_JOB,
)
