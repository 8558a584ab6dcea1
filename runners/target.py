"""Target: the folder whose code is measured, and what its ``[tool.perfdb]`` table says about it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from perfdb.errors import RepositoryError
from runners.git import top_level

#: The folder that holds our own packages: a checkout, or the folder they are installed in.
OURS = Path(__file__).resolve().parents[1]
OUR_MODULES = ("suites.smoke",)


@dataclass(frozen=True, slots=True)
class Target:
    """Code under test: ``tree`` resolved, ``path`` import folders below it, ``file`` one benchmark file."""

    tree: Path
    suites: Path
    modules: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    name: str | None = None
    file: Path | None = None

    @property
    def import_folders(self) -> tuple[Path, ...]:
        """Folders to import from, most important first."""
        own = (self.file.parent,) if self.file else ()
        return tuple(dict.fromkeys((*own, self.tree, *(self.tree / folder for folder in self.path))))


def find_target(repo: Path | None, file: Path | None, folder: Path) -> Target:
    """The code that ``perfdb run`` means when typed in ``folder``.

    Raises ``RepositoryError`` when a named folder or file does not exist or names no benchmarks.
    """
    if file is not None:
        return _target_of_file(repo, file)
    if repo is not None:
        return _target_of_folder(_existing(repo), is_named=True)
    root = top_level(folder)
    if root is not None and _table(root):
        return _target_of_folder(root, is_named=False)
    return _target_of_folder(OURS, is_named=False)


def moved(target: Target, tree: Path) -> Target:
    """The same target in another working tree, with that tree's own settings but this one's name."""
    file = tree / target.file.relative_to(target.tree) if target.file else None
    if file is not None and not file.is_file():
        raise RepositoryError(f"{file.relative_to(tree)} does not exist at that commit")
    found = _target_of_file(tree, file) if file else _target_of_folder(tree, is_named=True)
    return replace(found, name=target.name)


def _target_of_file(repo: Path | None, file: Path) -> Target:
    if not file.is_file():
        raise RepositoryError(f"{file} does not exist; name a Python file with a @benchmark function")
    file = file.resolve()
    tree = _existing(repo) if repo else top_level(file.parent) or file.parent
    if not file.is_relative_to(tree):
        raise RepositoryError(f"{file} lies outside of {tree}; name the repository that holds it with --repo")
    return replace(_described(tree), modules=(), file=file)


def _target_of_folder(tree: Path, *, is_named: bool) -> Target:
    target = _described(tree)
    if not target.modules and tree == OURS and not is_named:
        return replace(target, modules=OUR_MODULES, name=target.name or "perfdb")
    if not target.modules:
        raise RepositoryError(
            f"{tree} names no benchmarks; list their modules in its pyproject.toml: [tool.perfdb] modules = [...]"
        )
    return target


def _described(tree: Path) -> Target:
    table = _table(tree)
    suites = tree / "suites" if _is_perfdb(tree) else OURS / "suites"
    return Target(
        tree=tree,
        suites=suites,
        modules=_texts(tree, table, "modules"),
        path=_texts(tree, table, "path"),
        name=str(table["repository"]) if table.get("repository") else None,
    )


def _texts(tree: Path, table: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = table.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise RepositoryError(f"{tree / 'pyproject.toml'}: [tool.perfdb] {name} must be a list of texts; correct it")
    return tuple(value)


def _existing(folder: Path) -> Path:
    if not folder.is_dir():
        raise RepositoryError(f"{folder} is not a folder; name the repository to measure with --repo DIR")
    return folder.resolve()


def _is_perfdb(tree: Path) -> bool:
    is_named = _pyproject(tree).get("project", {}).get("name") == "perfdb"
    return is_named and (tree / "suites" / "__init__.py").is_file()


def _table(tree: Path) -> Mapping[str, Any]:
    table = _pyproject(tree).get("tool", {}).get("perfdb", {})
    return table if isinstance(table, dict) else {}


def _pyproject(tree: Path) -> Mapping[str, Any]:
    file = tree / "pyproject.toml"
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise RepositoryError(f"{file} cannot be read: {error}; correct it and run again") from error
