"""Webhooks as their configurations describe them, and which writes each one is asked about."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kq.core.kinds import Object
from kq.sim.api.admission import Review
from kq.sim.api.kinds import Kind
from kq.sim.read.selectors import Requirement, label_selector

ANY = "*"
UNASKED = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})
"""Kinds about which no webhook is asked, so that a broken one can be removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Operations and resources; a star means all."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: frozenset[str]
    scope: str

    def matches(self, operation: str, kind: Kind, subresource: str) -> bool:
        """Whether the rule is about this operation on this resource."""
        return (
            _among(operation, self.operations)
            and _among(kind.group, self.groups)
            and _among(kind.version, self.versions)
            and self.scope in (ANY, "Namespaced" if kind.namespaced else "Cluster")
            and any(_is_resource(each, kind.plural, subresource) for each in self.resources)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One webhook."""

    id: str
    """Unique among all of them, whatever their names."""
    name: str
    rules: tuple[Rule, ...]
    namespaces: tuple[Requirement, ...]
    objects: tuple[Requirement, ...]
    client: Object
    """Where it is: `clientConfig` as it stands."""
    versions: tuple[str, ...]
    timeout: float
    fails_closed: bool
    exact: bool
    reinvoked: bool
    has_side_effects: bool

    def kind_asked(self, review: Review, versions: Iterable[Kind]) -> Kind | None:
        """The version in which it wants the object; None if the write is not its business."""
        call = review.call
        if call.kind.kind in UNASKED:
            return None
        kinds = [call.kind] if self.exact else [call.kind, *versions]
        for kind in kinds:
            if any(rule.matches(review.operation, kind, call.subresource) for rule in self.rules):
                return kind
        return None

    def selects(self, review: Review, namespace: Mapping[str, str] | None) -> bool:
        """Whether its selectors take the object; `namespace` are labels, None if there is none."""
        if namespace is not None and not _meet(namespace, self.namespaces):
            return False
        if not self.objects:
            return True
        return any(
            _meet(obj["metadata"].get("labels") or {}, self.objects)
            for obj in (review.obj, review.old)
            if obj is not None
        )

    def url(self) -> str:
        """The address that its requests go to, for reaching it and for messages."""
        if url := self.client.get("url"):
            return f"{url}?timeout={self.timeout:.0f}s"
        service = self.client.get("service") or {}
        place = f"{service.get('name')}.{service.get('namespace')}.svc:{service.get('port', 443)}"
        path = str(service.get("path") or "/")
        return f"https://{place}{path}?timeout={self.timeout:.0f}s"


def hooks_of(configurations: Iterable[Object]) -> list[Hook]:
    """The webhooks of configurations of one kind, in the order in which they are asked."""
    ordered = sorted(configurations, key=lambda each: str(each["metadata"]["name"]))
    return [
        _hook(f"{each['metadata']['name']}/{webhook['name']}/{index}", webhook)
        for each in ordered
        for index, webhook in enumerate(each.get("webhooks") or ())
    ]


def _hook(id_: str, webhook: Object) -> Hook:
    return Hook(
        id=id_,
        name=webhook["name"],
        rules=tuple(_rule(each) for each in webhook.get("rules") or ()),
        namespaces=label_selector(webhook.get("namespaceSelector")),
        objects=label_selector(webhook.get("objectSelector")),
        client=webhook["clientConfig"],
        versions=tuple(webhook.get("admissionReviewVersions") or ()),
        timeout=float(webhook.get("timeoutSeconds") or 10),
        fails_closed=webhook.get("failurePolicy", "Fail") == "Fail",
        exact=webhook.get("matchPolicy", "Equivalent") == "Exact",
        reinvoked=webhook.get("reinvocationPolicy", "Never") == "IfNeeded",
        has_side_effects=webhook.get("sideEffects") not in ("None", "NoneOnDryRun"),
    )


def _rule(rule: Mapping[str, Any]) -> Rule:
    return Rule(
        operations=_set(rule.get("operations")),
        groups=_set(rule.get("apiGroups")),
        versions=_set(rule.get("apiVersions")),
        resources=_set(rule.get("resources")),
        scope=rule.get("scope") or ANY,
    )


def _set(values: Sequence[str] | None) -> frozenset[str]:
    return frozenset(values or ())


def _among(value: str, values: frozenset[str]) -> bool:
    return ANY in values or value in values


def _is_resource(rule: str, plural: str, subresource: str) -> bool:
    resource, _, sub = rule.partition("/")
    return resource in (ANY, plural) and sub in (subresource, ANY)


def _meet(labels: Mapping[str, str], requirements: Sequence[Requirement]) -> bool:
    return all(each.matches(labels) for each in requirements)
