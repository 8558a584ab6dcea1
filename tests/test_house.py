"""The house rules that no linter knows: sizes, names, and files that must not exist."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("perfdb", "suites", "runners", "dashboard")
MAX_LINES = 400
FORBIDDEN_MODULES = re.compile(r"^(utils?|helpers?|misc|common|core|base|tools?|managers?)$")
#: ``get_command`` is click's own name for what a group must offer.
FORBIDDEN_VERBS = re.compile(r"^_?(get|do|handle|process)_(?!command$)")


def tracked(*patterns: str) -> list[Path]:
    """Files of the project that git does not ignore, whether committed yet or not."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [ROOT / name for name in listed if (ROOT / name).is_file()]


def python_files() -> list[Path]:
    return tracked("*.py")


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def test_the_house_has_files_to_look_at() -> None:
    assert len(python_files()) > 30


def test_no_file_is_longer_than_its_noun() -> None:
    long = [path for path in python_files() if len(path.read_text().splitlines()) > MAX_LINES]
    assert not names(long)


def test_no_module_is_named_after_nothing() -> None:
    vague = [path for path in python_files() if FORBIDDEN_MODULES.match(path.stem)]
    assert not names(vague)


def test_alembic_and_tests_are_no_packages() -> None:
    packages = [path for path in tracked("*__init__.py") if path.relative_to(ROOT).parts[0] in ("alembic", "tests")]
    assert not names(packages)


def test_no_dashboard_file_hides_a_standard_module() -> None:
    import sys

    hiding = [path for path in tracked("dashboard/*.py") if path.parent.name == "dashboard"]
    assert not [path.name for path in hiding if path.stem in sys.stdlib_module_names]
    assert not tracked("dashboard/pages/*")


def test_functions_are_named_with_verbs_that_say_something() -> None:
    vague = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in python_files()
        if path.relative_to(ROOT).parts[0] in PACKAGES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and FORBIDDEN_VERBS.match(node.name)
    ]
    assert not vague


def test_only_isolation_catches_everything() -> None:
    broad = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files()
        if path.relative_to(ROOT).parts[0] in PACKAGES and path.name not in ("isolate.py", "guarded.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler) and catches_everything(node)
    ]
    assert not broad


def catches_everything(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or (
        isinstance(handler.type, ast.Name) and handler.type.id in ("Exception", "BaseException")
    )


def test_every_module_says_what_is_in_it() -> None:
    silent = [
        path
        for path in python_files()
        if path.read_text().strip() and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert not [name for name in names(silent) if not name.startswith("tests/")]


@pytest.mark.parametrize("word", ["TO" + "DO", "FIX" + "ME", "XX" + "X"])
def test_nothing_is_left_for_later(word: str) -> None:
    assert not names([path for path in python_files() if re.search(rf"\b{word}\b", path.read_text())])
