"""Queues of quotas are made, follow and go with them; wrong quotas are told (spec 3.3-3.8)."""

from datetime import timedelta
from typing import Any

import builders
import msgspec
import pytest
from api import Json, on
from builders import INSTALL_NAMESPACE, NOW, amounts
from shells import Ground

from kq.core import keys
from kq.core.kinds import QUEUE
from kq.core.model import Quota
from kq.decide import quotafaults
from kq.decide.autoqueue import WITHOUT_QUEUE
from kq.kube.errors import AlreadyExists, Conflict, NotFound
from kq.quota.unlimited import Unlimited
from kq.reconcile.controller import Request, Result
from kq.reconcile.quotas import QuotasReconciler

TEAM = f"{INSTALL_NAMESPACE}/team-a"


class Quotas(Ground):
    """Quotas that come and go, and the reconciler."""

    def __init__(self, *quotas: Quota, default_policy: str = "Priority") -> None:
        super().__init__()
        lister = self.watches.quotas.lister
        self.reconciler = QuotasReconciler(
            client=self.api,  # type: ignore[arg-type]
            hub=self.hub,
            teller=self.teller,
            queues=self.watches.queues.lister,
            faults=lambda name: quotafaults.of_quotas(
                lister.by_index("name", name),
                lister.by_index("parent", name),
                self.book.quotas.chain(name),
            ),
            namespace=INSTALL_NAMESPACE,
            default_policy=default_policy,
        )
        for each in quotas:
            self.put(each)

    def put(self, quota: Quota) -> None:
        self.watches.quotas.show(quota)  # type: ignore[attr-defined]
        self._count()

    def drop(self, quota: Quota) -> None:
        self.watches.quotas.drop(quota)  # type: ignore[attr-defined]
        self._count()

    def _count(self) -> None:
        plugin = builders.quotas(*self.watches.quotas.lister.values())
        self.book.set_quotas(plugin, structure_changed=True)

    async def look(self, name: str = "team-a") -> None:
        """The quota is looked at, and what was written is shown."""
        assert await self.reconciler.reconcile(Request("", name)) == Result()
        if f"{INSTALL_NAMESPACE}/{name}" in self.api.all(QUEUE):
            self.show_queue(name)

    def made(self, key: str = TEAM) -> Json:
        return self.api.find(QUEUE, key)


def quota(**fields: Any) -> Quota:
    return builders.quota(**{"cpu": 5} | fields)


# -- made


async def test_a_quota_gets_its_queue() -> None:
    labels = {keys.PARENT_LABEL: "root", "color": "red"}
    annotations = {
        "koord-queue/max-jobs": "9",
        keys.CREATED_BY_QUOTA_ENABLE: "true",
        "example.com/other": "x",
    }
    ground = Quotas(quota(labels=labels, annotations=annotations), default_policy="Block")
    await ground.look()
    (write,) = ground.api.writes
    copied = '{"koord-queue/max-jobs":"9","quota-koord-queue-enable":"true"}'
    assert write.body == {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "Queue",
        "metadata": {
            "name": "team-a",
            "namespace": INSTALL_NAMESPACE,
            "labels": {keys.AUTO_MADE_LABEL: "true", keys.PARENT_LABEL: "root"},
            "annotations": {
                "koord-queue/max-jobs": "9",
                keys.CREATED_BY_QUOTA_ENABLE: "true",
                keys.COPIED: copied,
                keys.DEFAULT_POLICY: "Block",
            },
        },
        "spec": {"queuePolicy": "Block", "priority": 1000},
    }


@pytest.mark.parametrize("label", keys.POLICY_LABELS)
async def test_the_label_of_a_quota_names_the_policy(label: str) -> None:
    ground = Quotas(quota(labels={label: "Block"}))
    await ground.look()
    assert ground.made()["spec"]["queuePolicy"] == "Block"


@pytest.mark.parametrize("name", sorted(WITHOUT_QUEUE))
async def test_the_quotas_of_koordinator_itself_get_none(name: str) -> None:
    ground = Quotas(quota(name=name))
    await ground.look(name)
    assert ground.api.writes == []


@pytest.mark.parametrize("name", sorted(WITHOUT_QUEUE))
async def test_the_quotas_of_koordinator_itself_get_one_for_their_first_unit(name: str) -> None:
    """Spec 10.2: made on demand, and it stays while its quota does."""
    ground = Quotas(quota(name=name))
    unit = ground.unit(quota=name)
    await ground.look(name)
    assert ground.made(f"{INSTALL_NAMESPACE}/{name}")["spec"]["priority"] == 1000
    ground.book.lost(unit)
    await ground.look(name)
    assert [each.verb for each in ground.api.writes] == ["create"]


async def test_without_a_quota_plugin_there_is_one_queue() -> None:
    ground = Quotas()
    ground.book.set_quotas(Unlimited(), structure_changed=True)
    for _ in range(2):
        await ground.look("default")
    (write,) = ground.api.writes
    assert write.short == f"create queues {INSTALL_NAMESPACE}/default"


async def test_a_queue_that_is_there_already_needs_no_second_one() -> None:
    ground = Quotas(quota())
    ground.api.fail(AlreadyExists("it is there", code=409))
    await ground.look()
    assert ground.api.all(QUEUE) == {}


async def test_looking_again_writes_nothing() -> None:
    ground = Quotas(quota(annotations={"koord-queue/max-jobs": "9"}, parent="root"))
    for _ in range(4):
        await ground.look()
    assert len(ground.api.writes) == 1


# -- followed


async def test_an_annotation_follows_its_quota_and_goes_with_it() -> None:
    ground = Quotas(quota(annotations={"koord-queue/a": "1", "koord-queue/b": "1"}))
    await ground.look()
    ground.put(quota(annotations={"koord-queue/a": "2"}))
    await ground.look()
    annotations = ground.made()["metadata"]["annotations"]
    assert annotations["koord-queue/a"] == "2"
    assert "koord-queue/b" not in annotations
    write = ground.api.writes[-1]
    assert (write.verb, write.uid is not None, write.resource_version is not None) == (
        "patch",
        True,
        True,
    )


async def test_what_a_person_sets_on_a_queue_stays() -> None:
    ground = Quotas(quota(annotations={"koord-queue/a": "1"}))
    await ground.look()
    by_hand = {"koord-queue/a": "9", "koord-queue/own": "x"}
    spec = {"priority": 7, "stopPolicy": "Hold", "queuePolicy": "Block"}
    ground.api.edit(QUEUE, TEAM, {"metadata": {"annotations": by_hand}, "spec": spec})
    ground.show_queue()
    ground.put(quota(annotations={}))
    await ground.look()
    annotations = ground.made()["metadata"]["annotations"]
    assert {key: annotations.get(key) for key in by_hand} == by_hand
    assert ground.made()["spec"] == spec


async def test_a_label_of_the_quota_wins_over_an_edited_policy() -> None:
    ground = Quotas(quota())
    await ground.look()
    ground.put(quota(labels={keys.POLICY_LABELS[0]: "Block"}))
    await ground.look()
    assert ground.made()["spec"]["queuePolicy"] == "Block"
    ground.api.edit(QUEUE, TEAM, {"spec": {"queuePolicy": "Priority"}})
    ground.show_queue()
    await ground.look()
    assert ground.made()["spec"]["queuePolicy"] == "Block"


async def test_a_default_once_written_follows_the_default_after_a_restart() -> None:
    before = Quotas(quota())
    await before.look()
    after = Quotas(quota(), default_policy="Block")
    after.api.put(QUEUE, before.made())
    after.show_queue()
    await after.look()
    assert after.made()["spec"]["queuePolicy"] == "Block"
    assert after.made()["metadata"]["annotations"][keys.DEFAULT_POLICY] == "Block"
    await after.look()
    assert len(after.api.writes) == 1


async def test_10_5_without_a_quota_plugin_the_one_queue_follows_the_default_too() -> None:
    before = Quotas()
    before.book.set_quotas(Unlimited(), structure_changed=True)
    await before.look("default")
    after = Quotas(default_policy="Block")
    after.book.set_quotas(Unlimited(), structure_changed=True)
    after.api.put(QUEUE, before.made(f"{INSTALL_NAMESPACE}/default"))
    after.show_queue("default")
    for _ in range(2):
        await after.look("default")
    assert after.made(f"{INSTALL_NAMESPACE}/default")["spec"]["queuePolicy"] == "Block"
    assert len(after.api.writes) == 1


async def test_an_edited_policy_does_not_follow_the_default() -> None:
    before = Quotas(quota())
    await before.look()
    after = Quotas(quota(), default_policy="Block")
    after.api.put(QUEUE, {**before.made(), "spec": {"queuePolicy": "Intelligent"}})
    after.show_queue()
    await after.look()
    assert after.api.writes == []


async def test_a_queue_made_by_hand_does_not_follow() -> None:
    ground = Quotas(quota(annotations={"koord-queue/a": "1"}, parent="root"))
    ground.queue()
    await ground.look()
    assert ground.api.writes == []


async def test_a_conflict_is_raised() -> None:
    ground = Quotas(quota())
    await ground.look()
    ground.api.edit(QUEUE, TEAM, {"spec": {"priority": 1}})
    ground.put(quota(annotations={"koord-queue/a": "1"}))
    with pytest.raises(Conflict):
        await ground.look()


# -- removed


async def test_a_queue_goes_with_its_quota() -> None:
    ground = Quotas(quota())
    await ground.look()
    ground.drop(quota())
    await ground.look()
    write = ground.api.writes[-1]
    assert write.short == f"delete queues {TEAM}"
    assert None not in (write.uid, write.resource_version)
    assert ground.api.all(QUEUE) == {}


async def test_a_queue_with_units_stays_until_the_last_one_goes() -> None:
    ground = Quotas(quota())
    await ground.look()
    unit = ground.unit()
    ground.drop(quota())
    await ground.look()
    assert len(ground.api.writes) == 1
    ground.book.lost(unit)
    await ground.look()
    assert ground.api.all(QUEUE) == {}


async def test_a_queue_made_by_hand_is_never_deleted() -> None:
    ground = Quotas()
    ground.queue()
    await ground.look()
    assert ground.api.writes == []


async def test_a_queue_on_its_way_out_is_not_deleted_twice() -> None:
    ground = Quotas(quota())
    await ground.look()
    ground.drop(quota())
    ground.api.edit(QUEUE, TEAM, {"metadata": {"deletionTimestamp": builders.stamp(0)}})
    ground.show_queue()
    await ground.look()
    assert len(ground.api.writes) == 1


async def test_a_queue_that_is_gone_already_is_a_success() -> None:
    ground = Quotas(quota())
    await ground.look()
    ground.drop(quota())
    ground.api.fail(NotFound("not found", code=404), on("delete"))
    await ground.look()
    assert len(ground.api.writes) == 2


async def test_a_name_that_means_nothing_is_left_alone() -> None:
    ground = Quotas()
    await ground.look("nobody")
    assert ground.api.writes == []


# -- reported


async def test_of_two_quotas_of_a_name_the_younger_is_told_once() -> None:
    older, younger = quota(), quota(namespace="other", uid="2", created=NOW + timedelta(1))
    ground = Quotas(younger, older)
    for _ in range(3):
        await ground.look()
    told = "Warning DuplicateQuota ElasticQuota/team-a: "
    assert ground.notes.told == [told + "quota team-a exists in namespace quotas already"]
    assert len(ground.api.writes) == 1


async def test_when_the_older_goes_the_younger_keeps_the_queue() -> None:
    older, younger = quota(), quota(namespace="other", uid="2", created=NOW + timedelta(1))
    ground = Quotas(younger, older)
    await ground.look()
    ground.drop(older)
    await ground.look()
    assert TEAM in ground.api.all(QUEUE)
    assert len(ground.api.writes) == 1


async def test_each_fault_is_told_once_for_as_long_as_it_stays() -> None:
    bad = msgspec.structs.replace(quota(), defects=("max of cpu is below its min",))
    ground = Quotas(bad)
    text = "Warning InvalidQuota ElasticQuota/team-a: max of cpu is below its min"
    for _ in range(3):
        await ground.look()
    assert ground.notes.take() == [text]
    ground.put(quota())
    await ground.look()
    ground.put(bad)
    await ground.look()
    assert ground.notes.take() == [text]


async def test_a_quota_whose_parent_is_missing_is_told_so() -> None:
    ground = Quotas(quota(parent="nowhere"))
    for _ in range(2):
        await ground.look()
    assert ground.notes.told == [
        "Warning InvalidQuota ElasticQuota/team-a: "
        "quota nowhere, ancestor of team-a, does not exist"
    ]


async def test_a_good_quota_is_told_nothing() -> None:
    ground = Quotas(quota(minimum=amounts(cpu=1)))
    await ground.look()
    assert ground.notes.told == []
