"""Choices of an administrator have the defaults of the specification, and never change."""

from dataclasses import FrozenInstanceError

import pytest

from kq.core.options import QuotaOptions, Selection


def test_the_defaults():
    """Spec 5.2, 5.3, 11.2, 11.3, 15.4a."""
    quota, selection = QuotaOptions(), Selection()
    assert quota.oversell == 1
    assert not quota.parents_take_jobs
    assert quota.enforce_namespaces
    assert quota.default_quota == ""
    assert selection.excluded == frozenset()
    assert not selection.labelled_only


@pytest.mark.parametrize(
    ("options", "name"), [(QuotaOptions(), "default_quota"), (Selection(), "labelled_only")]
)
def test_nobody_changes_them_later(options, name):
    with pytest.raises(FrozenInstanceError):
        setattr(options, name, "other")
