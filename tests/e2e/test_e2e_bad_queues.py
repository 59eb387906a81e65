"""Queues that are wrong, in a wrong place, or gone (spec 22.1, 10.6, 3.1)."""

from collections.abc import Iterator

import pytest
from bad_input import contained, good_job, refusals, told, wait_told
from ground import Object
from reading import conditions_of
from world import INSTALLED_IN, World

from kq.core import keys
from kq.core.kinds import QUEUE
from kq.policies import POLICIES

NAMES = ", ".join(POLICIES)
SKIPS = keys.SKIP_IMPOSSIBLE[0]
INTERVAL = "koord-queue/queue-items-refresh-interval"


@pytest.fixture
def own_queue(world: World) -> Iterator[str]:
    """The name of a Queue that nobody else uses; what is made of that name goes afterwards."""
    name = world.name_of("own")
    yield name
    if world.ground.read(QUEUE, INSTALLED_IN, name) is not None:
        world.ground.delete(QUEUE, INSTALLED_IN, name)


def make_queue(world: World, name: str, namespace: str = INSTALLED_IN) -> Object:
    body = {"metadata": {"name": name, "namespace": namespace}, "spec": {"queuePolicy": "Priority"}}
    return world.ground.create(QUEUE, body)


def active_of(queue: Object) -> tuple[str, str, str]:
    """Status, reason and message of the condition Active."""
    for each in conditions_of(queue):
        if each["type"] == "Active":
            return each["status"], each["reason"], each["message"]
    return "", "", ""


def test_what_the_api_server_itself_refuses_never_comes_to_kq(world: World) -> None:
    specs: dict[str, Object] = {
        "policy is a number": {"queuePolicy": 5},
        "unknown stop policy": {"stopPolicy": "Pause"},
        "priority above int32": {"priority": 1 << 31},
        "annotation is a number": {"annotations": {"koord-queue/max-depth": 5}},
    }
    wanted = {
        "policy is a number": 'spec.queuePolicy in body must be of type string: "integer"',
        "unknown stop policy": 'supported values: "None", "Hold", "HoldAndDrain"',
        "priority above int32": "spec.priority: Invalid value: 2147483648",
        "annotation is a number": 'max-depth in body must be of type string: "integer"',
    }
    meta = {"name": world.name_of("refused"), "namespace": INSTALLED_IN}
    bodies = {name: {"metadata": meta, "spec": spec} for name, spec in specs.items()}
    assert contained(refusals(world, QUEUE, bodies), wanted) == wanted


def test_an_unknown_policy_counts_as_priority_and_is_told_once(world: World) -> None:
    labelled = world.quota("labelled", cpu=2, policy="FIFO")
    edited = world.quota("edited", cpu=2)
    world.set_queue(edited, {"spec": {"queuePolicy": "block"}})
    texts = {
        labelled: f"queuePolicy FIFO is not one of {NAMES}: treated as Priority",
        edited: f"queuePolicy block is not one of {NAMES}: treated as Priority; "
        "it is written Block",
    }
    for name in texts:
        world.submit(world.manifest(f"fills-{name}", name, cpu=1))
        world.wait_granted(f"fills-{name}")
        world.job(f"big-{name}", name, cpu=2, priority=5, run_for="0s")
        world.wait_phase(f"big-{name}", "Enqueued")
        good_job(world, name, f"small-{name}")
    for name, text in texts.items():
        world.wait_queue(
            name, lambda each, text=text: active_of(each) == ("True", "UnknownPolicy", text)
        )
        wait_told(world, name, "AddQueueFail", text, kind=QUEUE, namespace=INSTALLED_IN)
    world.mark_quota(labelled, labels={keys.POLICY_LABELS[0]: "Block"})
    world.set_queue(edited, {"spec": {"queuePolicy": "Block"}})
    for name in texts:
        world.job(f"kept-back-{name}", name, cpu=1, run_for="0s")
        world.wait_message(
            f"kept-back-{name}",
            f"queue {name} starts units of quota {name} strictly in order, "
            "an earlier one does not fit",
        )
        world.delete_job(f"fills-{name}")
    world.wait_complete(
        *(f"{each}-{name}" for name in texts for each in ("small", "big", "kept-back"))
    )
    for name, text in texts.items():
        assert told(world, name, "AddQueueFail", QUEUE, INSTALLED_IN) == [text]


def test_a_setting_that_cannot_be_read_has_its_default_and_is_told_once(world: World) -> None:
    a = world.quota("a", cpu=1, annotations={INTERVAL: "soon", SKIPS: "perhaps"})
    texts = [
        f"{INTERVAL} is soon, not a duration as 15s: treated as 15s",
        f"{SKIPS} is perhaps, not true or false: treated as false",
    ]
    good = good_job(world, a)
    for text in texts:
        wait_told(world, a, "AddQueueFail", text, kind=QUEUE, namespace=INSTALLED_IN)
        world.wait_queue(a, lambda each, text=text: text in active_of(each)[2])
    assert active_of(world.queue(a))[0] == "True"
    world.mark_quota(a, annotations={INTERVAL: "1s", SKIPS: "true"})
    world.wait_queue(a, lambda each: active_of(each) == ("True", "Ready", ""))
    assert sorted(told(world, a, "AddQueueFail", QUEUE, INSTALLED_IN)) == sorted(texts)
    world.wait_complete(good)


def test_a_queue_in_a_wrong_namespace_is_none_and_says_so(world: World, own_queue: str) -> None:
    a = world.quota("a", cpu=2)
    make_queue(world, own_queue, world.namespace)
    marks = {keys.QUEUE_NAME[0]: own_queue}
    world.job("lost", a, cpu=1, run_for="0s", annotations=marks)
    world.wait_message("lost", f"queue {own_queue} does not exist")
    text = f"queues count in namespace {INSTALLED_IN} only"
    world.ground.wait(
        QUEUE,
        world.namespace,
        own_queue,
        lambda each: active_of(each) == ("False", "WrongNamespace", text),
    )
    good = good_job(world, a)
    make_queue(world, own_queue)
    world.wait_complete(good, "lost")


def test_a_deleted_queue_is_made_again_if_it_was_kq_s_own(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.job("fills", a, cpu=2)
    world.wait_granted("fills")
    world.job("waits", a, cpu=1, run_for="0s")
    world.wait_phase("waits", "Enqueued")
    old = world.queue(a)["metadata"]["uid"]
    world.ground.delete(QUEUE, INSTALLED_IN, a)
    world.wait_queue(a, lambda each: each["metadata"]["uid"] != old)
    world.delete_job("fills")
    world.wait_complete(good_job(world, a), "waits")


def test_units_of_a_deleted_queue_made_by_hand_wait_until_it_is_back(
    world: World, own_queue: str
) -> None:
    a = world.quota("a", cpu=2)
    make_queue(world, own_queue)
    world.job("fills", a, cpu=2)
    world.wait_granted("fills")
    marks = {keys.QUEUE_NAME[0]: own_queue}
    world.job("waits", a, cpu=1, run_for="0s", annotations=marks)
    world.wait_message("waits", f"waiting for quota {a}: 1 cpu requested, not enough free of 2")
    world.ground.delete(QUEUE, INSTALLED_IN, own_queue)
    world.wait_message("waits", f"queue {own_queue} does not exist")
    world.delete_job("fills")
    good = good_job(world, a)
    assert world.phase("waits") == "Enqueued"
    make_queue(world, own_queue)
    world.wait_complete(good, "waits")


def test_a_job_that_names_no_queue_any_more_waits_in_that_of_its_quota(
    world: World, own_queue: str
) -> None:
    """Spec 10.1, 2.8: how somebody mends a name that leads nowhere."""
    a = world.quota("a", cpu=2)
    world.job("waits", a, cpu=1, run_for="0s", annotations={keys.QUEUE_NAME[0]: own_queue})
    world.wait_message("waits", f"queue {own_queue} does not exist")
    world.annotate_job("waits", {keys.QUEUE_NAME[0]: None})
    world.wait_complete("waits")
    assert world.unit("waits")["spec"]["queue"] == a
