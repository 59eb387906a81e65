"""What of the settings reaches the reconcilers."""

from datetime import timedelta

from kq.app.controllers import patience_of
from kq.decide.situation import Patience
from kq.jobs import INTEGRATIONS
from kq.settings import Settings, parse


def test_every_kind_has_its_patience() -> None:
    """Spec 9.6, 9.12: back-offs of a minute to an hour, and no time-out."""
    found = patience_of(Settings())
    assert len(found) == len(INTEGRATIONS)
    assert set(found.values()) == {Patience()}


def test_times_are_set_by_kind_and_bounds_for_all() -> None:
    body = {
        "jobs": {"tfjob": {"runningTimeout": "10m", "backoffTimeout": 5}},
        "scheduling": {"backoff": {"maxSeconds": 90, "limit": 3}},
    }
    found = patience_of(parse(body))
    bounds = {"longest": timedelta(seconds=90), "limit": 3}
    assert found["TFJob"] == Patience(
        start=timedelta(minutes=10), base=timedelta(seconds=5), **bounds
    )
    assert found["Job"] == Patience(**bounds)
