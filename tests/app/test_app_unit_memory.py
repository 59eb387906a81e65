"""What a job costs that waits with its unit: at most 2,700 bytes, all indexes included."""

from typing import Any, cast

import builders
import msgspec
from sizes import size_of

from kq.app.watching import job_decoder, unit_decoder
from kq.core.codec import format_time
from kq.core.model import JobView, QueueUnit
from kq.jobs.batch import BatchJob
from kq.jobs.options import JobOptions
from kq.kube.replica import Replica

PAIRS = 3_000
TEAMS = 5
MOST_BYTES = 2_700


def job_uid(number: int) -> str:
    return f"5c3f8f9e-1d0b-4a52-9a2c-{number:012x}"


def meta(number: int, kind: int, **fields: Any) -> dict[str, Any]:
    team = f"team-{number % TEAMS}"
    return {
        "name": f"llm-finetune-stage-2-{number:06}",
        "namespace": team,
        "uid": f"{kind:08x}-1d0b-4a52-9a2c-{number:012x}",
        "resourceVersion": str(70_000_000 + 2 * number + kind),
        "creationTimestamp": format_time(builders.at(number / 60)),
        "labels": {"quota.scheduling.koordinator.sh/name": team, "app": "train"},
        **fields,
    }


def marks(number: int) -> dict[str, str]:
    return {
        "koord-queue/job-has-enqueued": "true",
        "koord-queue/job-enqueue-timestamp": format_time(builders.at(number / 60)),
        "koord-queue/injected": "pod-labels,suspend",
    }


def template(number: int, **labels: str) -> dict[str, Any]:
    requests = {"cpu": str(1 + number % 10), "memory": "64Gi", "nvidia.com/gpu": "1"}
    resources = {"requests": requests, "limits": requests}
    container = {"name": "train", "image": "registry.example/train:1", "resources": resources}
    return {
        "metadata": {"labels": labels},
        "spec": {"containers": [container], "restartPolicy": "Never"},
    }


def job(number: int) -> bytes:
    made = template(number, **{"job-name": str(number), "controller-uid": job_uid(number)})
    made["spec"]["containers"][0]["env"] = [{"name": "RUN", "value": f"{number}" * 10}]
    body = {
        "metadata": meta(number, 0, uid=job_uid(number), annotations=marks(number)),
        "spec": {"suspend": True, "parallelism": 1, "template": made},
        "status": {},
    }
    return msgspec.json.encode(body)


def unit(number: int) -> bytes:
    time = format_time(builders.at(number / 60))
    own = meta(number, 1)
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": own["name"]}
    owner = {**reference, "uid": job_uid(number)}
    message = "waiting for quota: 1 cpu requested, not enough free of 100"
    annotations = {
        **marks(number),
        "koord-queue/job-creation-timestamp": time,
        "koord-queue/derived-priority": "",
    }
    condition = {
        "type": "QuotaReserved",
        "status": "False",
        "reason": "WaitingForQuota",
        "message": message,
        "lastTransitionTime": time,
    }
    body = {
        "metadata": {**own, "annotations": annotations, "ownerReferences": [owner]},
        "spec": {
            "consumerRef": {**owner, "namespace": own["namespace"]},
            "queue": own["namespace"],
            "podSet": [{"name": own["name"], "count": 1, "template": template(number)}],
        },
        "status": {"phase": "Enqueued", "message": message, "conditions": [condition]},
    }
    return msgspec.json.encode(body)


class Listed:
    """An informer, as far as a decoder asks it."""

    def __init__(self, replica: Replica[JobView]) -> None:
        self.lister = replica.store


def test_a_job_and_its_unit_have_name_and_uid_in_common_whoever_comes_first() -> None:
    book = builders.book()
    jobs: Replica[JobView] = Replica(
        job_decoder(BatchJob(JobOptions()), units_of=book.jobs.units_of)
    )
    units: Replica[QueueUnit] = Replica(unit_decoder(cast(Any, {"Job": Listed(jobs)})))
    for first, second, number in ((jobs, units, 1), (units, jobs, 2)):
        raws: dict[int, bytes] = {id(jobs): job(number), id(units): unit(number)}
        for replica in (first, second):
            (change,) = replica.list_item(msgspec.Raw(raws[id(replica)]), initial=True)
            assert change.new is not None
            book.saw(change.new)
        seen = jobs.store.values()[-1]
        (found,) = book.jobs.units_of(seen.uid)
        assert found.consumer is not None
        assert (found.name, found.consumer.uid) == (seen.name, seen.uid)
        assert found.name is seen.name is seen.pod_sets[0].name
        assert found.owner_uid is found.consumer.uid is seen.uid


def test_a_waiting_job_and_its_unit_cost_at_most_2700_bytes() -> None:
    """100,000 of them fit below 400 MiB (spec 24.10)."""
    names = [f"team-{number}" for number in range(TEAMS)]
    book = builders.book()
    book.gather()
    jobs: Replica[JobView] = Replica(
        job_decoder(BatchJob(JobOptions()), units_of=book.jobs.units_of)
    )
    units: Replica[QueueUnit] = Replica(unit_decoder(cast(Any, {"Job": Listed(jobs)})))
    for each in names:
        book.saw(builders.queue(each))
    for number in range(PAIRS):
        # Lists come side by side: now the one is ahead, now the other.
        pair: list[tuple[Replica[Any], bytes]] = [(jobs, job(number)), (units, unit(number))]
        for replica, raw in pair if number % 2 else reversed(pair):
            for change in replica.list_item(msgspec.Raw(raw), initial=True):
                assert change.new is not None
                book.saw(change.new)
    picture = builders.quotas(*(builders.quota(each, cpu=0) for each in names))
    for _ in book.settle(picture):
        pass
    assert sum(len(book.places.at_queue(each)) for each in names) == PAIRS
    assert all(book.places.waiting(each) for each in names)
    assert size_of(vars(jobs.store), vars(units.store), book) / PAIRS <= MOST_BYTES
