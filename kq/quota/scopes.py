"""Which pods a ResourceQuota is about (spec 11.15)."""

from collections.abc import Iterable

from kq.core.demand import Sort
from kq.core.quotaviews import Scope


def matches(scopes: Iterable[Scope], sort: Sort) -> bool:
    """Whether a quota with these scopes counts such pods: all of them must match."""
    return all(_matches(each, sort) for each in scopes)


def _matches(scope: Scope, sort: Sort) -> bool:
    """One that is not known matches: rather wait than overrun."""
    match scope.name:
        case "Terminating":
            return sort.terminating
        case "NotTerminating":
            return not sort.terminating
        case "BestEffort":
            return sort.best_effort
        case "NotBestEffort":
            return not sort.best_effort
        case "CrossNamespacePodAffinity":
            return sort.crosses_namespaces
        case "PriorityClass":
            return _is_of_class(scope, sort.priority_class)
        case _:
            return True


def _is_of_class(scope: Scope, name: str) -> bool:
    """As a label selector has it: pods of no class are not in any list."""
    match scope.operator:
        case "In":
            return name in scope.values
        case "NotIn":
            return name not in scope.values
        case "DoesNotExist":
            return not name
        case "Exists":
            return bool(name)
        case _:
            return True
