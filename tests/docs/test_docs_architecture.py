"""ARCHITECTURE.md says what the tables say."""

import re
from pathlib import Path

from kq.decide.lifecycle import diagram

ROOT = Path(__file__).parents[2]


def test_the_diagram_of_phases_is_printed_from_the_table():
    assert diagram() in (ROOT / "ARCHITECTURE.md").read_text()


def test_every_package_is_in_the_tree():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    packages = [path.parent.name for path in (ROOT / "kq").glob("*/__init__.py")]
    tree = text.split("## The tree")[1].split("```")[1]
    assert [name for name in packages if not re.search(rf"\b{name}\b", tree)] == []
