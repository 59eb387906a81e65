"""Everything that the plan for one job rests on, looked up in the copies of the cluster."""

from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec

from kq.core import codec, keys
from kq.core.messages import over_quota
from kq.core.minresources import least_of, wrong_with
from kq.core.model import JobView, NamespaceView, Phase, PodSet, QueueUnit, Template
from kq.core.plugins import Problem, label_of
from kq.core.priority import DerivedPriority, derive
from kq.decide.charge import asked_by, asked_for
from kq.decide.fit import Shortage, shortage
from kq.decide.held import grows
from kq.decide.jobs import job_key
from kq.decide.kinds import grows_anew
from kq.decide.places import Place
from kq.decide.podlabels import counted_quota, missing_label
from kq.decide.situation import PodFacts, Rules, Situation
from kq.decide.standing import named_quota, names_queue, queue_name
from kq.decide.unitspec import suffix_of, unit_name
from kq.jobs.children import claimed_maker
from kq.jobs.remarks import min_resources_missing
from kq.reconcile.hub import Hub
from kq.reconcile.owners import Owners
from kq.reconcile.watches import BY_NAMESPACE, Watches

MISSING = min_resources_missing()


class Gatherer:
    """Makes the Situation of a job; asks the API server only for owners it does not know."""

    def __init__(
        self,
        *,
        watches: Watches,
        hub: Hub,
        owners: Owners,
        is_excluded: Callable[[NamespaceView], bool],
        holds_unmatched: bool,
        bypass_enabled: bool,
        suffixes: bool,
        labels_pods: bool = True,
        demands_resources: bool = False,
        rules: Rules,
        first_runs: Mapping[str, datetime],
    ) -> None:
        self._watches = watches
        self._hub = hub
        self._owners = owners
        self._is_excluded = is_excluded
        self._holds_unmatched = holds_unmatched
        self._bypass_enabled = bypass_enabled
        self._suffixes = suffixes
        self._labels_pods = labels_pods
        self._demands_resources = demands_resources
        self._rules = rules
        self._first_runs = first_runs

    async def situation(
        self, job: JobView, unit: QueueUnit | None, now: datetime, may_hold_at: datetime | None
    ) -> Situation:
        """The job as it stands at that moment."""
        quota = self._quota(job, unit)
        name = self._unit_name(job)
        short = self._shortage(job, unit, quota)
        is_child = unit is None and await self._owners.is_child(job)
        namesake = self._hub.book.units.get(f"{job.namespace}/{name}")
        return Situation(
            now=now,
            job=job,
            unit=unit,
            unit_name=name,
            name_taken_by=namesake if unit is None else None,
            pods=self._pods(job),
            managed=unit is not None or (not is_child and self._is_managed(job, quota)),
            false_claim=unit is None and not is_child and claimed_maker(job) is not None,
            quota=quota,
            quota_label=(quota and label_of(self._hub.book.quotas, quota)) or "",
            queue=self._queue(job, unit, quota),
            pod_sets=tuple(self._filled(job, each) for each in job.pod_sets),
            priority=self._priority(job),
            rules=self._rules,
            first_run=self._first_runs.get(job.kind.kind),
            may_hold_at=may_hold_at,
            taken=self._hub.book.takings.of(unit.key) if unit is not None else None,
            drained_by=self._hub.drained_by(unit) if unit is not None else "",
            moves=self._moves(job, unit),
            pod_label=self._pod_label(job, unit),
            outgrown=short is not None and unit is not None and grows_anew(job, unit),
            overdraft=over_quota(job.key, short.level, short.missing) if short else "",
        )

    def place_of(self, job: JobView) -> Place | None:
        """Where the unit of a held job will stand that has none yet; None if it gets none."""
        if (
            not job.suspended
            or job.finished
            or job.deleting
            or self._hub.book.jobs.unit_of(job.uid, job_key(job)) is not None
        ):
            return None
        quota = self._quota(job, None)
        if quota is None or not self._is_managed(job, quota):
            return None
        pod_sets = tuple(self._filled(job, each) for each in job.pod_sets)
        quotas, least = self._hub.book.quotas, least_of(job.kind.kind, job.annotations)
        priority = self._priority(job).value or 0
        order = (-priority, job.created.timestamp(), f"{job.namespace}/{self._unit_name(job)}")
        return Place(
            self._queue(job, None, quota),
            order,
            quota,
            asked_for(pod_sets, least, job.labels, quota, quotas),
        )

    def _unit_name(self, job: JobView) -> str:
        return unit_name(job, suffix_of(job) if self._suffixes else "")

    def _namespace(self, name: str) -> NamespaceView:
        return self._watches.namespaces.lister.get("", name) or NamespaceView(name=name)

    def _quota(self, job: JobView, unit: QueueUnit | None) -> str | None:
        """By spec 5.3; what holds quota, or has live pods, stays where it counts (spec 2.8)."""
        book, kept = self._hub.book, None
        counted = counted_quota(job, book.jobs.pods(job.uid), book.around)
        if unit is not None:
            kept = named_quota(unit, book.around)
            if kept and (unit.holds_quota or kept == counted):
                return kept
        elif counted:
            return counted
        return book.quotas.quota_of(job.labels, self._namespace(job.namespace)) or kept

    def _moves(self, job: JobView, unit: QueueUnit | None) -> bool:
        """Whether what is reserved is of another quota than the one that its job names now."""
        if unit is None or unit.phase is not Phase.RESERVED:
            return False
        found = self._hub.book.quotas.quota_of(job.labels, self._namespace(job.namespace))
        return bool(found) and found != named_quota(unit, self._hub.book.around)

    def _pod_label(self, job: JobView, unit: QueueUnit | None) -> str:
        if unit is None or not (self._labels_pods and unit.holds_quota and job.suspended):
            return ""
        return missing_label(job, unit, self._hub.book.around)

    def _queue(self, job: JobView, unit: QueueUnit | None, quota: str | None) -> str:
        """The Queue to be written in spec.queue (spec 10.1)."""
        named = next((job.annotations[k] for k in keys.QUEUE_NAME if job.annotations.get(k)), "")
        if named:
            return named
        if unit is not None and names_queue(unit):
            return queue_name(unit, quota or "", self._hub.book.around)[0]
        return self._hub.book.quotas.queue_of(quota) if quota else ""

    def _pods(self, job: JobView) -> PodFacts:
        group = self._hub.book.jobs.pods(job.uid)
        if group is None:
            return PodFacts()
        return PodFacts(
            live=group.live,
            running=group.running,
            pending=group.pending,
            by_pod_set=dict(+group.running_in),
            ending=group.ending,
            stuck=group.lingering and group.live == 0,
        )

    def _shortage(self, job: JobView, unit: QueueUnit | None, quota: str | None) -> Shortage | None:
        """What is in use of a quota in which a job that grew does not fit; None if it does."""
        if unit is None or quota is None or job.suspended or not unit.holds_quota:
            return None
        if not grows(unit):
            return None
        book = self._hub.book
        chain, own = book.quotas.chain(quota), book.usage.charge_of(unit.key)
        if isinstance(chain, Problem):
            return None
        request = asked_by(unit, quota, book.quotas)

        def used(level: str, resource: str) -> int:
            return book.usage.of(level).get(resource, 0) - own.get(resource)

        found = shortage(chain, request, used)
        if found is None:
            return None
        level = found.level
        in_use = tuple((name, used(level, name) + need, most) for name, need, most in found.missing)
        return msgspec.structs.replace(found, missing=in_use)

    def _is_managed(self, job: JobView, quota: str | None) -> bool:
        """Spec 5.1, for a job that has no unit yet and is no child."""
        namespace = self._namespace(job.namespace)
        if job.managed_by_other or namespace.terminating or self._is_excluded(namespace):
            return False
        if quota is None and not self._holds_unmatched:
            return False
        return not (self._bypass_enabled and self._bypassed(job))

    @staticmethod
    def _bypassed(job: JobView) -> bool:
        """Let through by the webhook, which alone knows who asked (spec 5.9)."""
        wanted = job.annotations.get(keys.BYPASS, "").lower() == "true"
        return wanted and bool(job.annotations.get(keys.BYPASSED_BY))

    def _filled(self, job: JobView, pod_set: PodSet) -> PodSet:
        """With what the API server will add to the pods (spec 12.1, 12.3a)."""
        ranges = self._watches.limit_ranges.lister.by_index(BY_NAMESPACE, job.namespace)
        template = codec.filled_template(
            pod_set.template, [each.body for each in ranges], self._overhead(pod_set.template)
        )
        defect = (
            job.defect
            or wrong_with(job.annotations)
            or (MISSING if job.estimated and self._demands_resources else None)
        )
        if defect and template.defect is None:
            template = Template(template.wire, codec.ZERO, defect)
        return PodSet(
            name=pod_set.name,
            count=pod_set.count,
            template=template,
            min_count=pod_set.min_count,
            wanted=pod_set.wanted,
        )

    def _overhead(self, template: Template) -> dict[str, object] | None:
        if not template.runtime_class:
            return None
        found = self._watches.runtime_classes.lister.get("", template.runtime_class)
        return found.body if found else None

    def _priority(self, job: JobView) -> DerivedPriority:
        classes = {each.name: each.view for each in self._watches.priority_classes.lister.values()}
        asked = job.priorities or [
            (each.template.priority_class, each.template.priority) for each in job.pod_sets
        ]
        templates = [
            {
                "spec": {
                    "priorityClassName": name or None,
                    "priority": number,
                }
            }
            for name, number in asked
        ]
        return derive(job.annotations, templates, classes)
