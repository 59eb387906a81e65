"""What the manager watches."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from kq.app.process import Counted
from kq.app.quotasources import quota_informer
from kq.core import classviews, codec, podviews, views
from kq.core.kinds import (
    CRD,
    JOB,
    LIMIT_RANGE,
    NAMESPACE,
    POD,
    PRIORITY_CLASS,
    QUEUE,
    QUEUE_UNIT,
    RUNTIME_CLASS,
    ResourceKind,
)
from kq.core.model import JobView, QueueUnit
from kq.core.unitread import ConsumerWire
from kq.decide.kin import pod_owners
from kq.jobs.integration import JobIntegration
from kq.kube.client import Client
from kq.kube.errors import ApiError, NotFound
from kq.kube.informer import Informer
from kq.reconcile.family import by_owner
from kq.reconcile.watches import BY_NAMESPACE, BY_OWNER, Watches, by_namespace


def make_watches(
    client: Client,
    integrations: Mapping[str, JobIntegration],
    counted: Counted,
    *,
    kin: Sequence[JobIntegration] = (),
    known: Callable[[str, str, str], QueueUnit | None],
    units_of: Callable[[str], Sequence[QueueUnit]],
    copied: Sequence[str] = (),
    counts_foreign: bool = False,
    quota_mode: str = "ElasticQuotaV2",
) -> Watches:
    """One informer a kind; those of kinds that may be absent look again (spec 4.7).

    `kin` are kinds that are not served, but stand between jobs and their pods.

    `quota_mode` is the quota plugin: only objects of its kind are watched (spec 11.1).

    `copied` are further domains of annotations that units take over from jobs (spec 2.7).

    A job and its unit have some texts in common, which are kept once: `known` and `units_of` find
    a version of a unit that we wrote, and the units of a job, as far as they were seen.
    """
    jobs = {
        kind: _job_informer(client, each, counted, job_decoder(each, copied, units_of))
        for kind, each in integrations.items()
    }
    return Watches(
        units=Informer(
            client=client, kind=QUEUE_UNIT, decode=unit_decoder(jobs), metrics=counted, known=known
        ),
        queues=Informer(client=client, kind=QUEUE, decode=views.queue, metrics=counted),
        quotas=quota_informer(client, quota_mode, counted),
        namespaces=Informer(client=client, kind=NAMESPACE, decode=views.namespace, metrics=counted),
        pods=Informer(
            client=client,
            kind=POD,
            decode=podviews.pod_decoder(
                pod_owners(integrations),
                counts_foreign=counts_foreign,
                by_namespace=quota_mode == "ResourceQuota",
            ),
            metrics=counted,
        ),
        jobs=jobs,
        kin={
            each.kinds[0].kind: _job_informer(client, each, counted, job_decoder(each))
            for each in kin
        },
        priority_classes=Informer(
            client=client, kind=PRIORITY_CLASS, decode=classviews.priority_class, metrics=counted
        ),
        limit_ranges=Informer(
            client=client,
            kind=LIMIT_RANGE,
            decode=classviews.limit_range,
            indexes={BY_NAMESPACE: by_namespace},
            metrics=counted,
        ),
        runtime_classes=Informer(
            client=client, kind=RUNTIME_CLASS, decode=classviews.runtime_class, metrics=counted
        ),
    )


def _job_informer(
    client: Client,
    integration: JobIntegration,
    counted: Counted,
    decode: Callable[[bytes], JobView],
) -> Informer[JobView]:
    """Jobs of one kind, in the first of its versions that is served (spec 4.7)."""

    async def is_removed(kind: ResourceKind) -> bool:
        try:
            await client.get(CRD, f"{kind.plural}.{kind.group}")
        except NotFound:
            return True
        except ApiError:
            return False  # who may not look knows nothing
        return False

    built_in = integration.kinds[0] == JOB
    return Informer(
        client=client,
        kind=integration.kinds[0],
        versions=integration.kinds,
        decode=decode,
        indexes={BY_OWNER: by_owner},
        optional=not built_in,
        is_removed=None if built_in else is_removed,
        metrics=counted,
    )


def _no_units(uid: str) -> Sequence[QueueUnit]:
    """No unit was seen yet."""
    return ()


def _share_with(units_of: Callable[[str], Sequence[QueueUnit]], meta: Any) -> None:
    """The name and the UID of a job are those objects that its unit has."""
    uid = meta.get("uid") if isinstance(meta, dict) else None
    for unit in units_of(uid) if isinstance(uid, str) else ():
        consumer = unit.consumer
        if consumer is not None and (consumer.uid, consumer.name) == (uid, meta.get("name")):
            meta["uid"], meta["name"] = consumer.uid, consumer.name


def unit_decoder(jobs: Mapping[str, Informer[JobView]]) -> Callable[[bytes], QueueUnit]:
    """Reads units; what one has in common with its job is the same object in both."""

    def texts_of(consumer: ConsumerWire) -> Sequence[str]:
        informer = jobs.get(consumer.kind or "")
        lister = informer.lister if informer is not None else None
        job = lister.get(consumer.namespace or "", consumer.name or "") if lister else None
        return (job.name, job.uid) if job is not None else ()

    return partial(views.unit, texts_of=texts_of)


def job_decoder(
    integration: JobIntegration,
    copied: Sequence[str] = (),
    units_of: Callable[[str], Sequence[QueueUnit]] = _no_units,
) -> Callable[[bytes], JobView]:
    """Reads jobs of one kind, with the annotations of these domains beside our own."""
    prefixes = tuple(f"{domain.rstrip('/')}/" for domain in copied)

    def decode(raw: bytes) -> JobView:
        body = views.decode_object(raw)
        _share_with(units_of, body.get("metadata"))
        view = integration.view(body)
        if not prefixes:
            return view
        annotations = codec.mapping(body, "metadata").get("annotations")
        kept = codec.own_annotations(annotations, prefixes)
        return msgspec.structs.replace(view, annotations=kept)

    return decode
