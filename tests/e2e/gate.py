"""A gate in the API server: a webhook of the test's own that refuses the first requests."""

import json
import ssl
import threading
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from controlplane.pki import Authority, write
from ground import Object

from kq.core.kinds import ResourceKind

KIND = ResourceKind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    False,
)


class Gate:
    """Answers with an error of its choice to kq's first writes of an object.

    `errors` are the Status answers by the name of the object, `times` says how often each is
    given; persons always pass.
    """

    def __init__(
        self, folder: Path, errors: Mapping[str, Object], times: Mapping[str, int]
    ) -> None:
        self._errors = errors
        self._times = times
        self._authority = Authority("gate")
        self._lock = threading.Lock()
        self.refused: Counter[str] = Counter()
        write(self._authority.server(), folder, "gate")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "gate.crt", folder / "gate.key")
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def configuration(
        self, name: str, namespace: str, rules: Sequence[tuple[str, ResourceKind]]
    ) -> Object:
        """What has the API server ask here about operations on kinds of one namespace."""
        here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        asked = [
            {
                "operations": [operation],
                "apiGroups": [kind.group],
                "apiVersions": [kind.version],
                "resources": [kind.plural],
            }
            for operation, kind in rules
        ]
        port = self._server.server_address[1]
        client = {
            "url": f"https://127.0.0.1:{port}/",
            "caBundle": b64encode(self._authority.certificate).decode(),
        }
        hook = {
            "name": "gate.example.com",
            "rules": asked,
            "clientConfig": client,
            "namespaceSelector": here,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
        }
        return {"metadata": {"name": name}, "webhooks": [hook]}

    def answer(self, request: Object) -> Object:
        """Refuses the first writes of each object that is to be refused."""
        name, user = request["name"], request["userInfo"]["username"]
        error = self._errors.get(name)
        with self._lock:
            if (
                error is None
                or not user.startswith("system:serviceaccount:koord-queue:")
                or self.refused[name] >= self._times[name]
            ):
                return {"uid": request["uid"], "allowed": True}
            self.refused[name] += 1
        return {"uid": request["uid"], "allowed": False, "status": error}


def _handler(gate: Gate) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            review: dict[str, Any] = json.loads(self.rfile.read(length))
            answer = {**review, "response": gate.answer(review.pop("request"))}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    return Handler
