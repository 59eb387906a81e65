"""Annotations of a job that its unit takes over (spec 2.7)."""

import msgspec
from builders import job_view, situation

from kq.app.watching import job_decoder
from kq.core import keys, views
from kq.decide import unitspec
from kq.jobs.batch import BatchJob
from kq.jobs.options import JobOptions

ANNOTATIONS = {
    "koord-queue/queue-name": "fast",
    "provreq.kueue.x-k8s.io/size": "big",
    "example.com/team": "red",
    "example.org/secret": "no",
    keys.LAST_APPLIED: "{}",
}
RAW = msgspec.json.encode({"metadata": {"name": "train", "annotations": ANNOTATIONS}})
OWN = {key: ANNOTATIONS[key] for key in ("koord-queue/queue-name", "provreq.kueue.x-k8s.io/size")}


def test_only_our_own_domains_and_those_of_checks_are_taken_over():
    assert job_decoder(BatchJob(JobOptions()))(RAW).annotations == OWN


def test_domains_that_an_administrator_names_are_taken_over_too():
    view = job_decoder(BatchJob(JobOptions()), ["example.com"])(RAW)
    assert view.annotations == OWN | {"example.com/team": "red"}


def test_a_unit_that_has_them_is_not_written_again():
    job = job_view("train", annotations={"example.com/team": "red"})
    body = unitspec.creation(situation(job))
    assert body["metadata"]["annotations"]["example.com/team"] == "red"
    body["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    made = views.unit(msgspec.json.encode(body))
    assert unitspec.difference(situation(job, made), made) == {}
