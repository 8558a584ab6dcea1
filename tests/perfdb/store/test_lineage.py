"""Which results are on the line of commits that is looked from."""

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection

from perfdb.detect import receive
from perfdb.domain.commit import Commit
from perfdb.domain.run import Run
from perfdb.store.history import catalogue, histories_of_run, run_measurements, series_history
from perfdb.store.ingest import ingest_run

Maker = Callable[..., Run]


def sha(position: int, branch: str) -> str:
    """``b`` for commits of a branch, digits for those of main."""
    return ("b" if branch else "0") + f"{position:039x}"


def on(run: Run, fork: int | None = None) -> Run:
    """The run with its ancestors: all of main, or of a branch that left main after commit ``fork``."""
    assert run.header.code.commit
    last = run.header.code.commit
    commits = []
    for position in range(last.position or 0, 0, -1):
        branch = "b" if fork is not None and position > fork else ""
        parent = "b" if fork is not None and position - 1 > fork else ""
        parents = (sha(position - 1, parent),) if position > 1 else ()
        commits.append(Commit(sha(position, branch), parents, position, last.committed_at, f"change {position}"))
    code = replace(run.header.code, commit=commits[0], branch="feature" if fork is not None else "main")
    return replace(run, header=replace(run.header, code=code, commits=tuple(commits)))


def lines(connection: Connection) -> list[tuple[float, bool]]:
    """The only series: each value, and whether it is on the main line."""
    (series,) = catalogue(connection)
    return [(p.value, p.is_on_line) for p in series_history(connection, series.digest).points]


def test_another_branch_is_shown_and_is_on_no_line_but_its_own(connection: Connection, make_run: Maker) -> None:
    for position in (1, 2, 3):
        ingest_run(connection, on(make_run(float(position), position=position)))
    feature = on(make_run(9.0, position=3, number=8), fork=1)
    ingest_run(connection, feature)
    assert lines(connection) == [(1.0, True), (2.0, True), (3.0, True), (9.0, False)]
    (history,) = histories_of_run(connection, feature.header.run_id)
    assert [(p.value, p.may_be_baseline) for p in history.points] == [
        (1.0, True),
        (2.0, False),
        (3.0, False),
        (9.0, True),
    ]


def test_commits_of_before_a_rewrite_stay_visible_and_form_no_baseline(connection: Connection, make_run: Maker) -> None:
    for position in (1, 2, 3):
        ingest_run(connection, on(make_run(float(position), position=position)))
    rewritten = on(make_run(7.0, position=2, number=9), fork=1)
    code = replace(rewritten.header.code, branch="main")
    ingest_run(connection, replace(rewritten, header=replace(rewritten.header, code=code)))
    assert lines(connection) == [(1.0, True), (2.0, False), (7.0, True), (3.0, False)]


def test_a_late_result_of_an_old_commit_does_not_end_the_line(connection: Connection, make_run: Maker) -> None:
    for position in (1, 3):
        ingest_run(connection, on(make_run(float(position), position=position)))
    ingest_run(connection, on(make_run(2.0, position=2, hours=50)))
    assert lines(connection) == [(1.0, True), (2.0, True), (3.0, True)]


def test_a_slow_branch_raises_no_suspect_on_main(connection: Connection, make_run: Maker) -> None:
    quiet = [100.0 + 0.1 * (position % 3) for position in range(1, 31)]
    for position, value in enumerate(quiet, start=1):
        receive(connection, on(make_run(value, position=position)))
        if position > 15:
            receive(
                connection, on(make_run(150.0, position=position, number=100 + position, hours=position + 0.5), fork=15)
            )
    receive(connection, on(make_run(100.1, position=31)))
    (found,) = run_measurements(connection, make_run(position=31).header.run_id)
    assert found.point.verdict is not None
    assert not found.point.verdict.is_suspect
    assert found.point.verdict.baseline is not None
    assert found.point.verdict.baseline.level < 101


def test_a_late_result_has_only_its_own_line_judged_again(connection: Connection, make_run: Maker) -> None:
    for position in (1, 2, 4):
        receive(connection, on(make_run(float(position), position=position)))
    receive(connection, on(make_run(9.0, position=4, number=70, hours=60), fork=2))
    receive(connection, on(make_run(3.0, position=3, hours=80)))
    judged = {
        number: run_measurements(connection, make_run(number=number).header.run_id)[0].point.verdict
        for number in (4, 70)
    }
    assert {number: verdict.missing for number, verdict in judged.items() if verdict} == {4: 12, 70: 13}
