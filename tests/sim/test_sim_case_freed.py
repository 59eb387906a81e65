"""Room that is made for somebody, with jobs of other kinds, simulated: F1, F4 and F5."""

from collections.abc import Callable

import kind_cases_data as data
import kind_cases_kubeflow as kubeflow
import pytest
from kind_cases import KindCase
from kind_world import KindWorld
from sim_case import Case
from test_sim_case_kinds import stage_of

from kq.core import keys
from kq.core.kinds import QUEUE_UNIT

PREEMPTS = {keys.ENABLE_PREEMPTION[0]: "true"}
TF_JOB, JOB_SET, SPARK = kubeflow.TF_JOB, kubeflow.JOB_SET, data.SPARK_APPLICATION


def evictions(case: Case, unit: str) -> int:
    """How often its grants were taken for another one."""
    told = case.world.events(unit, QUEUE_UNIT)
    return sum(each.get("count", 1) for each in told if each["reason"] == "Preempted")


EVICTABLE = (TF_JOB, kubeflow.MPI_JOB, JOB_SET, kubeflow.TRAIN_JOB, data.RAY_JOB, SPARK)


@pytest.mark.parametrize("kind", EVICTABLE, ids=lambda kind: kind.id)
def test_f1_a_job_loses_its_place_once_and_to_one_that_can_use_it(kind: KindCase) -> None:
    """Case F1: the hopeless one before it takes nothing."""
    with stage_of(kind) as case:
        world, jobs = case.world, KindWorld.of(case.world, kind)
        quota = world.quota("a", cpu=kind.cpu, annotations=PREEMPTS)
        case.passes(2)
        jobs.submit("low", quota, linger_for="5s")
        jobs.wait_running("low")
        world.job("big", quota, cpu=kind.cpu + 1, priority=9)
        world.job("mid", quota, cpu=kind.cpu, priority=8)
        world.wait_phase("mid", "Running")
        case.passes(300)
        low = jobs.unit("low")
        assert case.phases() == {low: "Enqueued", "big": "Enqueued", "mid": "Running"}
        assert evictions(case, low) == 1
        assert kind.is_held(jobs.wait("low", bool))


class Evicting:
    """Two jobs of the kind give back for one of higher priority; the first takes long."""

    def __init__(self, case: Case, kind: KindCase) -> None:
        self.case, self.world = case, case.world
        self.jobs = KindWorld.of(case.world, kind)
        self.units = [self.jobs.unit(each) for each in ("v1", "v2")]
        self.quota = self.world.quota("a", cpu=2 * kind.cpu, annotations=PREEMPTS)
        case.passes(2)
        for name, lingers in (("v1", "60s"), ("v2", "15s")):
            self.jobs.submit(name, self.quota, linger_for=lingers)
            self.jobs.wait_running(name)
        self.world.job("high", self.quota, cpu=2 * kind.cpu, priority=9)
        case.until(lambda: sum(evictions(case, each) for each in self.units) == 2, "they leave")
        case.passes(2)

    def delete_job(self) -> None:
        self.jobs.delete("v1")

    def delete_unit(self) -> None:
        self.world.delete_unit(self.units[0])


LOSSES = [
    pytest.param(TF_JOB, Evicting.delete_job, id="TFJob is deleted"),
    pytest.param(TF_JOB, Evicting.delete_unit, id="unit of a TFJob is deleted"),
    pytest.param(JOB_SET, Evicting.delete_job, id="JobSet is deleted"),
    pytest.param(data.RAY_CLUSTER, Evicting.delete_unit, id="unit of a RayCluster is deleted"),
    pytest.param(SPARK, Evicting.delete_job, id="SparkApplication is deleted"),
]


@pytest.mark.parametrize(("kind", "loses"), LOSSES)
def test_f4_what_a_victim_gives_back_is_kept_while_the_pods_of_another_end(
    kind: KindCase, loses: Callable[[Evicting], None]
) -> None:
    """Case F4, spec 13.6: its job or unit is gone, its pods are not; nobody slips in between."""
    with stage_of(kind) as case:
        stage = Evicting(case, kind)
        waits = case.message("high")
        assert waits.startswith(f"waiting for 2 unit(s) to give back quota {stage.quota}: ")
        loses(stage)
        stage.world.job("slips", stage.quota, cpu=kind.cpu, priority=1)
        case.passes(4)
        assert case.message("high") == waits
        case.until(lambda: case.phases()["high"] == "Running", "all have given back", 160)
        case.passes(5)
        assert case.phases()["slips"] == "Enqueued"
        assert stage.world.unit("slips")["status"].get("attempts", 0) == 0
        assert evictions(case, stage.units[1]) == 1


def goes(stage: Evicting) -> None:
    stage.world.delete_job("high")


def is_stopped(stage: Evicting) -> None:
    stage.world.change_unit("high", {"spec": {"active": False}})


def is_lowered(stage: Evicting) -> None:
    stage.world.change_unit("high", {"spec": {"priority": -5}})


def finds_room(stage: Evicting) -> None:
    stage.world.set_limits(stage.quota, cpu=99)


@pytest.mark.parametrize("kind", [TF_JOB, SPARK], ids=lambda kind: kind.id)
@pytest.mark.parametrize("changes", [goes, is_stopped, is_lowered, finds_room])
def test_f4_those_who_left_for_nobody_come_back_at_once(
    kind: KindCase, changes: Callable[[Evicting], None]
) -> None:
    """Cases F4, F5: what has begun is completed, then all are at their old places."""
    with stage_of(kind) as case:
        stage = Evicting(case, kind)
        changes(stage)
        stage.world.job("later", stage.quota, cpu=2 * kind.cpu)
        back = dict.fromkeys(stage.units, "Running")
        case.until(lambda: case.phases().items() >= back.items(), "both run again", 200)
        for unit in stage.units:
            assert stage.world.unit(unit)["status"]["attempts"] == 2
            assert evictions(case, unit) == 1
        case.onlooker.wrongs.clear()
