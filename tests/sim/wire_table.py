"""The table of protobuf fields of the built-in types, made from the sources of their Go types.

    PYTHONPATH=tests:. python -m sim.wire_table

writes it anew; a test tells when it has to be.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from controlplane import build

from kq.sim.schemas.definitions import published

TABLE = Path(__file__).parents[2] / "kq" / "sim" / "schemas" / "wire.json"
SOURCES = {
    "k8s.io/api": ("*/v1/types.go", "*/v1/types_*.go"),
    "k8s.io/apimachinery": ("pkg/apis/meta/v1/types.go",),
}
STRUCT = re.compile(r"^type (\w+) struct \{$")
FIELD = re.compile(
    r"^\t(?:(?P<name>\w+)\s+)?(?P<type>[\w.*\[\]]+)\s+`json:\"(?P<json>\w*)(?P<options>[^\"]*)\""
    r"[^`]*protobuf:\"[a-z0-9]+,(?P<number>\d+),"
)
Table = dict[str, dict[str, str]]


def fields_of_sources(folders: Mapping[str, Path]) -> Table:
    """Each struct by number: the name, `*` if it is a pointer, `?` if a zero is left out."""
    table: Table = {}
    for module, patterns in SOURCES.items():
        for pattern in patterns:
            for path in sorted(folders[module].glob(pattern)):
                package = "v1" if path.parts[-3] == "core" else f"{path.parts[-3]}.v1"
                table.update(structs(package, path.read_text().splitlines()))
    return table


def structs(package: str, lines: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    name, fields = "", {}
    for line in lines:
        if found := STRUCT.match(line):
            name, fields = f"{package}.{found[1]}", {}
        elif line == "}" and name:
            yield name, fields
            name = ""
        elif name and (field := FIELD.match(line)):
            fields[field["number"]] = shown(package, field)


def shown(package: str, field: re.Match[str]) -> str:
    if "inline" in field["options"]:
        return "+" + qualified(package, field["type"])
    mark = "*" if field["type"].startswith("*") else "?" if "omit" in field["options"] else ""
    return field["json"] + mark


def qualified(package: str, go_type: str) -> str:
    prefix, _, name = go_type.rpartition(".")
    return f"{ {'v1': 'v1', 'metav1': 'meta.v1', '': package}[prefix] }.{name}"


def needed(table: Table) -> Table:
    """Those of the types that are published, and what these have inline."""
    wanted = [name for name in published() if name in table]
    chosen: Table = {}
    while wanted:
        name = wanted.pop()
        if name not in chosen:
            chosen[name] = table[name]
            wanted += [each[1:] for each in table[name].values() if each.startswith("+")]
    return dict(sorted(chosen.items()))


def made() -> Table:
    module = build.control_plane_module()
    folders = {
        name: build.source_folder(module, name, os.environ, lambda line: None) for name in SOURCES
    }
    return needed(fields_of_sources(folders))


def text_of(table: Table) -> str:
    lines = [
        f"{json.dumps(name)}:{json.dumps(each, separators=(',', ':'))}"
        for name, each in table.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    TABLE.write_text(text_of(made()))
