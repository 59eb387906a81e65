"""What the manager watches."""

from collections.abc import Callable, Mapping, Sequence

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
    copied: Sequence[str] = (),
    counts_foreign: bool = False,
    quota_mode: str = "ElasticQuotaV2",
) -> Watches:
    """One informer a kind; those of kinds that may be absent look again (spec 4.7).

    `kin` are kinds that are not served, but stand between jobs and their pods.

    `quota_mode` is the quota plugin: only objects of its kind are watched (spec 11.1).

    `copied` are further domains of annotations that units take over from jobs (spec 2.7).
    """
    return Watches(
        units=Informer(
            client=client, kind=QUEUE_UNIT, decode=views.unit, metrics=counted, known=known
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
        jobs={
            kind: _job_informer(client, each, counted, job_decoder(each, copied))
            for kind, each in integrations.items()
        },
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


def job_decoder(
    integration: JobIntegration, copied: Sequence[str] = ()
) -> Callable[[bytes], JobView]:
    """Reads jobs of one kind, with the annotations of these domains beside our own."""
    prefixes = tuple(f"{domain.rstrip('/')}/" for domain in copied)

    def decode(raw: bytes) -> JobView:
        body = views.decode_object(raw)
        view = integration.view(body)
        if not prefixes:
            return view
        annotations = codec.mapping(body, "metadata").get("annotations")
        kept = codec.own_annotations(annotations, prefixes)
        return msgspec.structs.replace(view, annotations=kept)

    return decode
