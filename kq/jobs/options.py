"""The settings that change how job kinds are read and written."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """What an administrator chose for all kinds (spec 8.2a, 8.4, 8.16)."""

    removes_suspend_annotation: bool = False
    """A release removes `scheduling.x-k8s.io/suspend` instead of setting it to "false"."""
    counts_maximum: bool = False
    """Jobs that scale themselves count their upper bound, where the user gave one."""
    estimates_workflows: bool = True
    """A Workflow without min-resources counts its largest single pod, else nothing."""
