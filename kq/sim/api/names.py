"""What names, label keys and label values must look like, in the server's words."""

import re
from collections.abc import Mapping
from functools import lru_cache

from kq.sim.api.kinds import Naming

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED})?"
_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_QUALIFIED_RE = re.compile(_QUALIFIED)
_VALUE_RE = re.compile(_VALUE)

_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or"
    " '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used"
    f" for validation is '{_SUBDOMAIN}')"
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and"
    " must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used"
    f" for validation is '{_LABEL}')"
)
_CHARACTERS_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
    f" validation is '{_QUALIFIED}')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or"
    f" '12345', regex used for validation is '{_VALUE}')"
)


def name_faults(name: str, naming: Naming, *, prefix: bool = False) -> list[str]:
    """What is wrong with a name, or with the prefix of one that is generated."""
    if prefix and naming is not Naming.PATH_SEGMENT:
        # What follows is alphanumeric, so that a prefix may end with a dash.
        name = f"{name[:-1]}a" if name.endswith("-") else name
    match naming:
        case Naming.SUBDOMAIN:
            return subdomain_faults(name)
        case Naming.LABEL | Naming.SERVICE:
            return _label_faults(name)
        case Naming.PATH_SEGMENT:
            return path_segment_faults(name, prefix=prefix)


def subdomain_faults(name: str) -> list[str]:
    """What is wrong with a lowercase DNS subdomain."""
    faults = [] if len(name) <= 253 else ["must be no more than 253 characters"]
    return faults if _SUBDOMAIN_RE.fullmatch(name) else [*faults, _SUBDOMAIN_TEXT]


def path_segment_faults(name: str, *, prefix: bool = False) -> list[str]:
    """What is wrong with a name that only has to fit into a path."""
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in name]


@lru_cache(4096)
def qualified_faults(key: str) -> tuple[str, ...]:
    """What is wrong with the key of a label, or the name of a finalizer."""
    return tuple(_qualified_faults(key))


def _qualified_faults(key: str) -> list[str]:
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_CHARACTERS_TEXT} with an optional DNS subdomain prefix and '/'"
            " (e.g. 'example.com/MyName')"
        ]
    faults = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        faults += [f"prefix part {fault}" for fault in subdomain_faults(prefix)]
    if not name:
        faults.append("name part must be non-empty")
    elif len(name) > 63:
        faults.append("name part must be no more than 63 bytes")
    return faults if _QUALIFIED_RE.fullmatch(name) else [*faults, f"name part {_CHARACTERS_TEXT}"]


def value_faults(value: str) -> list[str]:
    """What is wrong with the value of a label."""
    faults = [] if len(value) <= 63 else ["must be no more than 63 bytes"]
    return faults if _VALUE_RE.fullmatch(value) else [*faults, _VALUE_TEXT]


def labels_faults(labels: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each key or value of labels that is wrong, and what is wrong with it."""
    faults = []
    for key, value in labels.items():
        faults += [(key, fault) for fault in qualified_faults(key)]
        faults += [(value, fault) for fault in value_faults(value)]
    return faults


def _label_faults(name: str) -> list[str]:
    faults = [] if len(name) <= 63 else ["must be no more than 63 characters"]
    if _LABEL_RE.fullmatch(name):
        return faults
    if "." in name:
        return [*faults, "must not contain dots"]
    return [*faults, _LABEL_TEXT]
