"""Dependencies that are built with a text in them changed, where nothing else would do."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from controlplane.errors import BuildError


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One text in one file of a Go module, and what is built in its place."""

    module: str
    file: str
    old: str
    new: str


def flags(
    go_mod: str, go_sum: str, edits: Sequence[Edit], sources: Mapping[str, Path], folder: Path
) -> Sequence[str]:
    """The flags by which edited copies, made in a folder, stand in for those in Go's cache."""
    folder.mkdir()
    for name, source in sources.items():
        copy = folder / name.replace("/", "-")
        _copy(source, copy)
        go_mod += f"\nreplace {name} => {copy}\n"
        for edit in edits:
            if edit.module == name:
                _edit(copy / edit.file, edit)
    (folder / "go.mod").write_text(go_mod)
    (folder / "go.sum").write_text(go_sum)
    return ("-modfile", str(folder / "go.mod"))


def _copy(source: Path, copy: Path) -> None:
    shutil.copytree(source, copy, copy_function=shutil.copyfile)
    # Go keeps its folders read-only; these are to be removed again.
    for folder in (copy, *(each for each in copy.rglob("*") if each.is_dir())):
        folder.chmod(0o755)


def _edit(file: Path, edit: Edit) -> None:
    text = file.read_text()
    if text.count(edit.old) != 1:
        raise BuildError(f"{file} does not hold {edit.old!r} once; another version?")
    file.write_text(text.replace(edit.old, edit.new))
