"""Whatever happens, in whatever order: what must hold of the book (spec 24.1, 24.5, 24.8).

A machine plays a small cluster: units on an API server whose events come late, writes that are
answered late or refused, quotas and Queues that are edited, pods that come and go. Cycles run only
for Queues that the book says are woken. What should come of it is computed from scratch, naively.
"""

from collections import Counter
from functools import partial
from random import Random

import msgspec
from builders import (
    NOW,
    amounts,
    at,
    book,
    changed,
    granted,
    job_view,
    pod,
    pod_set,
    queue,
    quota,
    quotas,
    stamp,
    unit,
)
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from naive import Naive

from kq.core import keys
from kq.core.model import Condition, JobView, Phase, PodView, Queue, QueueUnit, Quota
from kq.decide.book import Book
from kq.decide.places import told_by

QUOTAS = ("a", "b", "c", "d", "e")
SHARED = "shared"
"""A Queue made by hand; any unit may name it."""
QUEUES = (*QUOTAS, SHARED)
LEVELS = (*QUOTAS, "missing")
HELD = (Phase.DEQUEUED, Phase.RUNNING)

names = st.sampled_from(QUOTAS)
parents = st.sampled_from(("", "", "a", "a", "b", "b", "c", "d", "e", "missing"))
limits = st.builds(
    amounts,
    cpu=st.sampled_from((3, 4, 5, 6, 9, None)),
    pods=st.sampled_from((None, None, None, 3)),
    gpu=st.sampled_from((None, None, None, 1)),
)
minimums = st.sampled_from((amounts(), amounts(cpu=2)))
policies = st.sampled_from(("Priority", "Block", "Block", "Intelligent", "Intelligent", ""))
roles = st.sampled_from(
    (
        (pod_set(cpu=1),),
        (pod_set(cpu=2),),
        (pod_set(count=3, cpu=1),),
        (pod_set(count=2, cpu=2),),
        (pod_set(cpu=1, gpu=1),),
        (pod_set("head", cpu=1), pod_set("worker", 2, cpu=2)),
    )
)
annotations = st.sampled_from(({}, {}, {keys.SKIP_IMPOSSIBLE[0]: "true"}))
priorities = st.sampled_from((None, 1, 2))
submissions = st.lists(
    st.tuples(names, roles, priorities, st.integers(0, 3), st.sampled_from((False, False, True))),
    min_size=3,
    max_size=6,
)
changes = st.one_of(
    st.fixed_dictionaries({"priority": priorities}),
    st.fixed_dictionaries({"pod_sets": roles}),
    st.fixed_dictionaries({"active": st.booleans()}),
    names.map(lambda name: {"labels": {keys.QUOTA_LABEL: name}, "queue": name}),
)
ENDS = {"phase": Phase.SUCCEED, "raw_phase": "Succeed", "grants": ()}
REQUEUED = {"phase": Phase.ENQUEUED, "raw_phase": "Enqueued", "grants": ()}
SCALED: dict[str, object] = {"grants": None}


class Cluster(RuleBasedStateMachine):
    """The API server's truth, and a book that is told of it."""

    def __init__(self) -> None:
        super().__init__()
        self.units: dict[str, QueueUnit] = {}
        self.events: dict[str, list[QueueUnit | None]] = {}
        self.known: dict[str, QueueUnit] = {}
        self.decided: dict[str, QueueUnit] = {}
        self.jobs: dict[str, JobView] = {}
        self.pods: dict[str, PodView] = {}
        self.stuck: set[str] = set()
        self.quotas: dict[str, Quota] = {}
        self.queues: dict[str, Queue] = {}
        self.to_write: list[str] = []
        self.made = 0
        self.book = book()

    # -- set-up --------------------------------------------------------------------------------

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        """A tree of at most three levels, a Queue for each quota, and some who wait."""
        above = {"a": "", "b": "a", "c": "a", "d": "b", "e": data.draw(st.sampled_from(("", "b")))}
        for name in QUOTAS:
            each = {"limit": data.draw(limits), "minimum": data.draw(minimums)}
            self.quotas[name] = quota(name, parent=above[name], **each)
        self.book.set_quotas(quotas(*self.quotas.values()), structure_changed=True)
        for name in QUEUES:
            fields = {"policy": data.draw(policies), "annotations": data.draw(annotations)}
            self.put_queue(queue(name, **fields))
        self.submit(data)
        self.settle(Random(0))

    # -- units ---------------------------------------------------------------------------------

    def store(self, view: QueueUnit | None, key: str) -> None:
        """The server has this now; the informer shows it later."""
        if view is None:
            del self.units[key]
        else:
            self.units[key] = view
        self.events.setdefault(key, []).append(view)

    def pick(self, data: st.DataObject, *phases: Phase) -> str | None:
        found = [key for key, each in self.units.items() if each.phase in phases]
        return data.draw(st.sampled_from(sorted(found))) if found else None

    @rule(data=st.data())
    def submit(self, data) -> None:
        """Some jobs at once; a few name a Queue."""
        for of, pod_sets, priority, minute, shared in data.draw(submissions):
            self.made += 1
            name = f"u{self.made:02}"
            fields = {"pod_sets": pod_sets, "priority": priority, "minute": minute}
            made = unit(name, namespace="ns", quota=of, **fields)
            if shared:
                named = {**made.annotations, keys.QUEUE_NAME[0]: SHARED}
                made = msgspec.structs.replace(made, annotations=named)
            self.jobs[name] = job_view(name, namespace="ns")
            self.book.saw(self.jobs[name])
            self.store(made, made.key)

    @rule(data=st.data(), change=changes)
    def edit(self, data, change) -> None:
        """Somebody edits a unit that waits."""
        if key := self.pick(data, Phase.ENQUEUED):
            if "labels" in change and self.pods_of(self.units[key].name):
                return  # the quota of those pods is the one that they were made for
            self.store(changed(self.units[key], **change), key)

    @rule(data=st.data(), change=st.sampled_from((ENDS, REQUEUED, SCALED, {"priority": 3})))
    def give_back(self, data, change) -> None:
        """One that holds quota ends, goes back in line, or needs less (spec 9.17)."""
        if key := self.pick(data, *HELD):
            held = self.units[key]
            if change is SCALED:
                lower = [msgspec.structs.replace(each, replicas=1) for each in held.grants]
                change = {"grants": tuple(lower)}
            self.store(changed(held, **change), key)

    @rule(data=st.data())
    def delete_job(self, data) -> None:
        if key := self.pick(data, *Phase):
            self.end_job(key)

    def end_job(self, key: str) -> None:
        view = self.jobs.pop(self.units[key].name)
        self.book.lost(view)
        self.store(None, key)

    @precondition(lambda self: any(self.events.values()))
    @rule(data=st.data())
    def show(self, data) -> None:
        """The informer shows one more version of one unit."""
        self.show_next(data.draw(st.sampled_from(sorted(k for k, v in self.events.items() if v))))

    def show_next(self, key: str) -> None:
        view = self.events[key].pop(0)
        if view is None:
            self.decided.pop(key, None)
            self.book.lost(self.known.pop(key))
        else:
            self.note(view)
            self.book.saw(view)

    def note(self, view: QueueUnit) -> None:
        """The newest version that was shown or answered is what is known."""
        known = self.known.get(view.key)
        if known is None or int(known.resource_version) < int(view.resource_version):
            self.known[view.key] = view

    # -- pods ----------------------------------------------------------------------------------

    def pods_of(self, job: str) -> list:
        return [each for each in self.pods.values() if each.owner.name == job]

    @rule(data=st.data(), phase=st.sampled_from(("Pending", "Running", "Succeeded")))
    def put_pod(self, data, phase) -> None:
        if key := self.pick(data, *HELD, Phase.SUCCEED):
            held = self.units[key]
            role = data.draw(st.sampled_from(held.pod_sets))
            name = f"{held.name}-{data.draw(st.integers(0, 2))}"
            made = pod(
                name,
                job=held.name,
                namespace="ns",
                phase=phase,
                quota=held.labels[keys.QUOTA_LABEL],
                pod_set=role.name if len(held.pod_sets) > 1 else "",
                request=role.template.request,
            )
            self.pods[name] = made
            self.book.saw(made)

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), stuck=st.booleans())
    def drop_pod(self, data, stuck) -> None:
        name = data.draw(st.sampled_from(sorted(self.pods)))
        if stuck:
            self.book.stuck(self.pods[name])
            self.stuck |= {name} if self.pods[name].live else set()
            return
        self.stuck.discard(name)
        self.book.lost(self.pods.pop(name))

    # -- quotas and Queues ---------------------------------------------------------------------

    def put_quotas(self, structure_changed: bool) -> None:
        picture = quotas(*self.quotas.values())
        self.book.set_quotas(picture, structure_changed=structure_changed)

    @rule(name=names, limit=limits)
    def edit_max(self, name, limit) -> None:
        if name in self.quotas:
            self.quotas[name] = changed(self.quotas[name], limit=limit)
            self.put_quotas(structure_changed=False)

    @rule(name=names, parent=parents)
    def edit_parent(self, name, parent) -> None:
        if name in self.quotas:
            self.quotas[name] = changed(self.quotas[name], parent=parent)
            self.put_quotas(structure_changed=True)

    @rule(name=st.sampled_from(("d", "e", "a")), parent=parents, limit=limits)
    def drop_or_make_quota(self, name, parent, limit) -> None:
        if self.quotas.pop(name, None) is None:
            self.quotas[name] = quota(name, parent=parent, limit=limit)
        self.put_quotas(structure_changed=True)

    def put_queue(self, view) -> None:
        self.queues[view.name] = view
        self.book.saw(view)

    @rule(
        name=st.sampled_from(QUEUES),
        policy=policies,
        priority=st.integers(0, 2),
        stop=st.sampled_from(("None", "None", "None", "Hold")),
        listed=annotations,
    )
    def edit_queue(self, name, policy, priority, stop, listed) -> None:
        fields = {"policy": policy, "priority": priority, "stop_policy": stop}
        self.put_queue(changed(queue(name), annotations=listed, **fields))

    @rule(name=st.sampled_from(QUEUES))
    def drop_or_make_queue(self, name) -> None:
        if view := self.queues.pop(name, None):
            self.book.lost(view)
        else:
            self.put_queue(queue(name))

    # -- cycles and writes ---------------------------------------------------------------------

    @rule(name=st.sampled_from(QUEUES))
    def cycle_early(self, name) -> None:
        """While other events are still on their way."""
        self.cycle(name)

    def cycle(self, name: str) -> None:
        """One cycle, checked against the naive one; what it grants is written some time later."""
        expected, before = self.naive.cycle(name), self.naive.usage()
        found = {each.key: each for each in self.book.cycle(name, NOW)}
        assert list(found) == expected
        self.decided |= found
        assert self.naive.above(before) == []
        self.to_write += found

    @precondition(lambda self: self.to_write)
    @rule(shown_first=st.booleans())
    def write_grant(self, shown_first) -> None:
        self.write(self.to_write.pop(0), shown_first)

    def write(self, key: str, shown_first: bool) -> None:
        """As the shell does it: conditional on the version that the grant was decided on."""
        entry = self.book.ledger.get(key)
        if entry is None or entry.grant is None:
            return
        basis, stored = entry.settled, self.units.get(key)
        if basis is None or basis.resource_version != entry.grant.resource_version:
            self.revoke(key)
        elif stored is None or stored.resource_version != basis.resource_version:
            self.revoke(key)
            self.show_all(key)
        else:
            version = str(int(stored.resource_version) + 1)
            self.answer(granted(stored, version, grants=entry.grant.grants), shown_first)

    def revoke(self, key: str) -> None:
        self.decided.pop(key, None)
        self.book.revoke(key)

    def answer(self, view: QueueUnit, shown_first: bool) -> None:
        """A write of ours goes well; the informer may be faster than the answer."""
        sending = self.book.ledger.sending(view.key)
        self.store(view, view.key)
        if shown_first:
            self.show_all(view.key)
        self.decided.pop(view.key, None)
        self.note(view)
        self.book.wrote(view, sending)

    def show_all(self, key: str) -> None:
        while self.events.get(key):
            self.show_next(key)

    def tell(self, key: str) -> bool:
        """Writes why a unit waits; whether there was anything to write."""
        entry, verdict = self.book.ledger.get(key), self.book.verdict(key)
        if entry is None or entry.grant or entry.settled is None:
            return False
        stored = self.units.get(key)
        if verdict is None or told_by(entry.settled) == verdict:
            return False
        if stored is None or stored.resource_version != entry.settled.resource_version:
            self.show_all(key)
            return self.tell(key)
        waits = Condition("QuotaReserved", False, verdict.reason, verdict.message, stamp(0))
        fields = {"raw_phase": "Enqueued", "message": verdict.message, "conditions": (waits,)}
        self.answer(changed(stored, **fields), False)
        return True

    def tell_all(self) -> list[str]:
        return [key for key in sorted(self.book.take_to_tell()) if self.tell(key)]

    # -- rest ----------------------------------------------------------------------------------

    @rule(random=st.randoms(use_true_random=False))
    def rest(self, random: Random) -> None:
        self.settle(random)

    @rule(random=st.randoms(use_true_random=False))
    def rest_again(self, random: Random) -> None:
        """Twice among the rules: half of what there is to see is seen at rest."""
        self.settle(random)

    @rule(random=st.randoms(use_true_random=False))
    def rest_once_more(self, random: Random) -> None:
        self.settle(random)

    def settle(self, random: Random) -> None:
        """Everything is shown, woken Queues have their cycles, in any order, until all is quiet."""
        disturbed: set[str] = set()
        for _ in range(100):
            for key in list(self.events):
                self.show_all(key)
            woken = self.book.take_woken()
            random.shuffle(woken)
            for name in woken:
                self.cycle(name)
            while self.to_write:
                key = self.to_write.pop(0)
                if key in self.units and key not in disturbed:
                    disturbed.add(key)
                    self.disturb(key, random.random())
                self.write(key, random.random() < 0.5)
                self.what_is_known_and_decided_counts()
            told = self.tell_all()
            if not woken and not told and not any(self.events.values()):
                break
        else:
            raise AssertionError("cycles wake one another for ever")
        self.assert_nothing_fits()
        self.assert_a_second_cycle_does_nothing()
        self.assert_a_restart_changes_nothing(random)

    def disturb(self, key: str, chance: float) -> None:
        """Something comes between a decision and its write."""
        if chance < 0.2:
            self.store(changed(self.units[key]), key)
        elif chance < 0.3:
            self.end_job(key)
            self.show_all(key)

    def assert_nothing_fits(self) -> None:
        """No wake was lost."""
        assert self.book.units == self.units
        assert {name for name in QUEUES if self.naive.cycle(name)} == set()

    def assert_a_second_cycle_does_nothing(self) -> None:
        """Nor does a third; only what became short at a nearer level meanwhile is told anew."""
        for name in QUEUES:
            assert self.book.cycle(name, NOW) == []
        self.tell_all()
        said = {key: self.book.verdict(key) for key in self.units}
        for name in QUEUES:
            assert self.book.cycle(name, at(9)) == []
        assert self.tell_all() == []
        assert said == {key: self.book.verdict(key) for key in self.units}
        for key in list(self.events):
            self.show_all(key)

    def assert_a_restart_changes_nothing(self, random: Random) -> None:
        """Whatever the order in which the lists come in."""
        again = self.restarted(random)
        for name in again.take_woken():
            assert again.cycle(name, NOW) == []
        for key in self.units:
            assert again.verdict(key) == self.book.verdict(key)
            assert again.queue_of(key) == self.book.queue_of(key)
        for level in LEVELS:
            assert again.usage.of(level) == self.book.usage.of(level)
        for key in again.take_to_tell():
            assert again.verdict(key) in (None, told_by(self.units[key]))

    def restarted(self, random: Random) -> Book:
        again = book()
        gathers = random.random() < 0.5
        if gathers:
            again.gather()
        groups = (self.units, self.jobs, self.pods, self.queues)
        steps = [partial(again.saw, view) for group in groups for view in group.values()]
        picture = quotas(*self.quotas.values())
        steps.append(partial(again.set_quotas, picture, structure_changed=True))
        random.shuffle(steps)
        for step in steps:
            step()
        for name in self.stuck:
            again.stuck(self.pods[name])
        if gathers:
            for _ in again.settle(picture):
                pass
        return again

    # -- what must always hold ---------------------------------------------------------------

    @property
    def naive(self) -> Naive:
        """What the book knows, computed from scratch."""
        return Naive(
            self.known | self.decided, self.jobs, self.pods, self.stuck, self.quotas, self.queues
        )

    @invariant()
    def what_is_known_and_decided_counts(self) -> None:
        assert self.book.units == self.known | self.decided

    @invariant()
    def usage_is_the_sum(self) -> None:
        expected = self.naive.usage()
        for level in LEVELS:
            assert Counter(self.book.usage.of(level)) == expected.get(level, Counter())


Cluster.TestCase.settings = settings(
    settings.default, max_examples=max(40, settings.default.max_examples // 5)
)
TestCluster = Cluster.TestCase
