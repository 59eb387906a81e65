"""What the plan for a job rests on is looked up in one moment (spec 5.1-5.3, 10.1, 12)."""

from typing import Any

import builders
import pytest
from builders import INSTALL_NAMESPACE, amounts, job_view, template
from msgspec.structs import replace
from shells import Ground

from kq.core import keys
from kq.core.classviews import PriorityClass, Raw
from kq.core.kinds import ResourceKind
from kq.core.model import Grant, JobView, NamespaceView, Owner, Phase, PodSet, QueueUnit
from kq.core.priority import PriorityClassView
from kq.decide.situation import PodFacts, Rules, Situation
from kq.quota.resolve import is_excluded
from kq.reconcile.gather import Gatherer
from kq.reconcile.owners import Owners
from kq.settings import Settings

RAY_JOB = ResourceKind("ray.io", "v1", "RayJob", "rayjobs")
LABELLED = {keys.QUOTA_LABEL: "team-a"}
CHILD = (Owner("ray.io/v1", "RayJob", "owner", "owner-1", controller=True),)
BYPASS = {keys.BYPASS: "true", keys.BYPASSED_BY: "root"}


class Gathering(Ground):
    """A quota, its Queue, a namespace, and the gatherer."""

    def __init__(
        self, *, unmatched: bool = False, bypass: bool = False, labels: bool = True, **options: Any
    ) -> None:
        super().__init__(builders.quota(cpu=5), builders.quota("other", cpu=5), **options)
        self.queue()
        self.namespace()
        selection = Settings(installNamespace=INSTALL_NAMESPACE).selection
        self.gatherer = Gatherer(
            watches=self.watches,
            hub=self.hub,
            owners=Owners(self.api),  # type: ignore[arg-type]
            is_excluded=lambda namespace: is_excluded(namespace, selection),
            holds_unmatched=unmatched,
            bypass_enabled=bypass,
            suffixes=True,
            labels_pods=labels,
            rules=Rules(grace_seconds=17),
            first_runs={"Job": builders.at(-5)},
        )

    def namespace(self, name: str = "team-a", **fields: Any) -> None:
        view = NamespaceView(name=name, resource_version="1", **fields)
        self.watches.namespaces.show(view)  # type: ignore[attr-defined]
        self.book.saw(view)

    async def now(self, job: JobView, unit: QueueUnit | None = None) -> Situation:
        return await self.gatherer.situation(job, unit, self.clock(), builders.at(1))


@pytest.fixture
def ground() -> Gathering:
    return Gathering()


async def test_what_is_always_there(ground: Gathering) -> None:
    now = await ground.now(job_view(labels=LABELLED))
    assert (now.now, now.unit, now.unit_name) == (builders.NOW, None, "train")
    assert (now.quota, now.queue, now.managed) == ("team-a", "team-a", True)
    assert (now.rules.grace_seconds, now.may_hold_at) == (17, builders.at(1))
    assert now.first_run == builders.at(-5)
    assert now.pod_sets == (builders.pod_set(cpu=1),)


async def test_what_a_job_needs_at_least_is_demanded_to_be_readable(ground: Gathering) -> None:
    """Spec 8.16, M16: of every kind."""
    job = job_view(labels=LABELLED, annotations={keys.MIN_RESOURCES[0]: "cpu: lots"})
    (found,) = (await ground.now(job)).pod_sets
    assert found.template.defect == "cpu in koord-queue/min-resources is lots, not a quantity"


async def test_a_job_that_was_scaled_up_above_its_quota_is_told_of(ground: Gathering) -> None:
    """Spec 9.17: of 5 cpu it had 3 of its own, another one has 2, and it asks for 4."""
    mine = builders.unit("train", replicas=4, grants=(Grant("main", 3),), phase=Phase.RUNNING)
    ground.book.saw(mine)
    ground.book.saw(builders.unit("other", replicas=1, phase=Phase.RUNNING))
    running = job_view(suspended=False, labels=LABELLED)
    assert (await ground.now(running, mine)).overdraft == ""
    ground.book.saw(builders.unit("third", replicas=1, phase=Phase.RUNNING))
    assert (await ground.now(running, mine)).overdraft == (
        "team-a/train was scaled up, so quota team-a is above its max: "
        "6 cpu in use, max is 5; nothing starts there"
    )


@pytest.mark.parametrize(
    ("kind", "other", "outgrown"),
    [
        pytest.param("SparkApplication", 2, True, id="another one has the rest"),
        pytest.param("SparkApplication", 1, False, id="it fits"),
        pytest.param("RayCluster", 2, False, id="a kind that only grows"),
    ],
)
async def test_a_new_run_is_measured_by_what_others_have_in_use(
    ground: Gathering, kind: str, other: int, outgrown: bool
) -> None:
    """Spec 8.19: of 5 cpu it had 3, and asks for 4 as a new run."""
    job = job_view(kind=ResourceKind("x", "v1", kind, "xs"), suspended=False, labels=LABELLED)
    grants = (Grant("main", 3),)
    mine = builders.unit("train", replicas=4, grants=grants, phase=Phase.RUNNING)
    ground.book.saw(mine)
    ground.book.saw(builders.unit("other", replicas=other, phase=Phase.RUNNING))
    assert (await ground.now(job, mine)).outgrown is outgrown


@pytest.mark.parametrize(
    ("options", "fields", "label"),
    [
        pytest.param({}, {"phase": Phase.DEQUEUED}, "team-a", id="about to be let go"),
        pytest.param({}, {}, "", id="waits"),
        pytest.param({"labels": False}, {"phase": Phase.DEQUEUED}, "", id="switched off"),
    ],
)
async def test_what_its_pods_lack_to_name_their_quota(
    options: dict[str, bool], fields: dict[str, Any], label: str
) -> None:
    """Spec 6.6."""
    ground = Gathering(**options)
    (one,) = job_view().pod_sets
    sets = (replace(one, path=("spec", "template", "metadata")),)
    job, mine = job_view(labels=LABELLED, pod_sets=sets), builders.unit("train", **fields)
    assert (await ground.now(job, mine)).pod_label == label
    assert (await ground.now(replace(job, suspended=False), mine)).pod_label == ""


# -- managed or not


@pytest.mark.parametrize(
    ("job", "namespace", "expected"),
    [
        pytest.param({"labels": LABELLED}, {}, True, id="a quota by its label"),
        pytest.param({"labels": {keys.QUOTA_LABEL: "nowhere"}}, {}, True, id="an unknown quota"),
        pytest.param({}, {"labels": LABELLED}, True, id="a quota by its namespace"),
        pytest.param({}, {}, False, id="no quota"),
        pytest.param(
            {"labels": LABELLED}, {"labels": {keys.MANAGED_LABEL: "false"}}, False, id="excluded"
        ),
        pytest.param({"labels": LABELLED}, {"terminating": True}, False, id="namespace ends"),
        pytest.param({"labels": LABELLED, "managed_by_other": True}, {}, False, id="foreign"),
        pytest.param(
            {"labels": LABELLED, "namespace": "kube-system"}, {}, False, id="a system namespace"
        ),
        pytest.param(
            {"labels": LABELLED, "namespace": INSTALL_NAMESPACE}, {}, False, id="our own namespace"
        ),
    ],
)
async def test_which_jobs_are_managed(
    ground: Gathering, job: dict[str, Any], namespace: dict[str, Any], expected: bool
) -> None:
    ground.namespace(**namespace)
    assert (await ground.now(job_view(**job))).managed is expected


async def test_jobs_without_quota_are_managed_where_they_are_held() -> None:
    now = await Gathering(unmatched=True).now(job_view())
    assert (now.managed, now.quota, now.queue) == (True, None, "")


@pytest.mark.parametrize(
    ("annotations", "enabled", "managed"),
    [
        pytest.param(BYPASS, True, False, id="let through by the webhook"),
        pytest.param(BYPASS, False, True, id="switched off"),
        pytest.param({keys.BYPASS: "true"}, True, True, id="nobody let it through"),
        pytest.param({keys.BYPASSED_BY: "root"}, True, True, id="it did not ask"),
        pytest.param(BYPASS | {keys.BYPASS: "TRUE"}, True, False, id="any case"),
    ],
)
async def test_who_is_bypassed(annotations: dict[str, str], enabled: bool, managed: bool) -> None:
    job = job_view(labels=LABELLED, annotations=annotations)
    assert (await Gathering(bypass=enabled).now(job)).managed is managed


async def test_a_job_with_a_unit_stays_managed_whatever_becomes_of_its_labels(
    ground: Gathering,
) -> None:
    ground.namespace(labels={keys.MANAGED_LABEL: "false"})
    assert (await ground.now(job_view(), ground.unit())).managed


async def test_a_true_child_is_not_managed(ground: Gathering) -> None:
    meta = {"namespace": "team-a", "name": "owner", "uid": "owner-1"}
    ground.api.put(RAY_JOB, {"metadata": meta})
    now = await ground.now(job_view(labels=LABELLED, owners=CHILD))
    assert (now.managed, now.false_claim) == (False, False)


async def test_a_false_child_is_managed_and_told(ground: Gathering) -> None:
    now = await ground.now(job_view(labels=LABELLED, owners=CHILD))
    assert (now.managed, now.false_claim) == (True, True)


async def test_the_owner_of_a_job_with_a_unit_is_not_looked_up(ground: Gathering) -> None:
    unit = ground.unit()
    ground.api.asked.clear()
    now = await ground.now(job_view(labels=LABELLED, owners=CHILD), unit)
    assert (now.managed, now.false_claim, ground.api.asked) == (True, False, [])


# -- quota and Queue


@pytest.mark.parametrize(
    ("labels", "unit", "expected"),
    [
        pytest.param({keys.QUOTA_LABEL: "other"}, {}, "other", id="follows the job"),
        pytest.param(
            {keys.QUOTA_LABEL: "other"},
            {"phase": Phase.RUNNING},
            "team-a",
            id="keeps its own while it holds quota",
        ),
        pytest.param({}, {}, "team-a", id="keeps its own when the job has none"),
        pytest.param({}, {"quota": None, "queue": "team-a"}, None, id="has none"),
    ],
)
async def test_the_quota_of_a_job_with_a_unit(
    ground: Gathering, labels: dict[str, str], unit: dict[str, Any], expected: str | None
) -> None:
    assert (await ground.now(job_view(labels=labels), ground.unit(**unit))).quota == expected


@pytest.mark.parametrize("waits", [True, False])
async def test_a_job_stays_where_its_live_pods_count_though_its_unit_was_deleted(
    ground: Gathering, waits: bool
) -> None:
    """Its label was changed while it ran (spec 2.8)."""
    unit = ground.unit(phase=Phase.RUNNING)
    ground.book.saw(job_view(labels=LABELLED))
    ground.book.saw(unit)
    ground.book.saw(builders.pod("train-0"))
    moved = job_view(labels={keys.QUOTA_LABEL: "other"}, suspended=waits)
    ground.book.lost(unit)
    assert (await ground.now(moved)).quota == "team-a"
    ground.book.lost(builders.pod("train-0"))
    assert (await ground.now(moved)).quota == "other"


@pytest.mark.parametrize("label", keys.QUOTA_LABELS)
async def test_a_quota_in_every_spelling(ground: Gathering, label: str) -> None:
    assert (await ground.now(job_view(labels={label: "team-a"}))).quota == "team-a"
    ground.namespace("elsewhere", labels={label: "other"})
    assert (await ground.now(job_view(namespace="elsewhere"))).quota == "other"


async def test_a_job_names_its_queue(ground: Gathering) -> None:
    annotations = {keys.QUEUE_NAME[0]: "", keys.QUEUE_NAME[1]: "fast"}
    now = await ground.now(job_view(labels=LABELLED, annotations=annotations))
    assert (now.quota, now.queue) == ("team-a", "fast")


async def test_a_unit_made_by_hand_names_its_queue(ground: Gathering) -> None:
    unit = ground.stored(builders.unit_by_hand(queue="mine"))
    assert (await ground.now(job_view(labels=LABELLED), unit)).queue == "mine"


async def test_10_1_it_stays_in_it_once_its_job_has_been_read_into_it(ground: Gathering) -> None:
    marks = {**builders.unit().annotations, keys.QUEUE_BY_HAND: "true"}
    unit = ground.unit(queue="mine", annotations=marks)
    assert (await ground.now(job_view(labels=LABELLED), unit)).queue == "mine"


async def test_the_queue_of_an_adopted_unit_follows_the_quota(ground: Gathering) -> None:
    unit = ground.unit(queue="old")
    now = await ground.now(job_view(labels={keys.QUOTA_LABEL: "other"}), unit)
    assert now.queue == "other"


# -- names and pods


async def test_a_unit_of_another_that_has_the_name_is_seen(ground: Gathering) -> None:
    namesake = ground.unit(job="somebody-else")
    assert (await ground.now(job_view(labels=LABELLED))).name_taken_by == namesake
    assert (await ground.now(job_view(labels=LABELLED), namesake)).name_taken_by is None


async def test_a_held_job_is_expected_in_its_place_until_a_unit_stands_for_it(
    ground: Gathering,
) -> None:
    held = job_view(labels=LABELLED, suspended=True)
    place = ground.gatherer.place_of(held)
    assert place is not None
    assert (place.queue, place.quota) == ("team-a", "team-a")
    ground.book.saw(builders.unit_by_hand("made-before", job="train"))
    assert ground.gatherer.place_of(held) is None


async def test_the_pods_of_the_job_are_counted(ground: Gathering) -> None:
    ended = builders.NOW
    for number, phase in enumerate(("Running", "Pending", "Running", "Succeeded", "Failed")):
        ground.book.saw(builders.pod(f"train-{number}", phase=phase, pod_set="worker"))
    ground.book.saw(builders.pod("other-0", job="other"))
    assert (await ground.now(job_view())).pods == PodFacts(
        live=3, running=2, pending=1, by_pod_set={"worker": 2}
    )
    for number in (0, 1, 2):
        ground.book.stuck(builders.pod(f"train-{number}", deleted_at=ended))
    assert (await ground.now(job_view())).pods == PodFacts(stuck=True)


# -- what the API server will add to pods


def limits(name: str, **fields: str) -> Raw:
    default = {"type": "Container", "defaultRequest": fields}
    return Raw(
        namespace="team-a", name=name, uid=name, resource_version="1",
        body={"spec": {"limits": [default]}},
    )  # fmt: skip


def bare(**fields: Any) -> JobView:
    return job_view(pod_sets=(PodSet(name="main", count=2, template=template(**fields), wanted=2),))


async def test_limit_ranges_of_the_namespace_fill_what_pods_do_not_ask(ground: Gathering) -> None:
    ground.watches.limit_ranges.show(limits("defaults", cpu="500m"))  # type: ignore[attr-defined]
    (pod_set,) = (await ground.now(bare())).pod_sets
    assert pod_set.template.request == amounts(cpu="500m")
    assert (pod_set.count, pod_set.wanted, pod_set.path) == (2, 2, ())
    (elsewhere,) = (await ground.now(job_view(namespace="b", pod_sets=bare().pod_sets))).pod_sets
    assert elsewhere.template.request == amounts()


async def test_a_runtime_class_adds_its_overhead(ground: Gathering) -> None:
    overhead = Raw(namespace="", name="kata", uid="1", resource_version="1", body={"cpu": "250m"})
    ground.watches.runtime_classes.show(overhead)  # type: ignore[attr-defined]
    container = {"name": "main", "resources": {"requests": {"cpu": 1}}}
    for name, expected in (("kata", "1250m"), ("unknown", "1")):
        spec = {"runtimeClassName": name, "containers": [container]}
        made = builders.codec.template_of({"spec": spec})
        job = job_view(pod_sets=(PodSet(name="main", count=1, template=made, wanted=1),))
        (pod_set,) = (await ground.now(job)).pod_sets
        assert pod_set.template.request == amounts(cpu=expected)


async def test_what_is_wrong_with_the_job_is_wrong_with_its_pod_sets(ground: Gathering) -> None:
    (pod_set,) = (await ground.now(job_view(defect="spec.parallelism is -1"))).pod_sets
    assert pod_set.template.defect == "spec.parallelism is -1"


async def test_the_priority_is_that_of_the_pods_class(ground: Gathering) -> None:
    view = PriorityClassView(name="high", value=1000)
    high = PriorityClass(namespace="", name="high", uid="1", resource_version="1", view=view)
    ground.watches.priority_classes.show(high)  # type: ignore[attr-defined]
    made = builders.codec.template_of({"spec": {"priorityClassName": "high", "containers": []}})
    job = job_view(pod_sets=(PodSet(name="main", count=1, template=made, wanted=1),))
    priority = (await ground.now(job)).priority
    assert (priority.value, priority.class_name, priority.missing_class) == (1000, "high", None)
    ground.watches.priority_classes.drop(high)  # type: ignore[attr-defined]
    assert (await ground.now(job)).priority.missing_class == "high"


async def test_the_annotation_of_a_job_is_its_priority(ground: Gathering) -> None:
    assert (await ground.now(job_view(annotations={keys.PRIORITY: "7"}))).priority.value == 7
    bad = (await ground.now(job_view(annotations={keys.PRIORITY: "high"}))).priority
    assert (bad.value, bad.bad_annotation) == (None, "high")
