"""What a cluster does around the manager: Job controller, kubelet and garbage collector, played."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from api import Change, Json
from case_api import CaseApi

from kq.core import codec, keys
from kq.core.kinds import JOB, POD, QUEUE_UNIT


@dataclass(kw_only=True)
class Played:
    """Job controller, kubelet and garbage collector.

    Pods start after `starts` seconds (None: never), run for the `runs` seconds that their job's
    annotation names, and linger when they are to end. Units go `collects` seconds after their job
    (None: never).
    """

    api: CaseApi = field(repr=False)
    reacts: float = 0.05
    starts: float | None = 0.1
    lingers: float = 0.5
    collects: float | None = 0.2

    def __post_init__(self) -> None:
        self.api.listeners.append(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.kind is not JOB:
            return
        if change.new is None or (change.old and uid_of(change.old) != uid_of(change.new)):
            assert change.old is not None
            self._later(self.reacts, self._end_pods, uid_of(change.old))
            if self.collects is not None:
                self._later(self.collects, self._collect, uid_of(change.old))
        if change.new is not None:
            self._later(self.reacts, self._look, change.key, uid_of(change.new))

    def _later(self, seconds: float, act: Any, *args: Any) -> None:
        with suppress(RuntimeError):  # what a test puts before its loop runs is looked at by start
            asyncio.get_running_loop().call_later(seconds, act, *args)

    def look_at_all(self) -> None:
        """A start: whatever is there is seen for the first time."""
        for key, each in self.api.all(JOB).items():
            self._look(key, uid_of(each))

    def _look(self, key: str, uid: str) -> None:
        found = self.api.all(JOB).get(key)
        if found is None or uid_of(found) != uid or is_over(found):
            return
        if found["spec"].get("suspend"):
            self._end_pods(uid)
            return
        pods = self.pods_of(uid)
        for number in range(len(pods), pods_wanted(found)):
            self._make_pod(found, number)
        self._count(key, uid)

    def pods_of(self, uid: str) -> list[str]:
        return [
            key
            for key, each in self.api.all(POD).items()
            if each["metadata"]["ownerReferences"][0]["uid"] == uid
        ]

    def _make_pod(self, found: Json, number: int) -> None:
        body = pod_of(found, number)
        key = f"{body['metadata']['namespace']}/{body['metadata']['name']}"
        if key in self.api.all(POD):
            return
        self.api.put(POD, body)
        if self.starts is not None:
            self._later(self.starts, self._run, key, uid_of(found))

    def _run(self, key: str, uid: str) -> None:
        pod = self.api.all(POD).get(key)
        if pod is None or pod["metadata"]["ownerReferences"][0]["uid"] != uid:
            return
        if pod["metadata"].get("deletionTimestamp"):
            return
        self.api.edit(POD, key, {"status": {"phase": "Running"}})
        runs = pod["metadata"]["annotations"].get("run-for")
        if runs is not None:
            self._later(float(runs), self._succeed, key)

    def _succeed(self, key: str) -> None:
        if key not in self.api.all(POD):
            return
        self.api.edit(POD, key, {"status": {"phase": "Succeeded"}})
        owner = self.api.find(POD, key)["metadata"]["ownerReferences"][0]
        pods = [self.api.find(POD, each) for each in self.pods_of(owner["uid"])]
        if all(each["status"]["phase"] == "Succeeded" for each in pods):
            self.finish(f"{key.partition('/')[0]}/{owner['name']}")

    def finish(self, key: str, type_: str = "Complete") -> None:
        """The job ends, and so do its pods."""
        ended = "Succeeded" if type_ == "Complete" else "Failed"
        for each in self.pods_of(uid_of(self.api.find(JOB, key))):
            self.api.edit(POD, each, {"status": {"phase": ended}})
        done = {"type": type_, "status": "True"}
        status = {"active": 0, "terminating": 0, "conditions": [done]}
        self.api.edit(JOB, key, {"status": status})

    def _end_pods(self, uid: str) -> None:
        for key in self.pods_of(uid):
            pod = self.api.find(POD, key)
            if not pod["metadata"].get("deletionTimestamp"):
                stamp = codec.format_time(self.api.clock())
                self.api.edit(POD, key, {"metadata": {"deletionTimestamp": stamp}})
                self._later(self.lingers, self._drop_pod, key, pod["metadata"]["uid"])
        self._count_of(uid)

    def _drop_pod(self, key: str, pod_uid: str) -> None:
        found = self.api.all(POD).get(key)
        if found is None or found["metadata"]["uid"] != pod_uid:
            return
        self.api.remove(POD, key)
        self._count_of(found["metadata"]["ownerReferences"][0]["uid"])

    def _count_of(self, uid: str) -> None:
        for key, each in self.api.all(JOB).items():
            if uid_of(each) == uid:
                self._count(key, uid)
                return

    def _count(self, key: str, uid: str) -> None:
        found = self.api.find(JOB, key)
        if is_over(found):
            return
        pods = [self.api.find(POD, each) for each in self.pods_of(uid)]
        ending = [each for each in pods if each["metadata"].get("deletionTimestamp")]
        held = bool(found["spec"].get("suspend"))
        started = found.get("status", {}).get("startTime")
        fresh = codec.format_time(self.api.clock())
        status = {
            "active": len(pods) - len(ending),
            "terminating": len(ending),
            "startTime": None if held else started or fresh,
        }
        self.api.edit(JOB, key, {"status": status})

    def _collect(self, uid: str) -> None:
        for key, each in list(self.api.all(QUEUE_UNIT).items()):
            if any(owner["uid"] == uid for owner in each["metadata"].get("ownerReferences", ())):
                self.api.remove(QUEUE_UNIT, key)


def pods_wanted(found: Json) -> int:
    counts = (found["spec"].get("parallelism"), found["spec"].get("completions"))
    given = [each for each in counts if each is not None]
    return min(given) if given else 1


def pod_of(found: Json, number: int) -> Json:
    meta, template = found["metadata"], found["spec"]["template"]
    name = f"pod-{crc32(meta['uid'].encode()):x}-{number}"
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"]}
    return {
        "metadata": {
            "namespace": meta["namespace"],
            "name": name,
            "labels": {keys.QUOTA_LABEL: meta["labels"].get(keys.QUOTA_LABEL, "")},
            "annotations": dict(template.get("metadata", {}).get("annotations", {})),
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": template["spec"],
        "status": {"phase": "Pending"},
    }


def is_over(found: Json) -> bool:
    conditions = found.get("status", {}).get("conditions", ())
    return any(
        each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions
    )


def is_held(found: Json) -> bool:
    return bool(found["spec"].get("suspend"))


def uid_of(found: Json) -> str:
    return str(found["metadata"]["uid"])
