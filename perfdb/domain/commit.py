"""Commit: a revision with its place on its branch, and the state of the code that was measured."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Commit:
    """One git commit.

    ``position`` counts the commit and its first-parent ancestors, so it is dense along a branch and the same in every
    full clone; it is None where a shallow clone hides the ancestors.
    """

    sha: str
    parents: tuple[str, ...]
    position: int | None
    committed_at: datetime
    subject: str

    @property
    def short(self) -> str:
        """The first 10 digits of the SHA."""
        return self.sha[:10]


class CodeState(StrEnum):
    """What was measured, relative to its commit."""

    COMMITTED = "committed"
    DIRTY = "dirty"
    UNVERSIONED = "unversioned"


@dataclass(frozen=True, slots=True)
class Code:
    """The code under test: a repository's name, its commit, and what differs from it.

    ``difference`` is a digest of uncommitted changes (DIRTY) or of the measured file (UNVERSIONED); "" when COMMITTED.
    ``branch`` is "" on a detached HEAD.
    """

    repository: str
    state: CodeState
    commit: Commit | None = None
    branch: str = ""
    difference: str = ""

    @property
    def may_be_baseline(self) -> bool:
        """Only committed code with a known place on its branch forms baselines."""
        return self.state is CodeState.COMMITTED and self.commit is not None and self.commit.position is not None
