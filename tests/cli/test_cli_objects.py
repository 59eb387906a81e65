"""Files of objects as people have them: exports, manifests, empty ones, broken ones."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kq.cli.objects import STDIN, read_files
from kq.errors import ConfigError


def config_map(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more}


NEW, OLD = config_map("new", data={"a": "b"}), config_map("old")
SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
LIST = {"apiVersion": "v1", "kind": "List", "items": [NEW, OLD], "metadata": {}}
TIME = "2026-03-02T09:00:00Z"
TIMES = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, creationTimestamp: {TIME}}}"


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("o.yaml", yaml.safe_dump(LIST), id="a list in yaml"),
        pytest.param("o.yaml", yaml.safe_dump_all([NEW, OLD]), id="documents"),
        pytest.param(
            "o.yaml",
            f"---\n---\n# nothing\n{yaml.safe_dump(NEW)}---\n---\n{yaml.safe_dump(OLD)}---\n",
            id="empty documents between them",
        ),
        pytest.param("o.json", json.dumps(LIST), id="a list in json"),
        pytest.param("o.json", f"\ufeff{json.dumps(LIST)}", id="with a byte order mark"),
        pytest.param("o.json", json.dumps({**LIST, "items": [LIST]}), id="a list in a list"),
        pytest.param("export", json.dumps(LIST), id="json in a file of any name"),
        pytest.param("o.yaml", json.dumps(LIST, indent=1), id="json in a file of yaml"),
        pytest.param("o.jsonl", f"{json.dumps(NEW)}\n\n{json.dumps(OLD)}", id="lines"),
        pytest.param("o.ndjson", json.dumps(LIST), id="a line with a list"),
    ],
)
def test_objects_are_found_however_they_are_written(tmp_path: Path, name: str, text: str) -> None:
    assert list(read_files([written(tmp_path, name, text)])) == [NEW, OLD]


def test_what_others_need_comes_first_wherever_it_stands(tmp_path: Path) -> None:
    crd = {**NEW, "kind": "CustomResourceDefinition"}
    lines = written(tmp_path, "a.jsonl", json.dumps(OLD))
    first = written(tmp_path, "b.yaml", yaml.safe_dump_all([NEW, SPACE]))
    last = written(tmp_path, "c.json", json.dumps(crd))
    assert list(read_files([lines, first, last])) == [crd, SPACE, NEW, OLD]


def test_an_export_may_come_from_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.TextIOWrapper(io.BytesIO(json.dumps(LIST).encode()))
    monkeypatch.setattr(sys, "stdin", pipe)
    assert list(read_files([STDIN])) == [NEW, OLD]


def test_a_time_without_quotes_is_a_text_as_for_kubectl(tmp_path: Path) -> None:
    [obj] = read_files([written(tmp_path, "o.yaml", TIMES)])
    assert obj["metadata"]["creationTimestamp"] == TIME


def test_an_export_of_nothing_is_nothing(tmp_path: Path) -> None:
    nothing = written(tmp_path, "o.json", json.dumps({**LIST, "items": []}))
    assert list(read_files([nothing])) == []


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        pytest.param("o.yaml", "", "it is empty", id="an empty file"),
        pytest.param("o.json", "", "it is empty", id="an empty file of json"),
        pytest.param("o.yaml", "---\n# nothing\n---\n", "it is empty", id="empty documents"),
        pytest.param("o.yaml", "a: [", "o.yaml is no YAML: .* line [12], column", id="bad yaml"),
        pytest.param("o.yaml", "a: \x01", "o.yaml is no YAML", id="a control character"),
        pytest.param("o.yaml", "a: 2026-13-99", "object 1 is no object", id="no date"),
        pytest.param("o.json", '{"a": ', "o.json is no JSON: .*truncated", id="bad json"),
        pytest.param("o.json", "[" * 100_000, "o.json is no JSON", id="too deep"),
        pytest.param("o.yaml", "[" * 100_000, "o.yaml is no YAML", id="too deep in yaml"),
        pytest.param("o.jsonl", f"{json.dumps(NEW)}\n{{", "line 2 is no JSON", id="a bad line"),
        pytest.param("o.jsonl", '{"kind": "Job"}\n', "line 1 is no object", id="a line too short"),
        pytest.param("o.yaml", "just text", "object 1 is no object", id="text"),
        pytest.param("o.yaml", "[]", "object 1 is no object", id="a list of nothing"),
        pytest.param(
            "o.json",
            json.dumps({**LIST, "items": [NEW, {"kind": "Job"}]}),
            "object 1, item 2 is no object",
            id="in a list",
        ),
        pytest.param(
            "o.json",
            json.dumps({**NEW, "metadata": {}}),
            "object 1 is a ConfigMap without a name: metadata.name is missing",
            id="no name",
        ),
        pytest.param(
            "o.json", json.dumps(config_map("")), "ConfigMap without a name", id="an empty name"
        ),
    ],
)
def test_what_is_no_object_is_named_with_its_place(
    tmp_path: Path, name: str, text: str, why: str
) -> None:
    with pytest.raises(ConfigError, match=why):
        list(read_files([written(tmp_path, name, text)]))


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "o.yaml"
    path.write_bytes(b"a: \xff")
    with pytest.raises(ConfigError, match=r"o.yaml is no text in UTF-8: byte 4"):
        read_files([path])


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for name in ("gone.yaml", "gone.jsonl"):
        with pytest.raises(ConfigError, match=f"{name} cannot be read: No such file"):
            list(read_files([tmp_path / name]))
