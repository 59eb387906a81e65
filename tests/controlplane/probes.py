"""Questions that are asked again and again until the answer is right."""

import http.client
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

from controlplane.cluster import Cluster
from controlplane.components import HOST
from controlplane.errors import ControlPlaneError

POLL_SECONDS = 0.05
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""What clients ask for to be told all kinds at once."""


def free_ports(count: int) -> tuple[int, ...]:
    """Ports on loopback that nobody listens on, all different."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return tuple(each.getsockname()[1] for each in sockets)


def serves(cluster: Cluster, path: str) -> bool:
    """Whether a kind can be listed: until its storage is up a new one answers 404, then 429."""
    with suppress(ControlPlaneError):
        cluster.api("GET", f"{path}?limit=1")
        return True
    return False


def discovered(cluster: Cluster) -> set[str]:
    """The paths of all kinds that clients find, a little later than they are served."""
    found = cluster.api("GET", "/apis", accept=DISCOVERY)
    return {
        f"/apis/{group['metadata']['name']}/{version['version']}/{resource['resource']}"
        for group in found["items"]
        for version in group["versions"]
        for resource in version.get("resources", [])
    }


def get(port: int, path: str) -> tuple[int, str]:
    """Status and text of what a process on loopback answers; status 0 if it does not."""
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except OSError:
        return 0, ""
    finally:
        connection.close()


def accepts(port: int) -> bool:
    """Whether somebody on loopback takes connections at a port."""
    try:
        with socket.create_connection((HOST, port), timeout=5):
            return True
    except OSError:
        return False


def until(holds: Callable[[], bool], what: str, seconds: float) -> None:
    """Returns as soon as something holds; raises when it does not within that time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise ControlPlaneError(f"waited {seconds:.0f} s in vain until {what}")
        time.sleep(POLL_SECONDS)


def new_namespace(cluster: Cluster, stem: str = "test") -> str:
    """The name of a namespace that nobody else has, and in which pods can be made."""
    name = f"{stem}-{secrets.token_hex(4)}"
    cluster.api("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    cluster.wait(f"/api/v1/namespaces/{name}/serviceaccounts/default", bool)
    return name
