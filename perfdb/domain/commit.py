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


@dataclass(frozen=True, slots=True)
class Line:
    """A commit and its first-parent ancestors, as far as they are known.

    ``start`` is the lowest known position: what lies before it is taken to be an ancestor; None where positions are
    unknown, and then everything is.
    """

    shas: frozenset[str]
    start: int | None

    def holds(self, sha: str, position: int | None) -> bool:
        """Whether a commit is on the line: not on another branch, nor on this one before it was rewritten."""
        return self.start is None or position is None or sha in self.shas or position < self.start


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
