"""Which jobs are held that may say so in a field and in an annotation (spec 8.3, 8.12)."""

from typing import Any

import pytest

from kq.core import keys
from kq.jobs import INTEGRATIONS
from kq.jobs.options import JobOptions

API = {
    "tfjob": ("TFJob", "kubeflow.org/v1"),
    "pytorchjob": ("PyTorchJob", "kubeflow.org/v1"),
    "xgboostjob": ("XGBoostJob", "kubeflow.org/v1"),
    "paddlejob": ("PaddleJob", "kubeflow.org/v1"),
    "mpijob": ("MPIJob", "kubeflow.org/v2beta1"),
    "sparkapp": ("SparkApplication", "sparkoperator.k8s.io/v1beta2"),
}
BY_ROLE = [key for key in API if key != "sparkapp"]
HELD, HALF, FREE = (True, False), (True, True), (False, False)


def view(key: str, field: Any, mark: str | None, **status: Any) -> tuple[bool, bool]:
    """Whether it is held, and whether only by half."""
    kind, version = API[key]
    spec: Any = {} if field is ... else {"suspend": field}
    job = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {
            "name": "a",
            "namespace": "team-a",
            "uid": "u",
            "resourceVersion": "1",
            "creationTimestamp": "2026-03-01T12:00:00Z",
            "annotations": {} if mark is None else {keys.SUSPEND: mark},
        },
        "spec": spec if key == "sparkapp" else {"runPolicy": spec},
        "status": status,
    }
    seen = INTEGRATIONS[key](JobOptions()).view(job)
    return seen.suspended, seen.half_held


@pytest.mark.parametrize("key", API)
@pytest.mark.parametrize(
    ("field", "mark", "expected"),
    [
        pytest.param(True, "true", HELD, id="both"),
        pytest.param(True, None, HELD, id="the field alone"),
        pytest.param(True, "false", HELD, id="the field against the annotation"),
        pytest.param(False, "true", FREE, id="let go, an old annotation"),
        pytest.param(False, "false", FREE, id="let go"),
        pytest.param(..., "true", HALF, id="the annotation alone"),
        pytest.param(None, "true", HALF, id="the annotation beside null"),
        pytest.param(..., "True", FREE, id="an annotation of another spelling"),
        pytest.param(..., None, FREE, id="neither"),
    ],
)
def test_a_field_goes_before_the_annotation_and_the_annotation_alone_is_half_a_hold(
    key: str, field: Any, mark: str | None, expected: tuple[bool, bool]
) -> None:
    assert view(key, field, mark) == expected


@pytest.mark.parametrize("key", BY_ROLE)
@pytest.mark.parametrize("status", ["True", "False"])
def test_where_the_operator_has_heeded_the_field_one_without_it_is_let_go(
    key: str, status: str
) -> None:
    """Case I4: its API server keeps the field, so that somebody took it out."""
    suspended = {"type": "Suspended", "status": status, "reason": "x", "message": "x"}
    for field in (..., None):
        assert view(key, field, "true", conditions=[suspended]) == FREE
    assert view(key, True, "true", conditions=[suspended]) == HELD
