"""Runs by name: id, SHA, branch or latest, and what the lists offer."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Connection

from perfdb.domain.choice import RunFacets
from perfdb.domain.run import Run
from perfdb.errors import SelectionError
from perfdb.store.choices import branches, run_choices, run_facets, series_choices
from perfdb.store.ingest import ingest_run
from perfdb.store.runs import find_run, recent_runs

Maker = Callable[..., Run]


def on_branch(run: Run, branch: str, sha: str = "") -> Run:
    """The run as if it had measured another branch, at another commit where ``sha`` says so."""
    code = run.header.code
    assert code.commit is not None
    commit = replace(code.commit, sha=sha or code.commit.sha)
    header = replace(run.header, code=replace(code, branch=branch, commit=commit), commits=(commit,))
    return replace(run, header=header)


def test_a_branch_names_its_newest_complete_run(connection: Connection, make_run: Maker) -> None:
    for number in (1, 2):
        ingest_run(connection, on_branch(make_run(position=number), "faster-gemm"))
    ingest_run(connection, make_run(position=3))
    ingest_run(connection, on_branch(make_run(position=4, complete=False), "faster-gemm"))
    found = find_run(connection, "faster-gemm")
    assert found.commit is not None
    assert (found.branch, found.commit.position) == ("faster-gemm", 2)
    assert branches(connection) == ["main", "faster-gemm"]


def test_a_short_sha_of_two_commits_is_refused(connection: Connection, make_run: Maker) -> None:
    ingest_run(connection, on_branch(make_run(position=1), "main", "ab1" + "0" * 37))
    ingest_run(connection, on_branch(make_run(position=2), "main", "ab2" + "0" * 37))
    with pytest.raises(SelectionError, match=r"'ab' names 2 commits: ab2.*, ab1.*; write more of it"):
        find_run(connection, "ab")
    assert find_run(connection, "ab1").run_id == make_run(position=1).header.run_id


def test_an_unknown_name_is_said_with_the_nearest_branch(connection: Connection, make_run: Maker) -> None:
    ingest_run(connection, on_branch(make_run(), "faster-gemm"))
    with pytest.raises(SelectionError, match="no run matches 'faster-gem'; nearest: faster-gemm"):
        find_run(connection, "faster-gem")


def test_lists_offer_what_there_is_newest_first(connection: Connection, make_run: Maker) -> None:
    assert run_facets(connection) == RunFacets()
    for number in (1, 2):
        ingest_run(connection, make_run(position=number, repository=f"r{number}"))
    assert [run.repository for run in run_choices(connection, limit=5)] == ["r2", "r1"]
    assert [run.repository for run in run_choices(connection, limit=5, repository="r1")] == ["r1"]
    assert run_facets(connection) == RunFacets(("r1", "r2"), ("smoke",), ("host",))
    assert [(s.repository, s.case.label) for s in series_choices(connection)] == [("r1", "m=1"), ("r2", "m=1")]
    assert [run.repository for run in recent_runs(connection, repository="r2", suite="smoke", hostname="host")] == [
        "r2"
    ]
    assert recent_runs(connection, hostname="elsewhere") == []
