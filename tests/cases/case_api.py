"""The API server in memory with the real one's own rules, which the cases are about.

Quantities of Jobs and pods come back in canonical form, names and labels have to be legal, and a
Job's template cannot change once it runs.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from api import Api, Asked, Happened, Json

from kq.core.kinds import ELASTIC_QUOTA, JOB, POD, ResourceKind
from kq.kube.errors import Invalid

CANONICAL: Mapping[str, str] = {
    "1.5G": "1500M",
    "1000m": "1",
    "1024Mi": "1Gi",
    "0.5": "500m",
    ".5": "500m",
    "2.0": "2",
    "+2": "2",
    "2048Ki": "2Mi",
    "1024Gi": "1Ti",
    "1e3": "1e3",
    "1000e0": "1e3",
    "3000m": "3",
    "0.1Gi": "107374182400m",
}
"""How the real server spells what it is given, for those spellings that the cases use."""
TYPED = {JOB.plural, POD.plural}
"""Kinds whose quantities are rewritten; those of custom resources stay as they were written."""
STEP = 0.001
AMOUNTS = ("requests", "limits", "overhead")

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_KEY = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


class CaseApi(Api):
    """An API server that rewrites, refuses, and can be cut off."""

    rewrites = TYPED

    def expire(self, kind: ResourceKind) -> None:
        """Open watches get the ERROR event of case J1, later ones are told 410."""
        self.version += 1
        said = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "too old resource version: 100 (900)",
            "reason": "Expired",
            "code": 410,
        }
        line = msgspec.json.encode({"type": "ERROR", "object": said})
        told = Happened(self.version, 0.0, "", line)
        self._history.setdefault(kind.plural, []).append(told)
        self._forgotten[kind.plural] = self.version
        if kind.plural in self._changed:
            self._changed[kind.plural].set()

    def writes_to(self, kind: ResourceKind, key: str = "") -> list[Asked]:
        """The writes of that kind, perhaps of one object alone."""
        return [each for each in self.writes if each.kind is kind and key in ("", each.key)]

    async def _news(self, kind: ResourceKind, ends: float) -> None:
        await super()._news(kind, ends)
        if ends - asyncio.get_running_loop().time() < STEP:
            # Virtual time stops a rounding error before the end, and would never come there.
            await asyncio.sleep(STEP)

    def _create(self, asked: Asked, body: Json) -> Json:
        _validate(body["metadata"])
        return super()._create(asked, body)

    def _patch(self, asked: Asked) -> Json:
        if asked.kind is JOB and asked.key in self.all(JOB):
            _validate_job_patch(self.find(JOB, asked.key), asked.body or {})
        return super()._patch(asked)

    def _store(self, kind: ResourceKind, key: str, new: Json) -> Json:
        if kind is not ELASTIC_QUOTA:
            _validate(new["metadata"])
        if kind.plural in self.rewrites:
            new = {**new, "spec": canonical(new.get("spec", {}))}
        return super()._store(kind, key, new)


def canonical(value: Any, is_amounts: bool = False) -> Any:
    """The same with every quantity as the real server spells it."""
    if isinstance(value, Mapping):
        if is_amounts:
            return {name: _spelled(each) for name, each in value.items()}
        return {name: canonical(each, name in AMOUNTS) for name, each in value.items()}
    if isinstance(value, list):
        return [canonical(each) for each in value]
    return value


def _spelled(amount: Any) -> Any:
    return CANONICAL.get(amount, amount) if isinstance(amount, str) else str(amount)


def _validate(meta: Mapping[str, Any]) -> None:
    name = meta["name"]
    if len(name) > 253 or not _NAME.fullmatch(name):
        raise Invalid(f"metadata.name: {name} is no name", code=422)
    for key, value in (meta.get("labels") or {}).items():
        _validate_key(key)
        if value is not None and (len(value) > 63 or not _VALUE.fullmatch(value)):
            raise Invalid(f"metadata.labels: {value} is no label value", code=422)
    for key in meta.get("annotations") or {}:
        _validate_key(key)


def _validate_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    legal = len(name) <= 63 and _KEY.fullmatch(name)
    if not legal or (slash and (len(prefix) > 253 or not _NAME.fullmatch(prefix))):
        raise Invalid(f"{key} is no key", code=422)


def _validate_job_patch(job: Json, patch: Mapping[str, Any]) -> None:
    spec = patch.get("spec", {})
    started = not job["spec"].get("suspend") or job.get("status", {}).get("startTime")
    if ("template" in spec and started) or set(spec) - {"suspend", "template"}:
        raise Invalid("spec: field is immutable", code=422)


def amount(cpu: Any) -> float:
    """Cpus of a canonical quantity."""
    text = str(cpu)
    return int(text[:-1]) / 1000 if text.endswith("m") else float(text)


def cpu_of(pod_spec: Mapping[str, Any]) -> float:
    """What the app containers of a pod ask."""
    containers: Iterable[Mapping[str, Any]] = pod_spec["containers"]
    return sum(amount(each["resources"]["requests"].get("cpu", 0)) for each in containers)
