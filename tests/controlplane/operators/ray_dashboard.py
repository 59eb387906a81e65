"""Stands in for the dashboards of all Ray clusters, as the proxy on KubeRay's way to them.

python -m controlplane.operators.ray_dashboard <port> <kubeconfig>

A job is what its pod is: with a submitter, it runs while the submitter's pod does and ends as that
one ends. Without one (HTTPMode) it runs from its submission for as long as the annotation run-for
of its RayJob says, 0 s when absent, and fails after fail-after if there is that.
"""

import json
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from controlplane.cluster import Cluster, Object
from controlplane.components import HOST

SUBMITTED = {"Running": "RUNNING", "Succeeded": "SUCCEEDED", "Failed": "FAILED"}
"""What a job is by the phase of its submitter's pod; before that it is not known."""
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def main(arguments: list[str]) -> None:
    """Serves until it is ended."""
    port, kubeconfig = arguments
    jobs = Jobs(cluster=Cluster.of(Path(kubeconfig)))

    class Handler(Answers):
        """Answers about these jobs."""

        known = jobs

    ThreadingHTTPServer((HOST, int(port)), Handler).serve_forever()


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """The jobs of all Ray clusters, each known by its cluster's host and its id."""

    cluster: Cluster
    submitted: dict[tuple[str, str], float] = field(default_factory=dict)
    """When a job came in by the dashboard itself."""
    stopped: set[tuple[str, str]] = field(default_factory=set)

    def status(self, host: str, job: str) -> str | None:
        """What has become of a job; None if no one has submitted it."""
        key = (host, job)
        ray_job = self._ray_job(host.split(".")[1], job)
        if key in self.stopped:
            return "STOPPED"
        if ray_job is None:
            return None
        if ray_job["spec"].get("submissionMode", "K8sJobMode") == "K8sJobMode":
            return SUBMITTED.get(self._submitter_phase(ray_job))
        if key not in self.submitted:
            return None
        return after(time.monotonic() - self.submitted[key], ray_job["metadata"])

    def submit(self, host: str, job: str) -> None:
        """Takes a job in."""
        self.submitted[host, job] = time.monotonic()

    def stop(self, host: str, job: str) -> None:
        """Ends a job before its time; on another cluster the same id may run again."""
        self.stopped.add((host, job))

    def _ray_job(self, namespace: str, job: str) -> Object | None:
        listed = self.cluster.api("GET", f"/apis/ray.io/v1/namespaces/{namespace}/rayjobs")
        for each in listed["items"]:
            if each.get("status", {}).get("jobId") == job:
                return dict(each)
        return None

    def _submitter_phase(self, ray_job: Object) -> str:
        name, namespace = ray_job["metadata"]["name"], ray_job["metadata"]["namespace"]
        path = f"/api/v1/namespaces/{namespace}/pods?labelSelector=job-name%3D{name}"
        phases = [
            each["status"]["phase"]
            for each in self.cluster.api("GET", path)["items"]
            if "deletionTimestamp" not in each["metadata"]
        ]
        return str(phases[0]) if phases else "Pending"


def after(seconds: float, metadata: Mapping[str, Any]) -> str:
    """What a job is so many seconds after its submission, by the annotations of its RayJob."""
    annotations = metadata.get("annotations", {})
    if "fail-after" in annotations:
        return "FAILED" if seconds >= duration(annotations["fail-after"]) else "RUNNING"
    run_for = annotations.get("run-for", "0s")
    if run_for == "forever" or seconds < duration(run_for):
        return "RUNNING"
    return "SUCCEEDED"


def duration(text: str) -> float:
    """The seconds of a duration such as 2s or 1m30s."""
    parts = re.findall(r"([\d.]+)(ms|[smh])", text)
    return sum(float(count) * UNITS[unit] for count, unit in parts)


class Answers(BaseHTTPRequestHandler):
    """Asked for http://<Ray cluster>-head-svc.<namespace>.svc.<domain>:8265/api/jobs/<id>."""

    protocol_version = "HTTP/1.1"
    known: Jobs

    def do_GET(self) -> None:
        """What has become of a job, or its log."""
        if self._job.endswith("/logs"):
            return self._answer({"logs": ""})
        status = self.known.status(self._host, self._job)
        if status is None:
            return self._answer({"error": f"no job {self._job}"}, HTTPStatus.NOT_FOUND)
        return self._answer({**_names(self._job), "status": status, "message": status.lower()})

    def do_POST(self) -> None:
        """Submits a job, or stops one."""
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        if self._job.endswith("/stop"):
            self.known.stop(self._host, self._job.removesuffix("/stop"))
            return self._answer({"stopped": True})
        self.known.submit(self._host, body["submission_id"])
        return self._answer(_names(body["submission_id"]))

    def do_DELETE(self) -> None:
        """Forgets a job."""
        self._answer({})

    @property
    def _host(self) -> str:
        return urlsplit(self.path).hostname or ""

    @property
    def _job(self) -> str:
        return urlsplit(self.path).path.removeprefix("/api/jobs/")

    def _answer(self, answer: Object, status: HTTPStatus = HTTPStatus.OK) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _names(job: str) -> Object:
    return {"submission_id": job, "job_id": job}


if __name__ == "__main__":
    main(sys.argv[1:])
