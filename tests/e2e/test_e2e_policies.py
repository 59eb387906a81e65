"""What each policy and each setting of a Queue does, as its quota says it (spec 10)."""

from ground import Object
from mode_objects import container
from reading import condition_of, message_of
from world import World

from kq.core import keys

THRESHOLD = "koord-queue/priority-threshold"
DEPTH = "koord-queue/max-depth"
PODS = "koord-queue/wait-for-pods-running"
SKIP = "koord-queue/skip-impossible"
PREEMPTS = "koord-queue/enable-queueunit-preemption"
RECLAIMS = "koord-queue/reclaim"
GPU = "nvidia.com/gpu"
GPU_MEMORY = "aliyun.com/gpu-mem"


def fill(world: World, quota: str, cpu: int) -> None:
    """A job that runs until it is deleted."""
    world.job("first", quota, cpu=cpu)
    world.wait_phase("first", "Running")


def strictly(quota: str) -> str:
    return f"queue {quota} starts units of quota {quota} strictly in order, an earlier one"


def wait_told(world: World, name: str, text: str) -> Object:
    """The unit as soon as its message begins so."""
    return world.wait_unit(name, lambda unit: message_of(unit).startswith(text))


def test_under_intelligent_low_units_use_what_the_waiting_high_one_does_not_need(
    world: World,
) -> None:
    """Spec 10.11a-c, case D4: h1 is tried again and again, h2 does not pass it, l2 may start."""
    a = world.quota("a", policy="Intelligent", annotations={THRESHOLD: "5"}, cpu=10, memory="20Gi")
    fill(world, a, cpu=8)
    world.submit(world.manifest("h1", a, cpu=8, priority=9))
    wait_told(world, "h1", f"waiting for quota {a}: 8 cpu requested")
    world.submit(
        world.manifest("h2", a, cpu=1, priority=5),
        world.manifest("l1", a, cpu=8, priority=4),
        world.manifest("l2", a, cpu=1, priority=0),
        world.manifest("l3", a, memory="1Gi", priority=0),
    )
    world.wait_granted("l3")
    wait_told(world, "h2", strictly(a))
    wait_told(world, "l1", f"waiting for quota {a}: 8 cpu requested")
    world.wait_message("l2", f"high-priority units of quota {a} go first")
    world.delete_job("first")
    world.wait_granted("h1", "h2", "l2")
    assert world.phase("l1") == "Enqueued"


def test_a_new_threshold_and_a_new_policy_hold_at_once(world: World) -> None:
    """Spec 10.11e, 3.6: what waited behind a high one passes it when that one is low."""
    a = world.quota("a", policy="Block", cpu=4)
    fill(world, a, cpu=3)
    world.submit(world.manifest("big", a, cpu=4, priority=6))
    wait_told(world, "big", f"waiting for quota {a}")
    world.submit(world.manifest("small", a, cpu=1, priority=5))
    wait_told(world, "small", strictly(a))
    world.mark_quota(a, labels={keys.POLICY_LABELS[0]: "Intelligent"})
    wait_told(world, "small", strictly(a))
    world.mark_quota(a, annotations={THRESHOLD: "7"})
    world.wait_granted("small")
    assert world.phase("big") == "Enqueued"


def test_only_as_many_as_the_queue_says_are_tried(world: World) -> None:
    """Spec 10.12: who fits stands behind the two that are tried, until the mark is removed."""
    a = world.quota("a", annotations={DEPTH: "2"}, cpu=4)
    fill(world, a, cpu=3)
    world.submit(*(world.manifest(name, a, cpu=4, priority=9) for name in ("b1", "b2")))
    wait_told(world, "b2", f"waiting for quota {a}")
    world.submit(world.manifest("small", a, cpu=1))
    world.wait_phase("small", "Enqueued")
    world.submit(world.manifest("probe", a, cpu=1, priority=10, run_for="0s"))
    world.wait_complete("probe")
    assert world.phase("small") == "Enqueued"
    world.mark_quota(a, annotations={DEPTH: None})
    world.wait_granted("small")


def test_the_next_one_starts_when_all_pods_of_the_last_run(world: World) -> None:
    """Spec 10.13, case D7: or when that one is gone."""
    a = world.quota("a", annotations={PODS: "true"}, cpu=4)
    world.submit(world.manifest("slow", a, cpu=1, priority=5, played={"start-after": "1h"}))
    world.wait_phase("slow", "Dequeued")
    world.submit(world.manifest("second", a, cpu=1))
    world.wait_message("second", f"queue {a} waits until all pods of its last started unit run")
    assert world.pods("second") == []
    world.delete_job("slow")
    world.wait_phase("second", "Running")
    world.submit(world.manifest("third", a, cpu=1))
    world.wait_phase("third", "Running")


def test_who_can_never_start_is_passed_over_where_the_queue_says_so(world: World) -> None:
    """Spec 10.10."""
    a = world.quota("a", policy="Block", cpu=4)
    world.submit(world.manifest("huge", a, cpu=5, priority=9))
    wait_told(world, "huge", "cannot start: 5 cpu requested")
    world.submit(world.manifest("small", a, cpu=1))
    wait_told(world, "small", strictly(a))
    world.wait_queue(a, lambda each: condition_of(each, "Blocked"))
    world.mark_quota(a, annotations={SKIP: "true"})
    world.wait_granted("small")


def test_a_higher_one_takes_the_place_of_a_lower_one_that_comes_back_to_its_own(
    world: World,
) -> None:
    """Spec 13.1-13.7, case F5."""
    a = world.quota("a", annotations={PREEMPTS: "true"}, cpu=2)
    fill(world, a, cpu=2)
    world.next_second("first")
    world.job("younger", a, cpu=2)
    world.wait_phase("younger", "Enqueued")
    world.job("wins", a, cpu=2, priority=5)
    world.wait_phase("wins", "Running")
    lost = world.wait_phase("first", "Enqueued")
    assert lost["status"].get("requeueState") is None
    told = world.wait_event("first", "Preempted")["message"]
    assert told == f"Preempted by {world.namespace}/wins for cpu of quota {a}"
    world.delete_job("wins")
    world.wait_phase("first", "Running")
    assert world.phase("younger") == "Enqueued"


def test_a_quota_gets_its_min_back_from_one_above_its_own(world: World) -> None:
    """Spec 13.9-13.10: what was lent is taken back; nobody is taken below its min."""
    root = world.quota("root", cpu=4, labels={keys.IS_PARENT_LABEL: "true"})
    lends = {RECLAIMS: "Any"}
    a = world.quota("a", cpu=4, parent=root, minimum={"cpu": 2}, annotations=lends)
    b = world.quota("b", cpu=4, parent=root, minimum={"cpu": 2})
    for number in range(4):
        world.job(f"b{number}", b, cpu=1, priority=9)
    for number in range(4):
        world.wait_phase(f"b{number}", "Running")
    world.submit(world.manifest("due", a, cpu=2))
    world.wait_phase("due", "Running")
    phases = sorted(world.phase(f"b{number}") for number in range(4))
    assert phases == ["Enqueued", "Enqueued", "Running", "Running"]
    world.submit(world.manifest("more", a, cpu=1))
    wait_told(world, "more", f"waiting for quota {root}, ancestor of {a}: 1 cpu requested")


def test_extended_resources_are_limits_like_others(world: World) -> None:
    """A limit without a request is one, too (spec 12.3); what is not named is no limit (11.2)."""
    a = world.quota("a", limits={GPU: 4, GPU_MEMORY: 16})

    def cards(name: str, **limits: int | str) -> Object:
        return world.manifest(name, a, pod_spec={"containers": [container(limits=limits)]})

    world.submit(cards("first", cpu="64", **{GPU: 3}))
    world.wait_granted("first")
    world.submit(cards("second", **{GPU: 2}))
    text = f"waiting for quota {a}: 2 {GPU} requested, not enough free of 4"
    world.wait_message("second", text)
    world.submit(cards("third", **{GPU: 1, GPU_MEMORY: 17}))
    world.wait_message(
        "third", f"cannot start: 17 {GPU_MEMORY} requested, but max of quota {a} is 16"
    )
    world.delete_job("first")
    world.wait_granted("second")
    world.set_limits(a, **{GPU: 3, GPU_MEMORY: 17})
    world.wait_granted("third")
