"""Webhook configurations and CRDs: what the real server finds wrong with them."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from kq.core.kinds import Object
from kq.sim.api.status import Cause, invalid_value, required
from kq.sim.builtin.faults import word

_LONGEST_SECONDS = 30


def prepare_crd(crd: dict[str, Any], old: Object | None) -> None:
    """Accepts a definition at once: its names, and that it is established."""
    status = crd.setdefault("status", {})
    names = crd["spec"].get("names") or {}
    stored = [each["name"] for each in crd["spec"].get("versions") or () if each.get("storage")]
    before = (old or {}).get("status") or {}
    status["storedVersions"] = [*dict.fromkeys([*(before.get("storedVersions") or ()), *stored])]
    if old is None:
        status["acceptedNames"] = dict(names)


def crd_faults(crd: Object) -> list[Cause]:
    """What is wrong with a CRD."""
    spec, name = crd.get("spec") or {}, crd["metadata"].get("name", "")
    wanted = f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}"
    found = []
    if name != wanted:
        text = 'must be spec.names.plural+"."+spec.group'
        found.append(invalid_value("metadata.name", name, text))
    found += [required(f"spec.{field}") for field in ("group", "scope") if not spec.get(field)]
    found += word(spec, "scope", ("Cluster", "Namespaced"), "spec")
    found += _versions(spec)
    for field in ("plural", "kind"):
        if not (spec.get("names") or {}).get(field):
            found.append(required(f"spec.names.{field}"))
    return found


def _versions(spec: Object) -> Iterator[Cause]:
    versions = spec.get("versions") or ()
    for index, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    if sum(bool(each.get("storage")) for each in versions) != 1:
        shown = [each.get("name") for each in versions]
        text = "must have exactly one version marked as storage version"
        yield invalid_value("spec.versions", shown, text)


def webhook_faults(configuration: Object) -> list[Cause]:
    """What is wrong with a webhook configuration."""
    found: list[Cause] = []
    for index, hook in enumerate(configuration.get("webhooks") or ()):
        found += _hook(hook, f"webhooks[{index}]")
    return found


def _hook(hook: Object, path: str) -> Iterator[Cause]:
    name = hook.get("name", "")
    if name.count(".") < 2:
        text = "should be a domain with at least three segments separated by dots"
        yield invalid_value(f"{path}.name", name, text)
    yield from word(hook, "failurePolicy", ("Fail", "Ignore"), path)
    yield from word(hook, "matchPolicy", ("Equivalent", "Exact"), path)
    yield from word(hook, "reinvocationPolicy", ("Never", "IfNeeded"), path)
    if not hook.get("sideEffects"):
        yield required(f"{path}.sideEffects", "must specify one of None, NoneOnDryRun")
    else:
        yield from word(hook, "sideEffects", ("None", "NoneOnDryRun"), path)
    seconds = hook.get("timeoutSeconds", 10)
    if not 1 <= seconds <= _LONGEST_SECONDS:
        text = "the timeout value must be between 1 and 30 seconds"
        yield invalid_value(f"{path}.timeoutSeconds", seconds, text)
    yield from _client(hook.get("clientConfig") or {}, f"{path}.clientConfig")
    if not hook.get("admissionReviewVersions"):
        text = "must specify one of v1, v1beta1"
        yield required(f"{path}.admissionReviewVersions", text)


def _client(client: Object, path: str) -> Iterator[Cause]:
    url = client.get("url")
    if bool(url) == bool(client.get("service")):
        yield required(path, "exactly one of url or service is required")
    elif url and urlsplit(url).scheme != "https":
        text = "'https' is the only allowed URL scheme; desired format: https://host[/path]"
        yield invalid_value(f"{path}.url", urlsplit(url).scheme, text)
