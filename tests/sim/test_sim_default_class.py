"""ResourceQuotas of a PriorityClass that pods get without naming one, simulated (spec 11.15)."""

from mode_objects import limit
from simulated_ground import manifests, simulated_ground
from test_sim_scenarios import SERVICE_ACCOUNT
from world import World

from kq.core.kinds import NAMESPACE, PRIORITY_CLASS
from kq.settings import Settings
from kq.sim.world import Terms

NAME = "test-a"


def test_11_15_a_job_that_names_no_class_asks_for_pods_of_the_default_one() -> None:
    """From its grant on, before there are pods that bear the class."""
    terms = Terms(objects=manifests(), settings=Settings(quotaPlugin="ResourceQuota"))
    with simulated_ground(terms=terms) as ground:
        ground.create(NAMESPACE, {"metadata": {"name": NAME}})
        ground.wait(SERVICE_ACCOUNT, NAME, "default", bool)
        body = {"metadata": {"name": "usual"}, "value": 1, "globalDefault": True}
        ground.create(PRIORITY_CLASS, body)
        world = World(ground=ground, namespace=NAME)
        usual = {"scopeName": "PriorityClass", "operator": "In", "values": ["usual"]}
        limit(world, "usual", {"pods": 1}, scopeSelector={"matchExpressions": [usual]})
        world.submit(world.manifest("first", cpu=1), world.manifest("second", cpu=1))
        text = f"waiting for quota {NAME}/usual: 1 pods requested, not enough free of 1"
        world.wait_message("second", text)
        world.wait_pods("first")
