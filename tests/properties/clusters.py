"""Small clusters at one moment, drawn: quotas of each mode, Queues of all settings, who waits."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec
from builders import NOW, amounts, job_view, pod, pod_set, queue, quota, stamp, unit
from hypothesis import strategies as st

from kq.core import keys
from kq.core.demand import demand_of_template
from kq.core.model import Phase, PodView, Queue, QueueUnit, Quota
from kq.core.options import QuotaOptions, RetryOptions
from kq.core.plugins import QuotaPlugin
from kq.core.quotaviews import queue_name, resource_quota
from kq.core.resources import Resources
from kq.decide.book import Book
from kq.policies import POLICIES
from kq.quota.elasticquota import ElasticQuotas
from kq.quota.elasticquotatree import ElasticQuotaTrees
from kq.quota.resourcequota import ResourceQuotas
from kq.quota.treeview import quota_tree

QUOTAS = ("a", "b", "c", "d")
SHARED = "shared"
"""A Queue for units of any quota."""


@dataclass(frozen=True)
class Elastic:
    """Quotas as ElasticQuotas with parents."""

    quotas: Mapping[str, Quota]
    options: QuotaOptions

    def picture(self) -> QuotaPlugin:
        """As kq reads them."""
        return ElasticQuotas.build(self.options, self.quotas.values())

    def unit(self, name: str, of: str, **fields: object) -> QueueUnit:
        """A unit that draws on that quota."""
        return unit(name, namespace="ns", quota=of, **fields)

    def queue_of(self, of: str) -> str:
        """The Queue made for that quota."""
        return of

    def raised(self, level: str, limit: Resources, *, of_min: bool) -> "Elastic":
        """With a higher max or min."""
        return replace(self, quotas=higher(self.quotas, level, limit, of_min=of_min))


@dataclass(frozen=True)
class Tree(Elastic):
    """The same as nodes of an ElasticQuotaTree."""

    def picture(self) -> QuotaPlugin:
        """As kq reads them."""
        meta = {"namespace": "kube-system", "name": "tree", "uid": "u", "resourceVersion": "1"}
        root = {"name": "root", "children": list(self.children(""))}
        found = quota_tree(json.dumps({"metadata": meta, "spec": {"root": root}}).encode())
        assert found is not None
        return ElasticQuotaTrees.build(self.options, [found])

    def children(self, above: str) -> Iterator[dict[str, object]]:
        """Nodes below that one."""
        for each in self.quotas.values():
            if each.parent == above:
                yield {
                    "name": each.name,
                    "max": each.limit.to_wire(),
                    "min": each.minimum.to_wire(),
                    "attributes": dict(each.annotations),
                    "children": list(self.children(each.name)),
                }

    def queue_of(self, of: str) -> str:
        """The Queue made for that node."""
        above = self.quotas[of].parent
        names = [of]
        while above:
            names.append(above)
            above = self.quotas[above].parent
        return queue_name("/".join(["root", *reversed(names)]))

    def raised(self, level: str, limit: Resources, *, of_min: bool) -> "Tree":
        """With a higher max or min."""
        name = level.rpartition("/")[2]
        return replace(self, quotas=higher(self.quotas, name, limit, of_min=of_min))


def meant(of: Quota) -> Quota:
    """Without a min that is above its max, which would count as 0."""
    kept = {n: a for n, a in of.minimum.items() if a <= of.limit.get(n, a)}
    return msgspec.structs.replace(of, minimum=Resources.of(kept))


@dataclass(frozen=True)
class Hard(Elastic):
    """Namespaces with one ResourceQuota each, and a second one if their quota has a parent."""

    def picture(self) -> QuotaPlugin:
        """As kq reads them."""
        made = []
        for name, each in self.quotas.items():
            body = {
                "metadata": {
                    "namespace": each.namespace,
                    "name": name.partition("/")[2],
                    "uid": name,
                    "resourceVersion": "1",
                    "creationTimestamp": stamp(0),
                },
                "spec": {"hard": each.limit.to_wire()},
            }
            made.append(resource_quota(json.dumps(body).encode()))
        return ResourceQuotas.build(self.options, made)

    def unit(self, name: str, of: str, **fields: object) -> QueueUnit:
        """A unit in that namespace."""
        return unit(name, namespace=of, quota=None, queue=of, **fields)

    @classmethod
    def of(cls, quotas: Mapping[str, Quota], options: QuotaOptions) -> "Hard":
        """Limits of each quota and of its parent as those of one namespace."""
        made = {}
        for name, each in quotas.items():
            for rq, source in (("own", each), ("more", quotas.get(each.parent))):
                if source is not None:
                    limit = {key_of(resource): n for resource, n in source.limit.items()}
                    changes = {"namespace": name, "name": rq, "limit": Resources.of(limit)}
                    made[f"{name}/{rq}"] = msgspec.structs.replace(source, **changes)
        return cls(made, options)


def key_of(resource: str) -> str:
    """As ResourceQuotas call requests."""
    return resource if resource == "pods" else f"requests.{resource}"


def higher(
    quotas: Mapping[str, Quota], name: str, limit: Resources, *, of_min: bool
) -> Mapping[str, Quota]:
    """One of them with another max, or min, of some resources."""
    field = "minimum" if of_min else "limit"
    amounts_of = Resources.of({**dict(getattr(quotas[name], field).items()), **dict(limit.items())})
    return {**quotas, name: msgspec.structs.replace(quotas[name], **{field: amounts_of})}


Mode = Elastic | Tree | Hard


@dataclass(frozen=True)
class Cluster:
    """All objects, and a moment; the name of a unit is that of its job."""

    mode: Mode
    queues: Mapping[str, Queue]
    units: Mapping[str, QueueUnit]
    pods: Mapping[str, Sequence[PodView]]
    retry: RetryOptions
    now: datetime

    def book(self) -> Book:
        """A book that has seen all of it, and whose Queues have had their passes up to now."""
        made = Book(
            policies=POLICIES,
            default_policy="Priority",
            quotas=self.mode.picture(),
            kinds=("Job",),
            retry=self.retry,
        )
        jobs = [job_view(name, namespace=each.namespace) for name, each in self.units.items()]
        pods = [each for pods in self.pods.values() for each in pods]
        for view in (*self.queues.values(), *jobs, *pods, *self.units.values()):
            made.saw(view)
        made.take_woken()
        for name in sorted(self.queues):
            made.cycle(name, NOW)
        settled(made, NOW)
        pass_time(made, self.now)
        return made

    def key(self, name: str) -> str:
        """Of a unit."""
        return self.units[name].key


def settled(of: Book, now: datetime) -> list[str]:
    """Passes until nobody is to be looked at; who has started."""
    started = []
    while woken := of.take_woken():
        for name in woken:
            started += [each.name for each in of.cycle(name, now)]
    return started


def pass_time(of: Book, until: datetime) -> list[str]:
    """Passes over Queues whose time has come; who has started."""
    started = []
    while (ends := dict(ends_of(of))) and min(ends.values()) <= until:
        now = min(ends.values())
        of.course.woken.update(name for name, end in ends.items() if end == now)
        started += settled(of, now)
    return started


def ends_of(of: Book) -> Iterator[tuple[str, datetime]]:
    """Queues in which somebody is in back-off, and when the first such ends."""
    for name in of.queues:
        end = of.next_look(name)
        if end is not None:
            yield name, end


limits = st.builds(
    amounts,
    cpu=st.sampled_from((2, 3, 4, 5, 6, 9, 9, None)),
    gpu=st.sampled_from((None, None, None, 1, 2)),
    pods=st.sampled_from((None, None, None, 3)),
)
minimums = st.sampled_from((amounts(cpu=1), amounts(cpu=3)))
reclaims = st.sampled_from(({}, {}, {keys.RECLAIM[0]: "Any"}, {keys.RECLAIM[0]: "LowerPriority"}))
policies = st.sampled_from(("Priority", "Block", "Block", "Intelligent", "Intelligent"))
rules = st.fixed_dictionaries(
    {},
    optional={
        keys.MAX_DEPTH[0]: st.sampled_from(("1", "2", "3")),
        keys.WAIT_FOR_PODS[0]: st.just("true"),
        keys.SKIP_IMPOSSIBLE[0]: st.just("true"),
        keys.ENABLE_PREEMPTION[0]: st.just("true"),
    },
)
plain_rules = st.one_of(st.just({}), rules)
roles = st.sampled_from(
    (
        (pod_set(cpu=1),),
        (pod_set(cpu=2),),
        (pod_set(cpu=4),),
        (pod_set(count=3, cpu=1),),
        (pod_set(count=2, cpu="1500m"),),
        (pod_set(cpu=1, gpu=1),),
        (pod_set("head", cpu=1), pod_set("worker", 2, cpu=1, gpu=1)),
    )
)
entries = st.tuples(
    st.sampled_from(("b", "b", "b", "c", "d")),
    st.sampled_from(("", SHARED)),
    roles,
    st.sampled_from((None, None, 1, 3, 4, 6)),
    st.booleans(),
    st.sampled_from(({}, {}, {keys.PREEMPTIBLE_LABELS[0]: "false"})),
)
retries = st.sampled_from(
    (RetryOptions(), RetryOptions(backs_off=True), RetryOptions(backs_off=True, strict=True))
)
moments = st.sampled_from([timedelta(seconds=each) for each in (0, 0.3, 1.5, 4)])


@st.composite
def modes(draw: st.DrawFn) -> Mode:
    """Quotas of one mode."""
    kind = draw(st.sampled_from((Elastic, Elastic, Elastic, Tree, Hard)))
    above = {"a": "", "b": "a", "c": draw(st.sampled_from(("", "a", "b")))}
    above["d"] = draw(st.sampled_from(("", "a", "c")))
    made = {
        name: meant(
            quota(
                name,
                parent=above[name],
                limit=draw(limits),
                minimum=draw(minimums),
                annotations=draw(reclaims),
            )
        )
        for name in QUOTAS
    }
    is_firm = draw(st.sampled_from((False, False, True)))
    options = QuotaOptions(parents_take_jobs=True, firm_within_min=is_firm)
    return Hard.of(made, options) if kind is Hard else kind(made, options)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """At the end of all passes: nobody could start any more."""
    mode = draw(modes())
    names = [*map(mode.queue_of, QUOTAS), SHARED]
    queues = {
        name: queue(name, policy=draw(policies), annotations=draw(plain_rules), priority=index % 2)
        for index, name in enumerate(names)
    }
    units, pods = {}, {}
    phases = [Phase.RUNNING] * draw(st.integers(1, 4)) + [Phase.ENQUEUED] * draw(st.integers(2, 6))
    for number, phase in enumerate(phases):
        of, line, pod_sets, priority, ready, labels = draw(entries)
        name = f"u{number}"
        made = mode.unit(name, of, pod_sets=pod_sets, priority=priority, minute=number, phase=phase)
        named = {keys.QUEUE_NAME[0]: line} if line else {}
        units[name] = msgspec.structs.replace(
            made, annotations={**made.annotations, **named}, labels={**made.labels, **labels}
        )
        if phase is Phase.RUNNING and ready:
            pods[name] = running(units[name])
    begun = Cluster(mode, queues, units, pods, draw(retries), NOW)
    after = {each.name: each for each in begun.book().units.values()}
    later = NOW + draw(moments) if begun.retry.backs_off else NOW
    return replace(begun, units=after, now=later)


def running(of: QueueUnit) -> Sequence[PodView]:
    """All its pods, as they run."""
    return [
        pod(
            f"{of.name}-{each.name}-{number}",
            job=of.name,
            namespace=of.namespace,
            quota=of.labels.get(keys.QUOTA_LABEL, ""),
            pod_set=each.name,
            request=each.template.request
            if keys.QUOTA_LABEL in of.labels
            else demand_of_template(each.template.wire, ""),
        )
        for each in of.pod_sets
        for number in range(each.count)
    ]
