"""What the webhook knows of the cluster, and what its readiness says."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from builders import namespace, quota
from prometheus_client import CollectorRegistry

from kq.app.options import Address, ClusterOptions, WebhookOptions
from kq.app.process import Counted
from kq.app.reviewing import Known
from kq.app.webhook import Webhook
from kq.core import keys
from kq.core.model import NamespaceView
from kq.kube.client import Client
from kq.kube.connection import Connection
from kq.kube.store import Store
from kq.metrics import Metrics
from kq.settings import JobSettings, Settings

NOWHERE = Address("127.0.0.1", 0)
BY_LABEL = {keys.QUOTA_LABEL: "team-b"}


def known(*namespaces: NamespaceView, settings: Settings | None = None) -> Known:
    store: Store[NamespaceView] = Store()
    for each in namespaces:
        store.put(each.name, each)
    made = Known(settings or Settings(), store)
    made.set_quotas([quota("team-a", namespace="team-a"), quota("team-b")])
    return made


@pytest.mark.parametrize(
    ("labels", "view", "expected"),
    [
        pytest.param(BY_LABEL, namespace("x"), "team-b", id="the job's label"),
        pytest.param({}, namespace("x", labels=BY_LABEL), "team-b", id="the namespace's label"),
        pytest.param({}, namespace("team-a"), "team-a", id="the quota of the namespace"),
        pytest.param({}, namespace("x"), None, id="none"),
    ],
)
def test_the_quota_of_a_job(
    labels: Mapping[str, str], view: NamespaceView, expected: str | None
) -> None:
    assert known(view).quota_of(labels, view.name) == expected


def test_a_namespace_that_no_watch_has_shown_yet_has_no_labels() -> None:
    assert known().namespace("new") is None
    assert known().quota_of(BY_LABEL, "new") == "team-b"
    assert known().quota_of({}, "new") is None
    assert known().quota_of({}, "team-a") == "team-a"


def test_a_changed_quota_counts_at_once() -> None:
    made = known(namespace("x"))
    mapping = '["x"]'
    made.set_quotas([quota(annotations={keys.QUOTA_NAMESPACES: mapping}, namespaces=("x",))])
    assert made.quota_of({}, "x") == "team-a"
    made.set_quotas([])
    assert made.quota_of({}, "x") is None


def test_settings_give_the_quota_of_last_resort_and_the_mode() -> None:
    default = Settings(jobs=JobSettings(defaultQuota="rest"))
    assert known(settings=default).quota_of({}, "x") == "rest"
    assert known(settings=Settings(quotaPlugin="")).quota_of({}, "x") == "default"


def webhook(tls_dir: Path) -> Webhook:
    metrics = Metrics(CollectorRegistry(), version="test")
    return Webhook(
        client=Client(Connection(base_url="http://127.0.0.1:9")),
        settings=Settings(),
        options=WebhookOptions(
            cluster=ClusterOptions(),
            metrics=NOWHERE,
            health=NOWHERE,
            reviews=NOWHERE,
            tls_dir=tls_dir,
            service="localhost",
        ),
        metrics=metrics,
        counted=Counted(metrics.client),
    )


async def test_before_the_first_list_it_is_not_ready(tmp_path: Path) -> None:
    checks = webhook(tmp_path).checks()
    assert checks["synced"]() is False


async def test_without_a_certificate_the_details_say_so(tmp_path: Path) -> None:
    text = webhook(tmp_path).details()
    assert text
    assert "serving certificate" not in text
