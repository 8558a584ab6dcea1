"""git: one command in one folder, free of the caller's GIT_* variables and of the repository's hooks."""

import os
import shutil
import subprocess
from pathlib import Path

from perfdb.errors import RepositoryError

#: A checkout of another user is read as it is: measuring runs its code anyway. No hook or monitor of it is started.
OPTIONS = (
    "-c", "safe.directory=*",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "log.showSignature=false",
)  # fmt: skip


class GitError(Exception):
    """git said no; the message is its last line."""


def is_installed() -> bool:
    """Whether there is a git to ask."""
    return shutil.which("git") is not None


def git_bytes(folder: Path, *arguments: str) -> bytes:
    """What git prints. Raises ``GitError`` when it fails, ``RepositoryError`` when there is no git."""
    command = ["git", *OPTIONS, "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise RepositoryError("git is not installed; install it (Debian: apt install git), then run again") from error
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise GitError(lines[-1] if lines else f"git {arguments[0]} exited with {done.returncode}")
    return done.stdout


def git_text(folder: Path, *arguments: str) -> str:
    """What git prints, as text without the last line end."""
    return git_bytes(folder, *arguments).decode(errors="replace").removesuffix("\n")


def git_says(folder: Path, *arguments: str) -> str | None:
    """What git prints, or None when it says no."""
    try:
        return git_text(folder, *arguments)
    except GitError:
        return None


def top_level(folder: Path) -> Path | None:
    """The root of the working tree that holds ``folder``; None outside of one, and without git."""
    if not is_installed():
        return None
    found = git_says(folder, "rev-parse", "--show-toplevel")
    return Path(found).resolve() if found else None


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
