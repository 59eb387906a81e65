"""Counting of writes in an audit log, by lines as an API server writes them."""

import json
from collections import Counter
from pathlib import Path

from bench.audit import AuditLog, count, short

MANAGER = "system:serviceaccount:koord-queue:koord-queue"


def line(
    verb: str, resource: str, *, user: str = MANAGER, subresource: str = "", code: int = 200
) -> str:
    ref = {"resource": resource, "namespace": "bench", "name": "job-1", "apiVersion": "v1"}
    entry = {
        "kind": "Event",
        "level": "Metadata",
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": user, "groups": ["system:authenticated"]},
        "objectRef": {**ref, **({"subresource": subresource} if subresource else {})},
        "responseStatus": {"metadata": {}, "code": code},
    }
    return json.dumps(entry) + "\n"


def log_of(folder: Path, *lines: str) -> AuditLog:
    path = folder / "audit.log"
    path.touch()
    log = AuditLog(path)
    with path.open("a") as file:
        file.writelines(lines)
    return log


def test_writes_are_counted_by_verb_and_kind_and_reads_are_not(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        line("create", "queueunits", code=201),
        line("patch", "queueunits", subresource="status"),
        line("patch", "queueunits", subresource="status"),
        line("get", "queueunits"),
        line("watch", "jobs"),
    )
    written = count(log.news())
    assert written.ours == {("create", "queueunits"): 1, ("patch", "queueunits/status"): 2}
    assert written.objects == 3
    assert written.others == Counter()


def test_events_and_leases_are_no_writes_of_objects(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        line("create", "events", code=201),
        line("patch", "events"),
        line("update", "leases"),
        line("patch", "jobs"),
    )
    written = count(log.news())
    assert (written.objects, written.events, written.attempts) == (1, 2, 3)


def test_what_was_refused_is_told_apart(tmp_path: Path) -> None:
    log = log_of(tmp_path, line("patch", "jobs", code=409), line("patch", "jobs"))
    written = count(log.news())
    assert written.ours == {("patch", "jobs"): 1}
    assert written.refused == {("patch", "jobs", 409): 1}
    assert (written.objects, written.attempts) == (1, 2)


def test_others_are_counted_by_user(tmp_path: Path) -> None:
    controller = "system:serviceaccount:kube-system:job-controller"
    log = log_of(
        tmp_path, line("create", "pods", user=controller), line("create", "jobs", user="admin")
    )
    written = count(log.news())
    assert written.others == {
        ("job-controller", "create", "pods"): 1,
        ("admin", "create", "jobs"): 1,
    }
    assert written.objects == 0


def test_a_log_tells_each_line_once_and_only_whole_ones(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_text(line("create", "nodes"))
    log = AuditLog(path)
    whole, half = line("patch", "jobs"), line("delete", "jobs")
    with path.open("a") as file:
        file.write(whole + half[:20])
        file.flush()
        assert [each.verb for each in log.news()] == ["patch"]
        file.write(half[20:])
        file.flush()
        assert [each.verb for each in log.news()] == ["delete"]
        assert log.news() == []


def test_a_request_without_an_object_is_read(tmp_path: Path) -> None:
    entry = {"verb": "create", "user": {"username": "admin"}, "requestURI": "/version"}
    written = count(log_of(tmp_path, json.dumps(entry) + "\n").news())
    assert written.others == {("admin", "create", ""): 1}


def test_a_user_is_named_by_the_last_part() -> None:
    assert short("system:serviceaccount:kube-system:job-controller") == "job-controller"
    assert short("admin") == "admin"
