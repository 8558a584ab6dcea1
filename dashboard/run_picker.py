"""Run picker: runs as a list offers them."""

from collections.abc import Iterable
from datetime import tzinfo

from perfdb.domain.choice import RunChoice
from perfdb.domain.history import RunSummary
from perfdb.reports.formatting import moment

#: Newest runs that a list holds; any other is reached by its id.
OFFERED = 200


def run_label(run: RunChoice, where: tzinfo) -> str:
    """``1 Mar 2026, 12:00 · smoke · 0123456789 · main · host``."""
    parts = (moment(run.started_at, where), run.suite, run.sha[:10] if run.sha else "unversioned", run.branch)
    return " · ".join(part for part in (*parts, run.hostname) if part)


def offered(runs: Iterable[RunChoice], branches: Iterable[str], where: tzinfo) -> dict[str, str]:
    """What can stand for a run, and how it reads: ``latest``, branches, and the runs by id."""
    names = {"latest": "latest", "latest~1": "latest~1: the one before"}
    names |= {branch: f"{branch}: newest run of the branch" for branch in branches}
    return names | {run.run_id: run_label(run, where) for run in runs}


def choice_of(run: RunSummary) -> RunChoice:
    """A run that is no longer among the newest, as a list offers it."""
    sha = run.commit.sha if run.commit else None
    return RunChoice(run.run_id, run.repository, run.suite, run.branch, sha, run.hostname, run.started_at)
