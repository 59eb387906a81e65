"""Jobs and pods are completed by the server, and keep what may not change."""

from typing import Any

from sim_things import kind_of

from kq.sim.api.schema import completed, rules_for

JOB = rules_for(kind_of("batch/v1", "Job"))
POD = rules_for(kind_of("v1", "Pod"))


def job(**spec: Any) -> dict[str, Any]:
    container = {"name": "m", "image": "b"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    obj = {"metadata": {"name": "j", "uid": "u"}, "spec": {"template": template, **spec}}
    made = completed(JOB, obj)
    JOB.prepare(made, None)
    return made


def changed(old: dict[str, Any], **spec: Any) -> list[str]:
    new = {**old, "spec": {**old["spec"], **spec}}
    return [cause.text for cause in JOB.changes(new, old)]


def test_a_job_is_filled_in_and_given_its_selector() -> None:
    made = job()
    labels = {
        "batch.kubernetes.io/controller-uid": "u",
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": "u",
        "job-name": "j",
    }
    assert made["metadata"]["labels"] == labels
    assert made["spec"]["template"]["metadata"]["labels"] == labels
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert (made["spec"]["parallelism"], made["spec"]["completions"]) == (1, 1)
    assert JOB.faults(made) == []


def test_a_job_with_labels_of_its_own_keeps_them() -> None:
    made = completed(JOB, {"metadata": {"name": "j", "uid": "u", "labels": {"a": "b"}}})
    JOB.prepare(made, None)
    assert made["metadata"]["labels"] == {"a": "b"}


def test_what_runs_keeps_its_template_and_what_waits_may_go_elsewhere() -> None:
    waits, runs = job(suspend=True), job()
    runs["status"] = {"startTime": "2026-01-01T00:00:00Z", "active": 1}
    template = waits["spec"]["template"]
    elsewhere = {**template, "spec": {**template["spec"], "nodeSelector": {"a": "b"}}}
    assert changed(waits, template=elsewhere) == []
    assert changed(runs, template=elsewhere)[0].startswith("spec.template: Invalid value: {")
    container = {**template["spec"]["containers"][0], "image": "other"}
    other = {**template, "spec": {**template["spec"], "containers": [container]}}
    assert changed(waits, template=other)[0].startswith("spec.template.spec: Invalid value: {")
    assert changed(runs, completions=2) == [
        "spec.completions: Invalid value: 2: field is immutable"
    ]
    assert changed(runs, parallelism=2, suspend=True) == []


def test_a_suspended_job_opens_again_once_it_is_at_rest() -> None:
    old = job(suspend=True)
    template = old["spec"]["template"]
    elsewhere = {**template, "spec": {**template["spec"], "nodeSelector": {"a": "b"}}}
    old["status"] = {"startTime": "2026-01-01T00:00:00Z", "active": 1}
    assert changed(old, template=elsewhere) != []
    old["status"] = {"conditions": [{"type": "Suspended", "status": "True"}]}
    assert changed(old, template=elsewhere) == []


def test_an_indexed_job_grows_in_tandem() -> None:
    old = job(completionMode="Indexed", completions=3, parallelism=3)
    assert changed(old, completions=4, parallelism=4) == []
    assert changed(old, completions=4) == [
        "spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism"
    ]


def test_a_finished_job_has_to_say_how_it_ended() -> None:
    made = job()
    made["status"] = {"active": 3, "conditions": [{"type": "Complete", "status": "True"}]}
    assert [cause.text for cause in JOB.faults(made)] == [
        "status.completionTime: Required value: completionTime is required for Complete jobs",
        "status.conditions: Invalid value: cannot set Complete=True condition without the"
        " SuccessCriteriaMet=true condition",
        "status.active: Invalid value: 3: active>0 is invalid for finished job",
        "status.startTime: Required value: startTime is required for finished job",
    ]


def test_a_pod_may_change_its_images_and_little_else() -> None:
    containers = [{"name": "m", "image": "a"}]
    made = completed(POD, {"metadata": {"name": "p"}, "spec": {"containers": containers}})
    POD.prepare(made, None)
    spec = made["spec"]
    assert (made["status"], spec["priority"]) == (
        {"phase": "Pending", "qosClass": "BestEffort"},
        0,
    )
    image = {**made, "spec": {**spec, "containers": [{**spec["containers"][0], "image": "b"}]}}
    assert POD.changes(image, made) == []
    [fault] = POD.changes({**made, "spec": {**spec, "nodeName": "n"}}, made)
    assert fault.text.startswith("spec: Forbidden: pod updates may not change fields other than")
