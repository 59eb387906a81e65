"""What an API server is asked, and what it answers, without a word about transport."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from kq.sim.api.kinds import Kind


class Verb(StrEnum):
    """What can be asked of the server about a kind, in the words of its access rules."""

    GET = "get"
    LIST = "list"
    WATCH = "watch"
    CREATE = "create"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"
    DELETE_COLLECTION = "deletecollection"


JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who asks; admission reviews carry it."""

    name: str = "kubernetes-admin"
    groups: tuple[str, ...] = ("system:masters", "system:authenticated")
    uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request below the server's root, its query decoded."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = ""
    accept: str = ""
    user: User = User()
    user_agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One verb on a kind's objects, or on one of them."""

    verb: Verb
    kind: Kind
    namespace: str = ""
    """Empty for cluster-scoped kinds, and for a list or watch of all namespaces."""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    user: User = User()
    user_agent: str = ""

    @property
    def manager(self) -> str:
        """The name under which this call's writes stand in managedFields."""
        return self.query.get("fieldManager") or self.user_agent.partition("/")[0] or "unknown"

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing may be kept."""
        return self.query.get("dryRun") == "All"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer: a body, or the lines of a watch as they come; close those with `aclosing`."""

    code: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """The texts of its `Warning` headers."""
    stream: AsyncGenerator[bytes, None] | None = None


def answer_of(value: object, *, code: int = 200, warnings: tuple[str, ...] = ()) -> Answer:
    """An answer with a value's JSON."""
    headers = {"Content-Type": JSON}
    return Answer(code=code, body=msgspec.json.encode(value), headers=headers, warnings=warnings)
