"""mpi-operator: MPIJob v2beta1, whose launcher is a Job. As of 0.8."""

from collections.abc import Generator, Iterable, Sequence
from datetime import datetime
from typing import TypeAlias

from kq.core.codec import format_time
from kq.core.kinds import Object
from kq.sim.cluster.operators import owning_job
from kq.sim.control.controller import Due, Key, Pace
from kq.sim.control.objects import (
    JOBS,
    PODS,
    controller_of,
    holds,
    is_deleted,
    is_ready,
    phase_of,
    place_of,
    status_of,
    uid_of,
)
from kq.sim.control.view import Happened, Seen, View
from kq.sim.control.writes import Outcome, Plan, Replace, Write, is_written, taken
from kq.sim.kubeflow.launch import OPERATOR, launcher, launcher_name, released, worker
from kq.sim.kubeflow.mpistatus import LAUNCHER, WORKER, Crew, is_finished, tell
from kq.sim.kubeflow.replicas import Role, deletion, is_held, policy_of, roles_of, spec_of
from kq.sim.kubeflow.training import BATCH

MPI_JOBS = "mpijobs.kubeflow.org"
MANAGER = "kubeflow.org/mpi-operator"

_Step: TypeAlias = Generator[Sequence[Write], Sequence[Outcome], None]


class MpiController:
    """Looks at an MPIJob when it, its workers, its launcher or the launcher's pods change."""

    name = OPERATOR
    pace = Pace(first=1.0, longest=60.0)
    kinds: tuple[str, ...] = (MPI_JOBS, JOBS, PODS)

    def concerns(self, happened: Happened, view: View, now: datetime) -> Iterable[Due]:
        """What concerns a job, through its launcher too."""
        obj = happened.newest
        if happened.kind == MPI_JOBS:
            return [Due(Key(*place_of(obj)))]
        owner = owning_job(obj, MPI_JOBS, view)
        if owner is None and happened.kind == PODS:
            launching = owning_job(obj, JOBS, view)
            owner = owning_job(launching, MPI_JOBS, view) if launching is not None else None
        return [Due(Key(*place_of(owner)), BATCH)] if owner is not None else []

    def sync(self, key: Key, view: View, now: datetime) -> Plan:
        """One look at a job, in the order of the real operator."""
        job = view.get(MPI_JOBS, key.namespace, key.name)
        if job is None or is_deleted(job):
            return None
        if policy_of(job).get("managedBy", MANAGER) != MANAGER:
            return None
        crew = crew_of(job, view, now)
        if not crew.status.get("conditions"):
            message = f"MPIJob {crew.place} is created."
            crew.say("Created", "True", "MPIJobCreated", message)
        yield from _clean(crew) if _has_ended(crew) else _look(crew)
        if crew.status != status_of(job):
            body = {**job, "status": crew.status}
            taken((yield [Replace(kind=MPI_JOBS, body=body, subresource="status")]))
        return None


def crew_of(job: Seen, view: View, now: datetime) -> Crew:
    """What belongs to an MPIJob now."""
    jobs = view.owned_of(JOBS, uid_of(job))
    found = next((each for each in jobs if place_of(each)[1] == launcher_name(job)), None)
    workers = view.owned_of(PODS, uid_of(job))
    return Crew(
        job=job,
        workers=sorted(
            (each for each in workers if _manages(job, each)), key=lambda pod: place_of(pod)[1]
        ),
        launcher=found,
        launched=view.owned_of(PODS, uid_of(found)) if found is not None else (),
        status=dict(status_of(job)),
        now=now,
    )


def _manages(job: Seen, pod: Seen) -> bool:
    owner = controller_of(pod)
    return owner is not None and owner["uid"] == uid_of(job)


def _has_ended(crew: Crew) -> bool:
    conditions = crew.status["conditions"]
    is_over = holds(conditions, "Succeeded") or holds(conditions, "Failed")
    return is_over and "completionTime" in crew.status


def _look(crew: Crew) -> _Step:
    job = crew.job
    if not is_held(job):
        crew.status.setdefault("startTime", format_time(crew.now))
    launching, working = _role(job, LAUNCHER, "OnFailure"), _role(job, WORKER, "Never")
    there, crew.workers = crew.workers, []
    if not is_finished(crew.launcher):
        if not is_held(job):
            yield from _work(crew, working, there)
        if crew.launcher is None and launching is not None and _may_launch(crew):
            [crew.launcher] = taken((yield [launcher(job, launching)]))
    if crew.launcher is not None and launching is not None:
        yield from _align(crew, crew.launcher, launching)
    if is_held(job):
        yield from _dismiss(crew, there)
    tell(crew)


def _role(job: Seen, name: str, policy: str) -> Role | None:
    roles = roles_of(job, "mpiReplicaSpecs", (LAUNCHER, WORKER), policy, 0)
    return next((each for each in roles if each.name == name), None)


def _work(crew: Crew, role: Role | None, there: Sequence[Object]) -> _Step:
    """Workers are made and dismissed until there are as many as are wanted."""
    if role is None:
        return
    names = [worker(crew.job, role, index) for index in range(role.replicas)]
    found = {place_of(each)[1]: each for each in there}
    wanted = {each.body["metadata"]["name"]: each for each in names}
    surplus = [pod for name, pod in found.items() if name not in wanted and not is_deleted(pod)]
    yield [deletion(each) for each in surplus]
    lacking = [each for name, each in wanted.items() if name not in found]
    made = taken((yield lacking))
    crew.workers = [*(pod for name, pod in found.items() if name in wanted), *made]


def _may_launch(crew: Crew) -> bool:
    waits = spec_of(crew.job).get("launcherCreationPolicy") == "WaitForWorkersReady"
    return not waits or all(map(is_ready, crew.workers))


def _align(crew: Crew, found: Object, role: Role) -> _Step:
    """The launcher is suspended as the job is, whoever did otherwise."""
    is_held_back = bool(found["spec"].get("suspend"))
    if is_held(crew.job) and not is_held_back:
        body = {**found, "spec": {**found["spec"], "suspend": True}}
        taken((yield [Replace(kind=JOBS, body=body)]))
    elif is_held_back and not is_held(crew.job):
        if "startTime" in status_of(found):
            # The server lets nobody change the template of a Job that has begun.
            status = {key: each for key, each in status_of(found).items() if key != "startTime"}
            body = {**found, "status": status}
            [found] = taken((yield [Replace(kind=JOBS, body=body, subresource="status")]))
        taken((yield [Replace(kind=JOBS, body=released(found, crew.job, role))]))


def _dismiss(crew: Crew, workers: Sequence[Object]) -> _Step:
    """Workers are deleted; those that have ended may be kept."""
    keeps = policy_of(crew.job).get("cleanPodPolicy") == "Running"
    going = [
        each
        for each in workers
        if not is_deleted(each) and not (keeps and phase_of(each) not in ("Running", "Pending"))
    ]
    outcomes = yield [deletion(each) for each in going]
    if not all(map(is_written, outcomes)):
        taken(outcomes)


def _clean(crew: Crew) -> _Step:
    """What ends with the job: its workers, if the run policy says so."""
    if policy_of(crew.job).get("cleanPodPolicy", "None") != "None":
        yield from _dismiss(crew, crew.workers)
        crew.count(WORKER)
