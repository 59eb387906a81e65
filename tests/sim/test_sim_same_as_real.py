"""The contract that holds the simulated API server to a real one: the same odd requests to both."""

import secrets
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import odd_requests
import pytest
from controlplane.cluster import Cluster
from odd_applies import CHECKED_CRD, applying, applying_what_was_applied_by_a_client
from odd_deletes import deleting
from odd_names import naming, warning
from odd_pods import acting, ending, limiting, ranking, ratios
from odd_quotas import asking, of_other_kinds, under_quota, under_scopes
from odd_random import walking
from odd_reads import listing, reading, watching
from odd_requests import CRD_PATH, Ask, Told
from odd_writes import creating, patching, updating
from same import Real, Simulated, differing, shown

CRDS = [*odd_requests.CRDS, CHECKED_CRD]
GROUPS = [
    creating,
    updating,
    patching,
    applying,
    applying_what_was_applied_by_a_client,
    deleting,
    naming,
    warning,
    reading,
    listing,
    watching,
    acting,
    ending,
    ranking,
    limiting,
    ratios,
    under_quota,
    under_scopes,
    of_other_kinds,
    asking,
]


@pytest.fixture(scope="module")
def real(control_plane: Cluster) -> Iterator[Real]:
    """The real one, with the custom kinds that the groups use."""
    made = Real(control_plane)
    try:
        for crd in CRDS:
            control_plane.api("POST", CRD_PATH, crd)
        for crd in CRDS:
            await_served(made, crd["spec"]["names"]["plural"])
        yield made
    finally:
        for crd in CRDS:
            control_plane.api("DELETE", f"{CRD_PATH}/{crd['metadata']['name']}")


def await_served(real: Real, plural: str) -> None:
    """Returns once a custom kind can be listed: at first it is 404, then 429 for a moment."""
    path = f"{odd_requests.WIDGETS}/{plural}"
    deadline = time.monotonic() + 20
    while real.ask(Ask(what="is it served", method="GET", path=path)).code != 200:
        assert time.monotonic() < deadline, f"{path} is not served"
        time.sleep(0.05)


@pytest.fixture
def real_namespace(control_plane: Cluster) -> Iterator[str]:
    """A namespace into which the cluster's own controllers have put what they put."""
    name = f"odd-{secrets.token_hex(3)}"
    control_plane.api("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    control_plane.wait(f"/api/v1/namespaces/{name}/configmaps/kube-root-ca.crt", bool)
    control_plane.wait(f"/api/v1/namespaces/{name}/serviceaccounts/default", bool)
    yield name
    control_plane.api("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
async def simulated(real_namespace: str) -> Simulated:
    """The simulated one, with the same custom kinds and namespace, and the same history: none."""
    made = Simulated()
    await made.start(real_namespace, CRDS)
    return made


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
async def test_odd_requests_are_answered_as_a_real_server_does(
    group: Any, real: Real, simulated: Simulated, real_namespace: str
) -> None:
    assert not await differences(partial(group, real_namespace), real, simulated)


@pytest.mark.parametrize("seed", range(6))
async def test_random_requests_are_answered_as_a_real_server_does(
    seed: int, real: Real, simulated: Simulated, real_namespace: str
) -> None:
    group = partial(walking, real_namespace, seed=seed, steps=60)
    assert not await differences(group, real, simulated)


async def differences(
    group: Callable[[], odd_requests.Group], real: Real, simulated: Simulated
) -> str:
    """What differs in the answers to one group of requests."""
    truths = answers(group(), real)
    told = [each async for each in simulated_answers(group(), simulated)]
    return "\n".join(
        f"{number} {ask.what} {ask.target} {ask.body}: {each}"
        for number, ((ask, truth), ours) in enumerate(zip(truths, told, strict=True))
        for each in differing(shown(ask, truth), shown(ask, ours))
    )


def answers(group: odd_requests.Group, real: Real) -> list[tuple[Ask, Told]]:
    told: list[tuple[Ask, Told]] = []
    ask = next(group)
    while True:
        told.append((ask, real.ask(ask)))
        try:
            ask = group.send(told[-1][1])
        except StopIteration:
            return told


async def simulated_answers(group: odd_requests.Group, simulated: Simulated) -> Any:
    ask = next(group)
    while True:
        told = await simulated.ask(ask)
        yield told
        try:
            ask = group.send(told)
        except StopIteration:
            return
