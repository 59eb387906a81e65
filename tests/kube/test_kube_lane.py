"""Which requests are tried again, and how long that waits."""

import pytest

from kq.kube.errors import ApiError, Indeterminate, Unreachable, from_status
from kq.kube.lane import TRIES, wait_after

REFUSED = Unreachable("connect: connection refused")


def told(code: int, seconds: int | None = None) -> ApiError:
    headers = {} if seconds is None else {"Retry-After": str(seconds)}
    return from_status(code, b"", headers)


@pytest.mark.parametrize(
    ("error", "attempt", "wait"),
    [
        pytest.param(REFUSED, 1, 0.2, id="nothing was sent"),
        pytest.param(REFUSED, 2, 0.4, id="longer the second time"),
        pytest.param(told(429, 3), 1, 3, id="as long as it is told"),
        pytest.param(told(503, 3), 1, 3, id="unavailable, but says how long"),
    ],
)
def test_what_surely_did_nothing_is_tried_again_after_a_while(
    error: ApiError, attempt: int, wait: float
) -> None:
    assert wait_after(error, attempt) == pytest.approx(wait)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(Indeterminate("the connection broke"), id="may have been done"),
        pytest.param(told(409), id="a conflict"),
        pytest.param(told(500, 3), id="an error inside"),
        pytest.param(told(503), id="unavailable, nobody knows how long"),
        pytest.param(told(429), id="too many, nobody knows how long"),
        pytest.param(told(429, 60), id="too long to wait here"),
        pytest.param(told(503, 60), id="unavailable for too long"),
    ],
)
def test_all_else_is_the_callers_to_plan_for(error: ApiError) -> None:
    assert wait_after(error, 1) is None


def test_the_last_try_is_followed_by_none() -> None:
    assert wait_after(REFUSED, TRIES) is None
