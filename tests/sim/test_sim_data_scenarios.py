"""The end-to-end scenarios of Ray, Spark and Argo with simulated operators, word for word."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import test_e2e_data_ray as ray
import test_e2e_data_spark as spark
import test_e2e_data_workflow as argo
from kind_cases import KindCase
from kind_cases_data import RAY_CLUSTER, RAY_JOB, SPARK_APPLICATION, WORKFLOW
from kind_world import KindWorld
from simulated_ground import manifests, simulated_ground
from world import World

from kq.core.kinds import NAMESPACE, ResourceKind
from kq.jobs import INTEGRATIONS
from kq.settings import Settings
from kq.sim.world import Terms

SERVICE_ACCOUNT = ResourceKind("", "v1", "ServiceAccount", "serviceaccounts")
NAME = "test-a"

Scenario = Callable[[World, KindWorld], None]
BY_THEIR_EXAMPLES: list[tuple[KindCase, list[Scenario]]] = [
    (RAY_CLUSTER, [ray.test_a_cluster_that_a_person_suspends_frees_its_quota_and_stays_down]),
    (
        SPARK_APPLICATION,
        [
            spark.test_an_application_counts_until_its_last_executor_is_gone,
            spark.test_executors_count_once_and_to_their_application,
            spark.test_a_driver_without_an_owner_counts_by_its_label,
            spark.test_a_changed_application_runs_anew_and_counts_as_it_is_now,
        ],
    ),
    (
        WORKFLOW,
        [
            argo.test_a_workflow_with_a_suspend_template_of_its_own_is_queued_by_its_min_resources,
            argo.test_what_a_user_wrote_is_as_without_a_queue_once_the_workflow_has_run,
            argo.test_only_suspend_nodes_of_the_queue_s_own_template_are_let_go,
            argo.test_a_workflow_that_waits_holds_no_lock_and_takes_it_when_it_is_let_go,
            argo.test_a_workflow_that_is_shut_down_while_it_waits_needs_no_quota_to_end,
            argo.test_a_workflow_with_an_exit_handler_waits_its_turn_though_it_is_shut_down,
            argo.test_the_time_in_the_queue_does_not_count_against_a_deadline,
            argo.test_a_workflow_that_says_not_what_it_needs_is_counted_by_its_largest_pod,
            argo.test_a_workflow_that_is_tried_again_counts_at_once,
        ],
    ),
]
OF_THEIR_OWN: dict[Scenario, KindCase] = {
    ray.test_a_ray_job_ends_for_the_queue_when_its_cluster_is_gone: replace(
        RAY_JOB, manifest=ray.kept_cluster
    ),
    ray.test_a_ray_job_that_is_not_valid_fails_while_it_waits: replace(
        RAY_JOB, manifest=ray.never_valid
    ),
    ray.test_a_ray_job_that_waits_for_its_user_cannot_be_stopped: replace(
        ray.SUBMITTED_BY_THE_OPERATOR, manifest=ray.interactive
    ),
}
SCENARIOS = [
    *((scenario, case) for case, found in BY_THEIR_EXAMPLES for scenario in found),
    *OF_THEIR_OWN.items(),
]
"""Those that need no more than these operators' own kinds, and kq as it is in a simulation."""


@pytest.fixture
def world(case: KindCase) -> Iterator[World]:
    """A namespace on a cluster with the operator of a kind, whose jobs kq queues."""
    settings = Settings()
    settings = replace(settings, jobs=replace(settings.jobs, enabled=tuple(INTEGRATIONS)))
    terms = Terms(objects=manifests(), settings=settings, operators=case.operators)
    with simulated_ground(terms=terms) as ground:
        ground.create(NAMESPACE, {"metadata": {"name": NAME}})
        ground.wait(SERVICE_ACCOUNT, NAME, "default", bool)
        yield World(ground=ground, namespace=NAME)


@pytest.mark.parametrize(
    ("scenario", "case"),
    [pytest.param(scenario, case, id=scenario.__name__) for scenario, case in SCENARIOS],
)
def test_the_scenario_goes_as_on_a_real_cluster(
    scenario: Scenario, case: KindCase, world: World
) -> None:
    scenario(world, KindWorld.of(world, case))
