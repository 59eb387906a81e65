"""Whatever a job looks like, only the keys of the queue change, and only once."""

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from reviews import QUOTA_LABEL, a_job, answer, stored

from kq.core import keys

OURS = [
    QUOTA_LABEL,
    "alibabacloud.com/quota-name",
    "koord-queue/job-has-enqueued",
    "koord-queue/job-enqueue-timestamp",
    "koord-queue/injected",
    "koord-queue/job-dequeue-timestamp",
    "koord-queue/bypass",
    "koord-queue/bypassed-by",
]
KEYS = st.sampled_from(OURS) | st.sampled_from(["a/b", "a~b", "~1", "x/~0/", ""])
MAPS = st.none() | st.dictionaries(KEYS, st.sampled_from(["", "true", "team-a", "b"]), max_size=6)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text("aü\u2028/~", max_size=3)
)
JSON = st.recursive(SCALARS, lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=6)


@st.composite
def jobs(draw: st.DrawFn) -> dict[str, Any]:
    job = a_job()
    for part in draw(st.sets(st.sampled_from(["labels", "annotations"]))):
        job["metadata"][part] = draw(MAPS)
    for place in (job, job["metadata"], job["spec"], job["spec"]["template"]):
        place["unknown/~field"] = draw(JSON)
    if draw(st.booleans()):
        job["spec"]["suspend"] = draw(st.sampled_from([True, False, None]))
    template = st.none() | st.fixed_dictionaries({"labels": MAPS})
    if draw(st.booleans()):
        job["spec"]["template"]["metadata"] = draw(template)
    return job


@given(job=jobs())
def test_a_held_job_is_held_and_its_own_output_is_final(job: dict[str, Any]) -> None:
    before = copy.deepcopy(job)
    after = stored(job, answer(job))
    assert job == before
    assert after["spec"]["suspend"] is True
    quota = after["metadata"]["labels"][QUOTA_LABEL]
    assert quota
    assert after["spec"]["template"]["metadata"]["labels"][QUOTA_LABEL] == quota
    assert not keys.MANAGER_ONLY & after["metadata"]["annotations"].keys()
    assert answer(after).operations == []


@given(job=jobs())
def test_nothing_but_the_keys_of_the_queue_changes(job: dict[str, Any]) -> None:
    after = stored(job, answer(job))
    assert json.dumps(foreign(after), sort_keys=True) == json.dumps(foreign(job), sort_keys=True)


def foreign(job: dict[str, Any]) -> dict[str, Any]:
    """The job without what the webhook may change; an empty map is as good as none."""
    job = copy.deepcopy(job)
    job["spec"].pop("suspend", None)
    template = job["spec"]["template"]
    template["metadata"] = without(template.get("metadata") or {}, "labels", {QUOTA_LABEL})
    may_change = keys.MANAGER_ONLY | keys.WRITTEN_AT_CREATE | {keys.BYPASSED_BY}
    job["metadata"] = without(job["metadata"], "labels", {QUOTA_LABEL})
    job["metadata"] = without(job["metadata"], "annotations", may_change)
    return job


def without(metadata: dict[str, Any], part: str, keys: Any) -> dict[str, Any]:
    kept = {key: each for key, each in (metadata.get(part) or {}).items() if key not in keys}
    return {**metadata, part: kept}
