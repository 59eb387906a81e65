"""The real control plane for tests: started when the first test asks, ended with the session."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from controlplane import build, cli, probes
from controlplane.cluster import Cluster
from controlplane.errors import ControlPlaneError
from controlplane.kq import Kq
from controlplane.operators import OPERATORS, marks, program
from controlplane.operators.crew import Crew, check_served
from controlplane.plane import ControlPlane
from hypothesis import settings

from kq.jobs import INTEGRATIONS

Kubectl = Callable[..., CompletedProcess[str]]

OURS = {"audited_control_plane", "binaries", "crew"}
"""Fixtures that need our own binaries, whatever cluster exists."""

settings.register_profile("kq", deadline=None)
settings.register_profile("soak", deadline=None, max_examples=5000, stateful_step_count=80)
settings.load_profile(os.environ.get("KQ_HYPOTHESIS", "kq"))

PLACES = pytest.StashKey[list[Path]]()
"""Folders of the control planes that this session started."""


def pytest_configure(config: pytest.Config) -> None:
    """No loop outside async tests: looptime would make one that nobody closes."""
    asyncio.set_event_loop(None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what runs on a control plane, before `-m cluster` is looked at."""
    for item in items:
        if fixtures_of(item) & {"control_plane", *OURS} or marks.asked_for([item]):
            item.add_marker("cluster")
    # While the operators that they need are still being built, the others can run.
    items.sort(key=lambda item: bool(marks.asked_for([item])))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Builds before the first test: no test's time-out would be long enough."""
    builders = OURS if existing_kubeconfig() else {"control_plane", *OURS}
    operators = [] if existing_kubeconfig() else marks.asked_for(session.items)
    wanted = operators or any(fixtures_of(item) & builders for item in session.items)
    if not wanted or session.config.option.collectonly:
        return
    with talking(session.config):
        try:
            build.ensure_binaries(build.control_plane_module(), os.environ, cli.tell)
        except ControlPlaneError as err:
            raise pytest.UsageError(str(err)) from err
        is_first = os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"
        if is_first and (missing := marks.missing(operators, os.environ)):
            builder = marks.build_beside(missing)
            session.config.add_cleanup(lambda: end(builder))


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Waits for the operators that a test needs to be built, before its time begins to count."""
    if not existing_kubeconfig():
        # A failed build fails the test, when it asks for the operator.
        with suppress(ControlPlaneError), talking(item.config):
            for name in marks.missing(marks.asked_for([item]), os.environ):
                program.ensure_binary(OPERATORS[name], os.environ, cli.tell)
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Tells whoever reads a failure on a control plane where that one's logs are."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed and item.get_closest_marker("cluster"):
        places = [str(each) for each in item.config.stash.get(PLACES, []) if each.exists()]
        report.sections.append(("logs of the control plane", "\n".join(places)))


@contextmanager
def talking(config: pytest.Config) -> Iterator[None]:
    """What is said in here reaches the person."""
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        yield


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process if it still runs."""
    process.terminate()
    process.wait()


def fixtures_of(item: pytest.Item) -> set[str]:
    """The names of all fixtures that a test uses, through others too."""
    return set(getattr(item, "fixturenames", ()))


def existing_kubeconfig() -> Path | None:
    """The cluster that the environment names to be used instead of one of our own."""
    named = os.environ.get("KQ_TEST_KUBECONFIG")
    return Path(named) if named else None


@pytest.fixture(scope="session")
def binaries() -> Path:
    """The folder of the control plane's binaries."""
    return build.ensure_binaries(build.control_plane_module(), os.environ, cli.tell)


@pytest.fixture(scope="session")
def standing_plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane | None]:
    """The control plane of the session; none if the environment names a cluster."""
    if existing_kubeconfig():
        yield None
        return
    with running(request, tmp_path_factory.mktemp("control-plane")) as plane:
        yield plane


@pytest.fixture(scope="session")
def control_plane(standing_plane: ControlPlane | None) -> Cluster:
    """One cluster for the whole session."""
    if standing_plane is None:
        return Cluster.of(Path(os.environ["KQ_TEST_KUBECONFIG"]))
    return standing_plane.cluster


@pytest.fixture(scope="session")
def crew(
    request: pytest.FixtureRequest,
    standing_plane: ControlPlane | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Crew]:
    """The operators beside the session's control plane, or beside one of their own."""
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("crew")
        plane = standing_plane or stack.enter_context(running(request, folder))
        made = Crew(cluster=plane.cluster, folder=plane.folder, environ=os.environ, say=cli.tell)
        yield made
        made.check()


@pytest.fixture(scope="session")
def operators(request: pytest.FixtureRequest, control_plane: Cluster) -> Callable[..., None]:
    """Makes operators work on the session's cluster: operators("training", "jobset")."""
    if existing_kubeconfig():
        return partial(check_served, control_plane)
    made: Crew = request.getfixturevalue("crew")
    return made.ensure


@pytest.fixture(autouse=True)
def operators_of_the_mark(request: pytest.FixtureRequest) -> None:
    """Those that a test is marked with, working before it begins."""
    if names := marks.asked_for([request.node]):
        request.getfixturevalue("operators")(*names)


@pytest.fixture(scope="session")
def kq(control_plane: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kq]:
    """Webhook and manager on the session's cluster, each with its service account's rights."""
    folder = tmp_path_factory.mktemp("kq")
    every_kind = {"jobs": {"enabled": list(INTEGRATIONS)}}
    with Kq(
        cluster=control_plane, folder=folder, as_accounts=True, settings=every_kind
    ) as running_kq:
        yield running_kq
    assert running_kq.errors() == []


@pytest.fixture(scope="module")
def audited_control_plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A cluster of the module's own, always ours, that records every request."""
    folder = tmp_path_factory.mktemp("audited-control-plane")
    with running(request, folder, audit=True) as plane:
        yield plane.cluster


@contextmanager
def running(
    request: pytest.FixtureRequest, folder: Path, *, audit: bool = False
) -> Iterator[ControlPlane]:
    """A control plane in a folder, which stays for its logs only if a test failed."""
    request.config.stash.setdefault(PLACES, []).append(folder)
    place = request.getfixturevalue("binaries")
    with ControlPlane.start(folder, place, audit=audit) as plane:
        yield plane
        plane.check()
    if not request.session.testsfailed:
        shutil.rmtree(folder)


@pytest.fixture
def namespace(control_plane: Cluster) -> Iterator[str]:
    """A fresh namespace in which pods can be made; deleted afterwards, without waiting."""
    name = probes.new_namespace(control_plane)
    yield name
    control_plane.api("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def kubectl(control_plane: Cluster) -> Kubectl:
    """Runs kubectl on the cluster: kubectl("get", "jobs", "-n", namespace)."""
    return control_plane.kubectl
