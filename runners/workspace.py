"""Workspace: what git tells about the code under test: its name, commit, ancestors, and what differs from them."""

import hashlib
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from perfdb.domain.commit import Code, CodeState, Commit
from runners.git import git_bytes, git_says, git_text, is_installed, top_level
from runners.measure.text import storable

#: Ancestors stored with a run, so that commits without a run still have their place on a chart.
ANCESTORS = 200
_FIELDS = "%H%x1f%P%x1f%ct%x1f%s"
#: A larger untracked file counts by its size and time: hashing a data set would take longer than measuring.
LARGEST_HASHED = 64 * 2**20
_SCP = re.compile(r"^(?:[^@/]+@)?(?P<host>[^:/]+):(?P<path>[^/].*)$")


@dataclass(frozen=True, slots=True)
class Workspace:
    """The code under test: its state, its commit with first-parent ancestors, and what a person should know."""

    code: Code
    commits: tuple[Commit, ...] = ()
    warnings: tuple[str, ...] = ()


def inspect(tree: Path, *, name: str | None, files: Iterable[Path]) -> Workspace:
    """Facts about ``tree`` from git.

    ``name`` is the repository's configured name; ``files`` are the benchmark files, whose digest identifies code
    without a commit.
    """
    sources = sorted(files)
    root = top_level(tree)
    if root is None:
        return _unversioned(tree, name, sources, f"{tree} is in no git repository", _how_to_track())
    if _is_ignored(root, [tree, *sources]):
        return _unversioned(tree, name, sources, f"{tree} is ignored by the git repository {root}", "git add -f it")
    if git_says(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}") is None:
        return _unversioned(root, name, sources, f"{root} has no commit yet", "git commit first")
    return _versioned(root, name)


def _how_to_track() -> str:
    if is_installed():
        return "git init, then git commit"
    return "install git (Debian: apt install git)"


def _versioned(root: Path, name: str | None) -> Workspace:
    is_shallow = git_text(root, "rev-parse", "--is-shallow-repository") == "true"
    commits = ancestors(root, is_shallow=is_shallow)
    difference = difference_digest(root)
    code = Code(
        repository=name or repository_name(root),
        state=CodeState.DIRTY if difference else CodeState.COMMITTED,
        commit=commits[0],
        branch=git_says(root, "symbolic-ref", "--short", "--quiet", "HEAD") or "",
        difference=difference,
    )
    return Workspace(code, commits, tuple(_warnings(root, is_shallow=is_shallow, is_dirty=bool(difference))))


def _warnings(root: Path, *, is_shallow: bool, is_dirty: bool) -> Iterable[str]:
    if is_shallow:
        yield (
            f"{root} is a shallow clone, so the commit's position is unknown and this run is never a baseline; "
            "complete it with: git fetch --unshallow"
        )
    if is_dirty:
        yield f"{root} has uncommitted changes: the run is stored apart and never a baseline; to count it, commit first"


def ancestors(root: Path, *, is_shallow: bool) -> tuple[Commit, ...]:
    """HEAD and its first-parent ancestors, newest first; positions count from the first commit of the branch."""
    log = git_text(
        root, "log", "--first-parent", f"--max-count={ANCESTORS}", "--no-color", f"--format={_FIELDS}", "HEAD"
    )
    newest = None if is_shallow else int(git_text(root, "rev-list", "--count", "--first-parent", "HEAD"))
    return tuple(
        _commit(line, None if newest is None else newest - age) for age, line in enumerate(log.split("\n")) if line
    )


def _commit(line: str, position: int | None) -> Commit:
    sha, parents, seconds, subject = line.split("\x1f", 3)
    return Commit(sha, tuple(parents.split()), position, datetime.fromtimestamp(int(seconds), UTC), subject)


def difference_digest(root: Path) -> str:
    """Digest of what differs from HEAD: tracked changes and untracked files that are not ignored; "" when clean."""
    changes = git_bytes(root, "diff", "HEAD", "--binary", "--no-ext-diff", "--no-textconv", "--no-color")
    listed = git_bytes(root, "ls-files", "--others", "--exclude-standard", "-z")
    untracked = [root / os.fsdecode(name) for name in sorted(listed.split(b"\0")) if name]
    if not changes and not untracked:
        return ""
    return hashlib.sha256(changes + _content_digest(root, untracked).encode()).hexdigest()[:16]


def repository_name(root: Path) -> str:
    """The origin's URL as ``host/owner/name``, else the name of the main working tree's folder."""
    url = git_says(root, "config", "--get", "remote.origin.url")
    store = Path(git_text(root, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    folder = store.parent.name if store.name == ".git" else store.name.removesuffix(".git")
    return storable(normalised_url(url or "") or folder or "root")


def normalised_url(url: str) -> str:
    """``host/owner/name`` of a remote's URL, without credentials, port and ``.git``; a local path gives its last name.

    The same repository has the same name whether it was cloned by https or ssh.
    """
    scp = _SCP.match(url) if "://" not in url else None
    host, path = (scp["host"], scp["path"]) if scp else _split(url)
    parts = [part for part in path.removesuffix("/").removesuffix(".git").split("/") if part]
    return "/".join([host.lower(), *parts]) if host else "".join(parts[-1:])


def _split(url: str) -> tuple[str, str]:
    split = urlsplit(url)
    return (split.hostname or "", split.path) if "://" in url else ("", url)


def _is_ignored(root: Path, paths: Iterable[Path]) -> bool:
    inside = [str(path) for path in paths if path != root and path.is_relative_to(root)]
    return bool(inside) and git_says(root, "check-ignore", "--quiet", *inside) is not None


def _unversioned(tree: Path, name: str | None, sources: list[Path], why: str, action: str) -> Workspace:
    code = Code(name or storable(tree.name) or "root", CodeState.UNVERSIONED, difference=_content_digest(tree, sources))
    return Workspace(code, (), (f"{why}, so this run is unversioned and never a baseline; to count it: {action}",))


def _content_digest(root: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        name = os.fsencode(file.relative_to(root) if file.is_relative_to(root) else file.name)
        digest.update(name + b"\0" + _fingerprint(file) + b"\0")
    return digest.hexdigest()[:16]


def _fingerprint(file: Path) -> bytes:
    facts = file.lstat()
    if stat.S_ISLNK(facts.st_mode):
        return os.fsencode(file.readlink())
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST_HASHED:
        return f"{facts.st_size} {facts.st_mtime_ns}".encode()
    return hashlib.sha256(file.read_bytes()).digest()
