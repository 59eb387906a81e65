"""The manifests of the repository, with pods that run only for a moment."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "manifests/examples"
QUOTA = FOLDER / "elastic-quota.yaml"
RUN_FOR = "5s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One manifest as the demo submits it, and the line that says what was changed in it."""

    path: Path
    remark: str


def shortened(name: str, folder: Path) -> Example:
    """A copy of an example whose pods run only for a moment."""
    text = (FOLDER / name).read_text()
    short, changes = re.subn(r"(?m)^(\s+run-for:) \S+$", rf"\1 {RUN_FOR}", text)
    copy = folder / name
    copy.write_text(short)
    remark = f"{name} is manifests/examples/{name}, but its {changes} pods run {RUN_FOR}, not 30s"
    return Example(path=copy, remark=remark)
