from datetime import timedelta
from random import Random

import pytest
from cluster_objects import NOW, came, changed, driven, pod, refused, view_of, went, words, written

from kq.sim.api.status import ApiStatus
from kq.sim.cluster.plays import Play, by_annotation, drawn, seconds_of
from kq.sim.cluster.pods import Kubelets
from kq.sim.control.controller import Key
from kq.sim.control.view import View

KEY = Key("n", "p", "pod-p")


def noted(kubelets, made, before=None):
    happened = came(made) if before is None else changed(before, made)
    return list(kubelets.concerns(happened, View(), NOW))


def playing(**annotations):
    return {"annotations": {key.replace("_", "-"): value for key, value in annotations.items()}}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0.0),
        ("2s", 2.0),
        ("500ms", 0.5),
        ("1m30s", 90.0),
        ("1.5h", 5400.0),
        ("5", 0.0),
        ("soon", 0.0),
        ("3s later", 0.0),
    ],
)
def test_durations_are_read_as_go_writes_them(text, seconds):
    assert seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("annotations", "play"),
    [
        pytest.param({}, Play(), id="nothing said"),
        pytest.param({"run_for": "3s"}, Play(run_for=3.0), id="a while"),
        pytest.param({"run_for": "forever"}, Play(run_for=None), id="for ever"),
        pytest.param(
            {"run_for": "3s", "fail_after": "1s"}, Play(run_for=1.0, fails=True), id="fails first"
        ),
        pytest.param(
            {"start_after": "2s", "linger_for": "4s"}, Play(start_after=2.0, linger=4.0), id="slow"
        ),
    ],
)
def test_a_pod_says_how_it_runs(annotations, play):
    assert by_annotation(pod(meta=playing(**annotations))) == play


def test_run_times_that_are_not_said_are_drawn_alike_from_one_seed():
    draws = [[drawn(Random(7), mean=20.0, failing=0.5)(pod()) for _ in range(3)] for _ in range(2)]
    assert draws[0] == draws[1]
    assert draws[0][0].run_for not in (None, 0.0)


def test_what_a_pod_says_is_not_drawn():
    play = drawn(Random(7), mean=20.0)(pod(meta=playing(run_for="3s")))
    assert play == Play(run_for=3.0)


@pytest.mark.parametrize(
    ("made", "after"),
    [
        pytest.param(pod(phase="Pending", meta=playing(start_after="2s")), [2.0], id="starts"),
        pytest.param(pod(meta=playing(run_for="3s")), [3.0], id="ends"),
        pytest.param(pod(meta=playing(run_for="forever")), [], id="runs on"),
        pytest.param(pod(deleted=True, meta=playing(linger_for="4s")), [4.0], id="goes"),
        pytest.param(pod(phase="Pending", node=""), [], id="has no node"),
        pytest.param(pod(phase="Succeeded"), [], id="is over"),
    ],
)
def test_a_pod_is_looked_at_when_its_next_stage_is_due(made, after):
    assert [due.after for due in noted(Kubelets(), made)] == after


def test_a_stage_begins_once():
    kubelets = Kubelets()
    made = pod(meta=playing(run_for="3s"))
    noted(kubelets, made)
    assert noted(kubelets, {**made, "metadata": {**made["metadata"], "labels": {}}}, made) == []


def test_a_pod_starts_with_an_address_and_keeps_what_was_said_of_it():
    kubelets = Kubelets()
    made = pod(
        phase="Pending",
        status={"conditions": [{"type": "PodScheduled", "status": "True"}]},
        spec={"initContainers": [{"name": "first", "image": "i"}]},
    )
    noted(kubelets, made)
    [patch] = written(kubelets.sync(KEY, view_of(made), NOW))
    status = patch.body["status"]
    assert (patch.subresource, status["phase"]) == ("status", "Running")
    assert [each["type"] for each in status["conditions"]] == [
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]
    assert status["podIP"] == "10.0.0.1"
    assert "running" in status["containerStatuses"][0]["state"]
    assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


@pytest.mark.parametrize(
    ("annotation", "phase", "code"), [("run_for", "Succeeded", 0), ("fail_after", "Failed", 1)]
)
def test_a_pod_ends_as_it_says(annotation, phase, code):
    kubelets = Kubelets()
    made = pod(meta=playing(**{annotation: "3s"}))
    noted(kubelets, made)
    [patch] = written(kubelets.sync(KEY, view_of(made), NOW + timedelta(seconds=3)))
    status = patch.body["status"]
    assert status["phase"] == phase
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == code
    assert {each["status"] for each in status["conditions"]} == {"False"}


def test_a_deleted_pod_goes_without_further_grace():
    kubelets = Kubelets()
    made = pod(deleted=True)
    noted(kubelets, made)
    [delete] = written(kubelets.sync(KEY, view_of(made), NOW))
    assert (delete.grace, delete.uid) == (0, "pod-p")


def test_a_pod_looked_at_too_early_waits():
    kubelets = Kubelets()
    made = pod(meta=playing(run_for="3s"))
    noted(kubelets, made)
    writes, again = driven(kubelets.sync(KEY, view_of(made), NOW + timedelta(seconds=1)))
    assert (writes, again) == ([], timedelta(seconds=2))


def test_a_pod_that_is_gone_is_forgotten():
    kubelets = Kubelets()
    made = pod()
    noted(kubelets, made)
    list(kubelets.concerns(went(made), View(), NOW))
    assert words(written(kubelets.sync(KEY, view_of(), NOW))) == []
    assert words(written(kubelets.sync(KEY, view_of(made), NOW))) == []


def test_a_refused_write_is_tried_again_but_not_for_a_pod_that_is_gone():
    kubelets = Kubelets()
    made = pod()
    noted(kubelets, made)
    with pytest.raises(ApiStatus):
        driven(kubelets.sync(KEY, view_of(made), NOW), lambda _: refused("InternalError", 500))
    assert driven(kubelets.sync(KEY, view_of(made), NOW), lambda _: refused("NotFound", 404))[0]
