"""Links: the paths that a worker sees, none with a space in it.

torch.compile writes its own paths unquoted into linker flags, so neither the code under test nor the environment may
be named by a path with a space; and a foreign ``suites/``, ``runners/`` or ``perfdb/`` must not win over ours. The
folders are named by what they link to, so that compile caches of one run serve the next.
"""

import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from perfdb.errors import MeasureError, SpoolError
from runners.abandoned import abandoned
from runners.target import OURS, Target

_BLANK = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class WorkerPaths:
    """What a worker is started with: its Python, our packages, the code under test, caches and a place for folders."""

    python: Path
    packages: Path
    tree: Path
    path: tuple[Path, ...]
    caches: Path
    scratch: Path
    temporary: Path
    file: Path | None = None


def link_target(target: Target, home: Path) -> WorkerPaths:
    """Link everything a worker needs below ``home``, or below the temporary folder when ``home`` holds a space."""
    place = _place_without_blanks(home)
    _forget_broken(place / "links")
    for folder in abandoned(place / "scratch"):
        shutil.rmtree(folder, ignore_errors=True)
    packages = {"perfdb": OURS / "perfdb", "runners": OURS / "runners", "suites": target.suites}
    tree = _linked(place / "links", {"tree": target.tree}) / "tree"
    return WorkerPaths(
        python=_python(place / "links"),
        packages=_linked(place / "links", packages),
        tree=tree,
        path=tuple(_below(folder, target.tree, tree) for folder in target.import_folders),
        caches=_folder(place / "cache"),
        scratch=_folder(place / "scratch"),
        temporary=place / "scratch" if _BLANK.search(tempfile.gettempdir()) else Path(tempfile.gettempdir()),
        file=_below(target.file, target.tree, tree) if target.file else None,
    )


def _python(links: Path) -> Path:
    """The Python of the environment under test; sys.prefix follows the path it is started by."""
    if not _BLANK.search(sys.prefix + sys.executable):
        return Path(sys.executable)
    prefix = Path(sys.prefix)
    executable = Path(sys.executable)
    if not executable.is_relative_to(prefix):
        raise MeasureError(
            f"{executable} lies in a path with a space and outside of {prefix}; use a virtual environment"
        )
    return _linked(links, {"python": prefix}) / "python" / executable.relative_to(prefix)


def _linked(links: Path, targets: Mapping[str, Path]) -> Path:
    """A folder that holds exactly these links, made once and named by them."""
    wanted = {name: str(path.resolve()) for name, path in sorted(targets.items())}
    folder = _folder(links / hashlib.sha256(repr(wanted).encode()).hexdigest()[:12])
    for name, path in wanted.items():
        with suppress(FileExistsError):
            (folder / name).symlink_to(path, target_is_directory=True)
    return folder


def _forget_broken(links: Path) -> None:
    """Remove links to what is gone, such as the worktree of an old commit."""
    for link in links.glob("*/*"):
        if link.is_symlink() and not link.exists():
            link.unlink(missing_ok=True)
            with suppress(OSError):
                link.parent.rmdir()


def _below(path: Path, root: Path, link: Path) -> Path:
    return link / path.relative_to(root) if path.is_relative_to(root) else path


def _place_without_blanks(home: Path) -> Path:
    if not _BLANK.search(str(home)):
        return home
    for temporary in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        if not _BLANK.search(temporary) and os.access(temporary, os.W_OK):
            return _private(Path(temporary) / f"perfdb-{os.geteuid()}")
    raise MeasureError(
        f"{home} holds a space and no temporary folder is writable; set PERFDB_HOME to a path without one"
    )


def _private(folder: Path) -> Path:
    _folder(folder)
    facts = folder.lstat()
    if facts.st_uid != os.geteuid() or facts.st_mode & 0o022 or folder.is_symlink():
        raise MeasureError(f"{folder} belongs to someone else; remove it or set PERFDB_HOME to a path without a space")
    return folder


def _folder(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SpoolError(
            f"cannot write {folder}: {error.strerror}; free space or fix its rights, then run again"
        ) from error
    return folder
