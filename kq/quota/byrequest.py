"""Charges of the quotas that count requests alone, whatever pods are beside that."""

from collections.abc import Mapping, Sequence

from kq.core.model import PodSet, Template
from kq.core.plugins import Problem
from kq.core.resources import Resources


class ByRequest:
    """A pod counts for what it requests, and nobody demands that it says more."""

    def of_pod(self, quota: str, template: Template) -> Resources:
        """Its request."""
        return template.request

    def of_pods(self, quota: str, asked: Resources) -> Resources:
        """As it is."""
        return asked

    def of_job(self, labels: Mapping[str, str], counts: Resources) -> Resources:
        """As it is."""
        return counts

    def refuses(self, quota: str, pod_sets: Sequence[PodSet]) -> Problem | None:
        """None are."""
        return None
