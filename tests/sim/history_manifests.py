"""The objects that persons write in histories, and the cluster on which they do."""

from dataclasses import replace
from typing import Any

import objects
from history_kinds import case_of
from history_quotas import MINIMA, PARENTS
from history_steps import Govern, History, Submit
from kind_cases import KindCase, Played
from simulated_ground import manifests

from kq.core import keys
from kq.settings import Settings
from kq.sim.operators import extensions
from kq.sim.world import Terms


def terms_of(history: History) -> Terms:
    """A cluster with the operators of the kinds of jobs that are submitted."""
    cases = [case_of(each.kind) for each in history.steps if isinstance(each, Submit)]
    operators = sorted({name for case in cases for name in case.operators})
    settings = Settings()
    enabled = extensions(operators)
    settings = replace(settings, jobs=replace(settings.jobs, enabled=enabled))
    return Terms(objects=manifests(), settings=settings, operators=operators)


def quota_manifest(name: str, cpu: int, rule: Govern | None) -> dict[str, Any]:
    """A quota of so much, whose Queue works like that."""
    labels = {keys.PARENT_LABEL: PARENTS.get(name, "")}
    if name in PARENTS.values():
        labels[keys.IS_PARENT_LABEL] = "true"
    words = words_of(rule) if rule is not None else {"labels": {}, "annotations": {}}
    manifest = objects.elastic_quota(
        name,
        "",
        {"cpu": cpu},
        minimum={"cpu": MINIMA[name]} if name in MINIMA else {},
        labels={**labels, **words["labels"]},
        annotations=words["annotations"],
    )
    del manifest["metadata"]["namespace"]
    return manifest


def job(step: Submit, *, alone: bool) -> dict[str, Any]:
    """A Job; without a webhook nobody but its owner can hold it."""
    manifest = objects.job(
        step.name,
        "",
        {"cpu": step.cpu},
        labels={keys.QUOTA_LABEL: step.quota},
        annotations={keys.PRIORITY: str(step.priority)},
        played={"run-for": f"{step.seconds}s", "linger-for": f"{step.linger}s"},
        spec={
            "parallelism": step.pods,
            "completions": step.pods,
            **({"suspend": True} if step.suspended or alone else {}),
        },
    )
    del manifest["metadata"]["namespace"]
    return manifest


def other_manifest(step: Submit, case: KindCase) -> dict[str, Any]:
    """A job of an operator's kind as a person writes it."""
    body = case.manifest(step.name, played(step))
    meta = body["metadata"]
    marks = {**meta.get("annotations", {}), keys.PRIORITY: str(step.priority)}
    labels = {keys.QUOTA_LABEL: step.quota}
    return {**body, "metadata": {**meta, "annotations": marks, "labels": labels}}


def played(step: Submit) -> Played:
    """How its pods are played."""
    return Played(run_for=f"{step.seconds}s", linger_for=f"{step.linger}s")


def words_of(rule: Govern) -> dict[str, Any]:
    """The labels and annotations of an ElasticQuota that say so."""
    flags = {
        keys.WAIT_FOR_PODS: rule.waits_for_pods,
        keys.SKIP_IMPOSSIBLE: rule.skips_impossible,
        keys.ENABLE_PREEMPTION: rule.preempts,
    }
    said = {spellings[0]: str(flag).lower() for spellings, flag in flags.items()}
    said[keys.THRESHOLD[0]] = str(rule.threshold)
    said[keys.MAX_DEPTH[0]] = str(rule.max_depth)
    said[keys.RECLAIM[0]] = rule.reclaims
    return {"labels": {keys.POLICY_LABELS[0]: rule.policy}, "annotations": said}
