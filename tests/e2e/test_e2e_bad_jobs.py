"""Jobs that cannot be counted or read (spec 22.1): told to their owner, corrected by an edit.

A quota that does not exist and one that bars the namespace are in test_e2e_quotas.py; a job made
again under its name while kq looked on is in test_e2e_life.py.
"""

from bad_input import contained, good_job, refusals, told, wait_told
from controlplane.kq import Kq
from ground import Object
from reading import conditions_of, is_suspended, reason_of
from world import World

from kq.core import keys
from kq.core.kinds import JOB, NAMESPACE, POD, PRIORITY_CLASS

HUGE = 2_000_000
TOO_MANY = "not a number from 0 to 1000000"


def with_spec(world: World, **spec: object) -> Object:
    """A suspended job of 1 cpu, changed in its spec."""
    body = world.manifest("refused", world.name_of("a"), cpu=1)
    return {**body, "spec": {**body["spec"], "suspend": True, **spec}}


def test_what_the_api_server_itself_refuses_never_comes_to_kq(world: World) -> None:
    named = world.manifest("x" * 64, world.name_of("a"), cpu=1)
    marked = world.manifest("refused", world.name_of("a"), cpu=1)
    marked["metadata"]["annotations"] = {keys.PRIORITY: 5}
    bodies = {
        "negative parallelism": with_spec(world, parallelism=-1),
        "negative completions": with_spec(world, completions=-1),
        "more than an int32": with_spec(world, parallelism=3_000_000_000),
        "no template": {"metadata": marked["metadata"] | {"annotations": {}}, "spec": {}},
        "no containers": world.manifest("refused", pod_spec={"containers": []}),
        "no quantity": world.manifest("refused", cpu="much"),
        "negative quantity": world.manifest("refused", cpu="-1"),
        "annotation is a number": marked,
        "name too long for its pods": named,
    }
    wanted = {
        "negative parallelism": "spec.parallelism: Invalid value: -1: must be greater than or",
        "negative completions": "spec.completions: Invalid value: -1: must be greater than or",
        "more than an int32": "cannot unmarshal number 3000000000",
        "no template": "spec.template.spec.containers: Required value",
        "no containers": "spec.template.spec.containers: Required value",
        "no quantity": "quantities must match the regular expression",
        "negative quantity": 'requests[cpu]: Invalid value: "-1": must be greater than or',
        "annotation is a number": "cannot unmarshal number into Go struct field",
        "name too long for its pods": "must be no more than 63 bytes",
    }
    assert contained(refusals(world, JOB, bodies), wanted) == wanted


def test_a_job_that_cannot_be_counted_waits_until_it_is_edited(world: World) -> None:
    a = world.quota("a", cpu=3)
    world.submit(
        world.manifest("wide", a, cpu=1, run_for="0s", spec={"parallelism": HUGE}),
        world.manifest("dear", a, cpu="1e300", run_for="0s"),
    )
    world.wait_message("wide", f"spec.parallelism is {HUGE}, {TOO_MANY}")
    world.wait_message("dear", "cpu in requests of container main is 1e+300, not a quantity")
    good = good_job(world, a)
    assert [world.pods(name) for name in ("wide", "dear")] == [[], []]
    world.change_job("wide", {"spec": {"parallelism": 1}})
    containers = [{**world.jobs["dear"]["spec"]["template"]["spec"]["containers"][0]}]
    containers[0]["resources"] = {"requests": {"cpu": "1"}}
    world.change_job("dear", {"spec": {"template": {"spec": {"containers": containers}}}})
    world.wait_complete(good, "wide", "dear")


def test_a_job_without_pods_asks_for_nothing_and_counts_once_it_has_some(world: World) -> None:
    a = world.quota("a", cpu=1)
    world.job("fills", a, cpu=1)
    world.wait_granted("fills")
    world.submit(world.manifest("none", a, cpu=1, run_for="0s", spec={"parallelism": 0}))
    world.wait_granted("none")
    world.wait_released("none")
    assert world.unit("none")["status"]["admissions"][0]["replicas"] == 0
    world.change_job("none", {"spec": {"parallelism": 1}})
    world.wait_complete("none")


def test_what_is_null_counts_as_empty_and_what_is_unknown_is_ignored(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.ground.patch(
        NAMESPACE, "", world.namespace, {"metadata": {"labels": {keys.QUOTA_LABEL: a}}}
    )
    nulls = world.manifest("nulls", cpu=1, spec={"parallelism": None, "completions": None})
    nulls["metadata"] |= {"labels": None, "annotations": None}
    nulls["spec"]["template"]["metadata"]["labels"] = None
    kept = {"podReplacementPolicy": "Failed", "ttlSecondsAfterFinished": 3600}
    odd = world.manifest("odd", a, cpu=1, run_for="0s", spec={**kept, "flavour": "sweet"})
    odd |= {"colour": {"of": ["the", "sky"]}}
    for body in (nulls, odd):
        world.ground.create(JOB, body)
    world.wait_complete("odd")
    world.wait_pods("nulls")
    assert world.unit("nulls")["metadata"]["labels"][keys.QUOTA_LABEL] == a
    seen = world.wait_job("odd", bool)
    assert {name: seen["spec"][name] for name in kept} == kept


def test_an_annotation_that_cannot_be_read_is_told_once_and_the_next_source_counts(
    world: World,
) -> None:
    class_ = world.name_of("urgent")
    world.ground.create(PRIORITY_CLASS, {"metadata": {"name": class_}, "value": 100})
    a = world.quota("a", cpu=5)
    world.job("fills", a, cpu=5)
    world.wait_granted("fills")
    texts = {"word": "high", "wide": "3000000000", "part": "1.5", "empty": ""}
    for name, text in texts.items():
        marks = {keys.PRIORITY: text}
        pods = {"priorityClassName": class_}
        world.job(name, a, cpu=1, run_for="0s", annotations=marks, pod_spec=pods)
    for name, text in texts.items():
        wrong = f"{keys.PRIORITY} is {text}, not a whole number (int32)"
        wait_told(world, name, "InvalidAnnotation", wrong)
        assert world.wait_phase(name, "Enqueued")["spec"]["priority"] == 100
    world.annotate_job("word", {keys.PRIORITY: "7"})
    world.wait_unit("word", lambda unit: unit["spec"].get("priority") == 7)
    world.delete_job("fills")
    world.wait_complete(good_job(world, a), *texts)
    assert {name: len(told(world, name, "InvalidAnnotation")) for name in texts} == dict.fromkeys(
        texts, 1
    )
    world.ground.delete(PRIORITY_CLASS, "", class_)


def test_whether_a_job_is_active_is_not_changed_by_a_word_for_neither(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.job("paused", a, cpu=1, run_for="0s", annotations={keys.ACTIVE: "false"})
    world.wait_message("paused", "deactivated")
    world.annotate_job("paused", {keys.ACTIVE: "yes"})
    wrong = f"{keys.ACTIVE} is yes, not true or false"
    wait_told(world, "paused", "InvalidAnnotation", wrong)
    good = good_job(world, a)
    assert world.message("paused") == "deactivated"
    world.annotate_job("paused", {keys.ACTIVE: "true"})
    world.wait_complete(good, "paused")
    assert told(world, "paused", "InvalidAnnotation") == [wrong]


def test_whether_a_job_is_preemptible_is_not_said_by_a_word_for_neither(world: World) -> None:
    a = world.quota("a", cpu=2)
    label = keys.PREEMPTIBLE_LABELS[0]
    wrong = f"{label} is no, not true or false"
    body = world.manifest("odd", a, cpu=1, run_for="0s")
    body["metadata"]["labels"][label] = "no"
    assert f"Warning: {wrong}\n" in world.submit(body)
    wait_told(world, "odd", "InvalidLabel", wrong)
    unit = world.wait_unit("odd", lambda unit: reason_of(unit, "Configured") == "InvalidLabel")
    assert wrong in [each["message"] for each in conditions_of(unit)]
    world.wait_complete(good_job(world, a), "odd")
    assert told(world, "odd", "InvalidLabel") == [wrong]


def test_a_name_that_no_pod_set_can_have_makes_the_pod_set_main(world: World) -> None:
    a = world.quota("a", cpu=2)
    world.job("train.v2", a, cpu=1, run_for="0s")
    world.wait_complete(good_job(world, a), "train.v2")
    assert [each["name"] for each in world.unit("train.v2")["spec"]["podSet"]] == ["main"]


def test_a_job_of_a_megabyte_is_held_and_its_unit_stays_small(world: World) -> None:
    a = world.quota("a", cpu=1)
    container = {
        "name": "main",
        "image": "busybox:stable",
        "args": ["x" * 1_000_000],
        "resources": {"requests": {"cpu": "1"}},
    }
    world.job("fills", a, cpu=1)
    world.wait_granted("fills")
    world.job("big", a, run_for="0s", pod_spec={"containers": [container]})
    world.wait_message("big", f"waiting for quota {a}: 1 cpu requested, not enough free of 1")
    assert len(str(world.unit("big"))) < 10_000
    world.delete_job("fills")
    world.wait_phase("big", "Succeed")


def test_a_job_made_again_while_nobody_looked_is_known_by_its_uid(
    mortal_kq: Kq, world: World
) -> None:
    """Its predecessor left its unit behind, which no garbage collection takes, and its pods, which
    count until they are gone."""
    a = world.quota("a", cpu=2)
    world.job("again", a, cpu=2)
    old = world.wait_phase("again", "Running")
    mortal_kq.kill_manager()
    world.delete_job("again", policy="Orphan")
    world.ground.until(lambda: world.seen_job("again") is None, "the job is gone")
    world.job_again("again")
    job = world.wait_job("again", is_suspended)
    mortal_kq.start_manager()
    new = world.wait_unit("again", lambda unit: unit["metadata"]["uid"] != old["metadata"]["uid"])
    assert new["spec"]["consumerRef"]["uid"] == job["metadata"]["uid"]
    world.wait_message("again", f"waiting for quota {a}: 2 cpu requested, not enough free of 2")
    for pod in world.ground.items(POD, world.namespace):
        world.ground.delete(POD, world.namespace, pod["metadata"]["name"])
    world.wait_granted("again")
    world.wait_released("again")
    assert world.unit("again")["status"]["attempts"] == 1
