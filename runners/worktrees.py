"""Worktrees: one commit's files in a folder of their own, for as long as it is measured."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfdb.errors import RepositoryError
from runners.abandoned import abandoned
from runners.git import GitError, git_says, git_text, top_level


def commits_between(tree: Path, span: str, every: int) -> tuple[str, ...]:
    """SHAs of ``A..B`` along first parents, oldest first; of ``every`` n-th one, counted back from B.

    Raises ``RepositoryError`` for a revision that does not exist or an empty span.
    """
    first, dots, last = span.partition("..")
    if not (first and dots) or last.startswith("."):
        raise RepositoryError(f"--commits {span!r} is not A..B; write for example --commits HEAD~20..HEAD")
    root = root_of(tree)
    for revision in (first, last or "HEAD"):
        if git_says(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}") is None:
            raise RepositoryError(f"{revision!r} is no commit of {root}; git log shows what there is")
    listed = git_text(root, "rev-list", "--first-parent", f"{first}..{last or 'HEAD'}").split()
    if not listed:
        raise RepositoryError(f"{span} holds no commit of {root}; name the older one first")
    return tuple(reversed(listed[::every]))


def root_of(tree: Path) -> Path:
    """The root of the working tree. Raises ``RepositoryError`` outside of one."""
    root = top_level(tree)
    if root is None:
        raise RepositoryError(f"{tree} is in no git repository, so it has no commits to measure; git init first")
    return root


@contextmanager
def worktree(tree: Path, sha: str, folder: Path) -> Iterator[Path]:
    """``tree`` as it was at a commit; the folder is removed afterwards, whatever happened.

    Raises ``RepositoryError`` when git cannot check it out.
    """
    root = root_of(tree)
    ours = folder / hashlib.sha256(str(root).encode()).hexdigest()[:8]
    forget_abandoned(root, ours)
    place = ours / f"{sha[:12]}-{os.getpid()}"
    try:
        check_out(root, sha, place)
        yield place / tree.relative_to(root)
    finally:
        remove(root, place)


def check_out(root: Path, sha: str, place: Path) -> None:
    """Make a worktree. Raises ``RepositoryError`` when git or the disk says no."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        git_text(root, "worktree", "add", "--quiet", "--detach", "--force", str(place), sha)
    except (GitError, OSError) as error:
        raise RepositoryError(
            f"commit {sha[:10]} cannot be checked out into {place}: {error}; free space there or fix its rights"
        ) from error


def forget_abandoned(root: Path, folder: Path) -> None:
    """Remove worktrees whose process was killed before it could."""
    for place in abandoned(folder):
        remove(root, place)


def remove(root: Path, place: Path) -> None:
    """Remove a worktree from disk and from git's list."""
    shutil.rmtree(place, ignore_errors=True)
    git_says(root, "worktree", "prune")
