"""A cluster to talk to, ours or one that exists: by kubectl, or by plain requests."""

import http.client
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from controlplane.errors import ControlPlaneError, Refused
from controlplane.kubeconfig import Access, read

Object = dict[str, Any]

POLL_SECONDS = 0.03

_CONTENT_TYPES = {"PATCH": "application/merge-patch+json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Admin access to a cluster; blocking, so for tests and tools only."""

    kubeconfig: Path
    kubectl_command: str
    access: Access
    audit_log: Path | None = None
    request_seconds: float = 30.0
    """How long one plain request may take."""

    @classmethod
    def of(
        cls, path: Path, *, kubectl_command: str = "kubectl", audit_log: Path | None = None
    ) -> "Cluster":
        """The cluster that a kubeconfig leads to."""
        return cls(
            kubeconfig=path,
            kubectl_command=kubectl_command,
            access=read(path),
            audit_log=audit_log,
        )

    def kubectl(
        self, *arguments: str, input: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Runs kubectl; a failure raises with what it printed, unless check is False."""
        command = [self.kubectl_command, f"--kubeconfig={self.kubeconfig}", *arguments]
        done = subprocess.run(command, input=input, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise ControlPlaneError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done

    def api(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str | None = None,
        accept: str = "application/json",
    ) -> Object:
        """The answer to one request; raises Refused on an error. A PATCH is a merge patch.

        A body that is text already is sent as it is.
        """
        status, text = self._request(method, path, body, content_type, accept)
        answer = json.loads(text) if text.startswith("{") else {"message": text}
        if status >= 400:
            reason = answer.get("reason", "Error")
            raise Refused(status, reason, f"{method} {path}: {answer.get('message', '')}")
        return dict(answer)

    def lines(self, path: str) -> list[Object]:
        """The answer to one request that has an object a line, as that to a watch has."""
        status, text = self._request("GET", path, None, None, "application/json")
        if status >= 400:
            raise Refused(status, "Error", f"GET {path}: {text}")
        return [json.loads(line) for line in text.splitlines()]

    def apply(self, path: str, made: Object) -> Object:
        """Makes the object at a path, or makes it anew as far as it was made here before."""
        query, content_type = "fieldManager=kq&force=true", "application/apply-patch+yaml"
        return self.api("PATCH", f"{path}?{query}", made, content_type=content_type)

    def wait(
        self, path: str, condition: Callable[[Object], object], *, seconds: float = 30.0
    ) -> Object:
        """The object at a path as soon as the condition holds for it; it may not exist yet."""
        deadline = time.monotonic() + seconds
        seen: Object = {}
        while time.monotonic() < deadline:
            try:
                seen = self.api("GET", path)
                if condition(seen):
                    return seen
            except Refused as err:
                if err.status != http.HTTPStatus.NOT_FOUND:
                    raise
            time.sleep(POLL_SECONDS)
        raise ControlPlaneError(f"{path} after {seconds} s: {json.dumps(seen, indent=1)}")

    def wait_gone(self, path: str, *, seconds: float = 30.0) -> None:
        """Returns as soon as there is nothing at a path."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                self.api("GET", path)
            except Refused as err:
                if err.status == http.HTTPStatus.NOT_FOUND:
                    return
                raise
            time.sleep(POLL_SECONDS)
        raise ControlPlaneError(f"{path} is still there after {seconds} s")

    def audit(self) -> Iterator[Mapping[str, Any]]:
        """The audit events so far, in the order of answering."""
        if self.audit_log is None:
            raise ControlPlaneError("this cluster was started without audit=True")
        with self.audit_log.open() as lines:
            for line in lines:
                if line.endswith("\n"):
                    yield json.loads(line)

    def _request(
        self, method: str, path: str, body: object, content_type: str | None, accept: str
    ) -> tuple[int, str]:
        server = urlsplit(self.access.server)
        headers = {"Accept": accept}
        if self.access.token:
            headers["Authorization"] = f"Bearer {self.access.token}"
        if body is not None:
            default = _CONTENT_TYPES.get(method, "application/json")
            headers["Content-Type"] = content_type or default
        connection = http.client.HTTPSConnection(
            server.netloc, context=self.access.tls, timeout=self.request_seconds
        )
        try:
            data = body if body is None or isinstance(body, str) else json.dumps(body)
            connection.request(method, server.path + path, data, headers)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()
