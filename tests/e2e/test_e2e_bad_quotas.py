"""ElasticQuotas that are wrong (spec 22.1, 11.5, 11.6): a wrong limit is never no limit.

Two quotas of one name are in test_e2e_quotas.py, as are one that does not exist, one that is a
parent, and one that bars the namespace.
"""

from bad_input import contained, refusals, told, wait_told
from ground import Object
from objects import elastic_quota
from reading import conditions_of, is_suspended
from world import World

from kq.core import keys
from kq.core.kinds import ELASTIC_QUOTA

PARENT = {keys.IS_PARENT_LABEL: "true"}


def wait_invalid(world: World, quota: str, text: str) -> None:
    wait_told(world, quota, "InvalidQuota", text, kind=ELASTIC_QUOTA)


def invalid(world: World, quota: str) -> list[str]:
    return told(world, quota, "InvalidQuota", ELASTIC_QUOTA)


def reason_of(queue: Object) -> tuple[str, str, str]:
    for each in conditions_of(queue):
        if each["type"] == "Active":
            return each["status"], each["reason"], each["message"]
    return "", "", ""


def test_what_the_api_server_itself_refuses_never_comes_to_kq(world: World) -> None:
    limits: dict[str, Object] = {
        "a word": {"cpu": "many"},
        "empty": {"cpu": ""},
        "a fraction as a number": {"cpu": 1.5},
        "a truth": {"cpu": True},
    }
    wanted = {
        "a word": "spec.max.cpu in body should match",
        "empty": "spec.max.cpu in body should match",
        "a fraction as a number": 'must be of type integer,string: "number"',
        "a truth": 'must be of type integer,string: "boolean"',
        "parent is no name": "metadata.labels: Invalid value",
    }
    bodies = {name: elastic_quota("refused", world.namespace, {}) for name in wanted}
    for name, limit in limits.items():
        bodies[name]["spec"]["max"] = limit
    bodies["parent is no name"]["metadata"]["labels"] = {keys.PARENT_LABEL: "a b"}
    assert contained(refusals(world, ELASTIC_QUOTA, bodies), wanted) == wanted


def test_a_limit_that_cannot_be_is_0_for_that_resource_alone_until_it_is_edited(
    world: World,
) -> None:
    max_of = {"negative": "-1", "power": "1e1.5", "endless": "1e999", "below": "2"}
    texts = {
        "negative": "cpu in max is -1, not a quantity of 0 or more",
        "power": "cpu in max is 1e1.5, not a quantity",
        "endless": "cpu in max is 1e999, not a quantity",
        "below": "max of cpu is 2, below its min 4: it counts as 0; raise max or lower min",
    }
    quotas = {
        name: world.quota(
            name, cpu=cpu, memory="4Gi", minimum={"cpu": 4} if name == "below" else {}
        )
        for name, cpu in max_of.items()
    }
    for name, quota in quotas.items():
        world.submit(
            world.manifest(f"cpu-{name}", quota, cpu=1, run_for="0s"),
            world.manifest(f"memory-{name}", quota, memory="1Gi", run_for="0s"),
        )
    for name, quota in quotas.items():
        text = f"cannot start: 1 cpu requested, but max of quota {quota} is 0"
        world.wait_message(f"cpu-{name}", text)
        wait_invalid(world, quota, texts[name])
    world.wait_complete(*(f"memory-{name}" for name in quotas))
    for quota in quotas.values():
        world.set_limits(quota, cpu=4, memory="4Gi")
    world.wait_complete(*(f"cpu-{name}" for name in quotas))
    assert {name: invalid(world, quota) for name, quota in quotas.items()} == {
        name: [text] for name, text in texts.items()
    }


def test_queues_say_what_is_wrong_with_their_quota_and_those_above_until_it_is_mended(
    world: World,
) -> None:
    """Spec 11.6: units start all the same."""
    top = world.quota("top", cpu=2, memory="1Gi", minimum={"memory": "2Gi"}, labels=PARENT)
    a = world.quota("a", cpu=2, parent=top)
    b = world.quota("b", cpu=1, parent=top)
    below = "max of memory is 1Gi, below its min 2Gi: it counts as 0; raise max or lower min"
    shared = (
        f"the children of quota {top} may use 3 cpu together, but its own max is 2: they share it"
    )
    for name in (top, a, b):
        told = ("True", "Ready", f"{below}; {shared}")
        world.wait_queue(name, lambda each, told=told: reason_of(each) == told)
    world.submit(world.manifest("first", b, cpu=1, run_for="0s"))
    world.wait_complete("first")
    world.set_limits(top, cpu=3, memory="2Gi")
    for name in (top, a, b):
        world.wait_queue(name, lambda each: reason_of(each) == ("True", "Ready", ""))


def test_a_min_that_cannot_be_read_is_none(world: World) -> None:
    a = world.quota("a", cpu=1, minimum={"cpu": "-3"})
    wait_invalid(world, a, "cpu in min is -3, not a quantity of 0 or more")
    world.submit(world.manifest("first", a, cpu=1, run_for="0s"))
    world.wait_complete("first")


def test_a_quota_without_a_way_up_takes_no_jobs_until_its_label_is_edited(world: World) -> None:
    gone, a, b = (world.name_of(each) for each in ("gone", "a", "b"))
    orphan = world.quota("orphan", cpu=1, parent=gone)
    itself = world.quota("self", cpu=1, parent=world.name_of("self"), labels=PARENT)
    world.quota("a", cpu=1, parent=b, labels=PARENT)
    world.quota("b", cpu=1, parent=a, labels=PARENT)
    good = world.quota("good", cpu=1)
    texts = {
        orphan: f"quota {gone}, ancestor of {orphan}, does not exist",
        itself: f"quota {itself} is in a cycle: {itself} -> {itself}",
        a: f"quota {a} is in a cycle: {a} -> {b} -> {a}",
        b: f"quota {b} is in a cycle: {b} -> {a} -> {b}",
    }
    world.submit(*(world.manifest(f"job-of-{name}", name, cpu=1, run_for="0s") for name in texts))
    for name, text in texts.items():
        world.wait_message(f"job-of-{name}", text)
        wait_invalid(world, name, text)
    world.submit(world.manifest("good", good, cpu=1, run_for="0s"))
    world.wait_complete("good")
    for name, text in texts.items():
        reason = "QuotaNotFound" if name == orphan else "QuotaInvalid"
        wanted = ("False", reason, text)
        world.wait_queue(name, lambda each, wanted=wanted: reason_of(each) == wanted)
    for name in (orphan, itself, a, b):
        world.mark_quota(name, labels={keys.PARENT_LABEL: None, keys.IS_PARENT_LABEL: None})
    world.wait_complete(*(f"job-of-{name}" for name in texts))
    assert {name: invalid(world, name).count(text) for name, text in texts.items()} == (
        dict.fromkeys(texts, 1)
    )


def test_a_list_of_namespaces_that_cannot_be_read_names_none(world: World) -> None:
    key = keys.QUOTA_NAMESPACES
    a = world.quota("a", cpu=1, annotations={key: world.namespace})
    wait_invalid(world, a, f"{key} is {world.namespace}, not a JSON list of namespaces")
    world.job("unmanaged", cpu=1, run_for="0s")
    world.submit(world.manifest("good", a, cpu=1, run_for="0s"))
    world.wait_complete("unmanaged", "good")
    assert world.seen_unit("unmanaged") is None
    world.mark_quota(a, annotations={key: f'["{world.namespace}"]'})
    world.job("fills", a, cpu=1)
    world.wait_granted("fills")
    world.job("managed", cpu=1, run_for="0s")
    world.wait_job("managed", is_suspended)
    world.wait_message("managed", f"waiting for quota {a}: 1 cpu requested, not enough free of 1")
    world.delete_job("fills")
    world.wait_complete("managed")
