"""The kinds that an API server serves: what each is called, and the rules for its objects."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from kq.core.kinds import Object


class Naming(StrEnum):
    """Which names the objects of a kind may have."""

    SUBDOMAIN = "subdomain"
    LABEL = "label"
    SERVICE = "service"
    PATH_SEGMENT = "path segment"


class Generation(StrEnum):
    """What raises `metadata.generation`."""

    NONE = "none"
    CONTENT = "content"
    """Any change outside of metadata, and of status where that is a subresource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One additional printer column of a CRD."""

    name: str
    type: str
    json_path: str
    description: str = ""
    format: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One version of a kind: its address, its names, and the server's rules for it."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    status: bool = False
    """Whether status is a subresource: main writes leave it alone, and status writes all else."""
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    list_kind: str = ""
    generation: Generation = Generation.NONE
    unconditional_update: bool = True
    """Whether a replacement may leave the resourceVersion out."""
    create_on_update: bool = False
    """Whether a PUT of what is not there makes it."""
    returns_deleted: bool = False
    """Whether a DELETE that took effect at once answers with the object, not with a Status."""
    orphans: bool = False
    """Whether its dependents are let go if a DELETE does not say what happens to them."""
    naming: Naming = Naming.SUBDOMAIN
    custom: bool = False
    """Whether a CRD defines it."""
    openapi: Object | None = None
    """The CRD's structural schema."""
    counts: tuple[str, ...] = ()
    """Where the counts are that its scale subresource is about."""
    columns: tuple[Column, ...] = ()
    selectable: tuple[str, ...] = ()
    """The fields beside name and namespace that field selectors may name."""
    subresources: tuple[str, ...] = ()
    """Subresources beside status, such as `binding`."""
    is_question: bool = False
    """Whether its objects are questions: answered as they are created, and not kept."""

    @property
    def api_version(self) -> str:
        """`group/version` as objects carry it; only the version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def key(self) -> str:
        """The name under which all versions of the kind are kept: `jobs.batch`, `pods`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def kind_key(self) -> str:
        """The kind with its group as messages have it: `Job.batch`, `Pod`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


class Registry:
    """The kinds served at present: built in, and those that CRDs add."""

    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self._kinds: dict[tuple[str, str, str], Kind] = {}
        self._versions: dict[str, list[Kind]] = {}
        self.add(kinds)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds.values())

    def add(self, kinds: Iterable[Kind]) -> None:
        """Serves these from now on, in place of what had their addresses."""
        for kind in kinds:
            self._kinds[kind.group, kind.version, kind.plural] = kind
        self._note_versions()

    def remove(self, key: str) -> None:
        """Serves no version of that kind any more."""
        self._kinds = {at: kind for at, kind in self._kinds.items() if kind.key != key}
        self._note_versions()

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind at that address."""
        return self._kinds.get((group, version, plural))

    def of(self, api_version: str, kind: str) -> Kind | None:
        """The kind that objects with that apiVersion and kind have."""
        return next(
            (each for each in self if each.kind == kind and each.api_version == api_version), None
        )

    def versions(self, key: str) -> Sequence[Kind]:
        """All versions of one kind, as they were added."""
        return self._versions.get(key, ())

    def _note_versions(self) -> None:
        self._versions = {}
        for kind in self:
            self._versions.setdefault(kind.key, []).append(kind)


def kinds_of_crd(crd: Object) -> list[Kind]:
    """The kinds that a CustomResourceDefinition adds: one a served version."""
    spec = crd["spec"]
    names = spec["names"]
    shared = Kind(
        group=spec["group"],
        version="",
        kind=names["kind"],
        plural=names["plural"],
        namespaced=spec.get("scope") == "Namespaced",
        singular=names.get("singular") or names["kind"].lower(),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        list_kind=names.get("listKind") or f"{names['kind']}List",
        generation=Generation.CONTENT,
        unconditional_update=False,
        custom=True,
    )
    return [_version_of(shared, each) for each in spec["versions"] if each.get("served")]


def _version_of(shared: Kind, version: Object) -> Kind:
    subresources = version.get("subresources") or {}
    fields = version.get("selectableFields") or ()
    return replace(
        shared,
        version=version["name"],
        status="status" in subresources,
        openapi=(version.get("schema") or {}).get("openAPIV3Schema"),
        counts=_counts(subresources.get("scale") or {}),
        columns=tuple(_column(each) for each in version.get("additionalPrinterColumns") or ()),
        selectable=tuple(each["jsonPath"].removeprefix(".") for each in fields),
    )


def _counts(scale: Object) -> tuple[str, ...]:
    fields = ("specReplicasPath", "statusReplicasPath")
    return tuple(scale[field] for field in fields if field in scale)


def _column(column: Object) -> Column:
    return Column(
        name=column["name"],
        type=column["type"],
        json_path=column["jsonPath"],
        description=column.get("description", ""),
        format=column.get("format", ""),
        priority=column.get("priority", 0),
    )
