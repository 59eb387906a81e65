"""The sizes and words of the style guide, checked by a machine."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KQ = sorted(path for path in (ROOT / "kq").rglob("*.py") if "__pycache__" not in path.parts)
MODULE_LINES = 250
LARGE = {
    "kq/core/messages.py": 280,
    "kq/decide/jobs.py": 295,
    "kq/core/unitread.py": 255,
    "kq/core/model.py": 360,
    "kq/decide/book.py": 410,
    "kq/kube/client.py": 325,
    "kq/kube/informer.py": 350,
    "kq/metrics.py": 300,
    "kq/reconcile/execute.py": 300,
    "kq/reconcile/wiring.py": 355,
    "kq/webhook/mutate.py": 280,
}
"""Modules that are one thing although they are long."""
PACKAGE_MODULES = 13
FULL_PACKAGES = {"core": 26, "decide": 50, "jobs": 24, "reconcile": 23}
"""The vocabulary, the law, one family of kinds a module, and one reconciler a module."""
PUBLIC_METHODS = 10
MANY_METHODS = {"Book", "Client", "JobIndex", "Takings", "WaitingList"}
PROTOCOL_METHODS = 6
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")
HOSTS = ("pypi.org", "pythonhosted", "proxy.golang", "npmjs", "crates.io", "debian.org")
PRIVATE = "PRIVATE " + "KEY-----"
VAGUE = {"utils.py", "helpers.py", "common.py", "base.py", "misc.py"}


def name_of(path):
    return str(path.relative_to(ROOT))


def tracked():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.fail(f"git cannot list the tree: {listed.stderr}")
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


@pytest.mark.parametrize("path", KQ, ids=name_of)
def test_a_module_can_be_read_at_one_sitting(path):
    lines = len(path.read_text().splitlines())
    assert lines <= LARGE.get(name_of(path), MODULE_LINES)


@pytest.mark.parametrize("path", KQ, ids=name_of)
def test_a_module_says_what_it_is_and_has_a_name_that_does_too(path):
    assert ast.get_docstring(ast.parse(path.read_text()))
    assert path.name not in VAGUE


@pytest.mark.parametrize(
    "package", sorted({path.parent for path in KQ} - {ROOT / "kq"}), ids=name_of
)
def test_a_package_has_few_modules_and_no_packages_inside(package):
    modules = [path for path in package.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= FULL_PACKAGES.get(package.name, PACKAGE_MODULES)
    # A whole cluster is the one thing that has parts of several modules each.
    assert package.parent in (ROOT / "kq", ROOT / "kq" / "sim")


@pytest.mark.parametrize("path", KQ, ids=name_of)
def test_a_class_has_few_public_methods(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ClassDef) or node.name in MANY_METHODS:
            continue
        public = {
            each.name
            for each in node.body
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            and not each.name.startswith("_")
            and "property" not in decorators(each)
        }
        is_protocol = any(
            isinstance(each, ast.Name) and each.id == "Protocol" for each in node.bases
        )
        assert len(public) <= (PROTOCOL_METHODS if is_protocol else PUBLIC_METHODS), node.name


@pytest.mark.parametrize("path", KQ, ids=name_of)
def test_every_public_name_has_a_docstring(path):
    module = ast.parse(path.read_text())
    classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
    for node in [*module.body, *(each for one in classes for each in one.body)]:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if not node.name.startswith("_") and "overload" not in decorators(node):
            assert ast.get_docstring(node), f"{node.name} has no docstring"


def decorators(node):
    return {each.id for each in node.decorator_list if isinstance(each, ast.Name)}


def test_nothing_is_left_unfinished():
    code = [
        *KQ,
        *(each for name in ("tests", "demo", "bench") for each in (ROOT / name).rglob("*.py")),
    ]
    found = [
        f"{name_of(path)}:{number}"
        for path in code
        if path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if UNFINISHED.search(line)
    ]
    assert found == []


def test_no_key_no_registry_and_no_binary_is_in_the_tree():
    for path in tracked():
        content = path.read_bytes()
        assert b"\0" not in content, f"{name_of(path)} is binary"
        if path != Path(__file__):
            text = content.decode()
            assert PRIVATE not in text, f"{name_of(path)} holds a private key"
            assert not [host for host in HOSTS if host in text], name_of(path)
