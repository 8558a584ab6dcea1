"""History: series found by name, and their points as they were measured."""

from collections.abc import Callable
from uuid import UUID

import pytest
from sqlalchemy import Connection

from perfdb.domain.history import Absence
from perfdb.domain.run import Run
from perfdb.domain.verdict import Reason, Verdict, VerdictKind
from perfdb.errors import SelectionError
from perfdb.store.history import (
    absence,
    catalogue,
    environments,
    find_series,
    flagged_measurements,
    histories_of_run,
    series_history,
)
from perfdb.store.ingest import ingest_run
from perfdb.store.runs import recent_runs, repositories, summary_counts
from perfdb.store.verdicts import save_verdicts

Maker = Callable[..., Run]
SUSPECT = Verdict(VerdictKind.UNDECIDED, Reason.SUSPECT, is_suspect=True, delta=0.2)
QUIET = Verdict(VerdictKind.OK, Reason.WITHIN_NOISE)


def test_an_empty_store_answers_with_nothing(connection: Connection) -> None:
    assert catalogue(connection) == []
    assert recent_runs(connection) == []
    assert repositories(connection) == []
    assert flagged_measurements(connection, []) == []
    counts = summary_counts(connection)
    assert (counts.runs, counts.series, counts.measurements) == (0, 0, 0)


def test_the_catalogue_can_be_cut_to_a_repository(connection: Connection, make_run: Maker) -> None:
    ingest_run(connection, make_run(position=1, repository="ours", benchmark="b"))
    ingest_run(connection, make_run(position=2, repository="ours", benchmark="a"))
    ingest_run(connection, make_run(position=3, repository="theirs"))
    assert [series.benchmark for series in catalogue(connection, repository="ours")] == ["a", "b"]
    assert len(catalogue(connection)) == 3
    assert repositories(connection) == ["ours", "theirs"]
    assert {run.repository for run in recent_runs(connection, repository="theirs")} == {"theirs"}


def test_a_series_is_named_by_its_hash_or_as_it_is_written(connection: Connection, make_run: Maker) -> None:
    ingest_run(connection, make_run())
    (series,) = catalogue(connection)
    for wanted in (series.digest, series.digest[:8], "matmul[m=1]", "matmul"):
        assert find_series(connection, wanted) == series


@pytest.mark.parametrize("wanted", ["matmull", "matmul[m=2]", "abc", "", "matmul[", "%"])
def test_a_series_that_is_not_there_is_said_with_the_next_command(
    connection: Connection, make_run: Maker, wanted: str
) -> None:
    ingest_run(connection, make_run())
    with pytest.raises(SelectionError, match=r"no series matches .*See them all with: perfdb list series"):
        find_series(connection, wanted)


def test_a_name_of_several_series_lists_their_hashes(connection: Connection, make_run: Maker) -> None:
    for number, repository in enumerate(("ours", "theirs")):
        ingest_run(connection, make_run(repository=repository, number=number))
    with pytest.raises(SelectionError, match="names 2 series; choose one by its hash") as caught:
        find_series(connection, "matmul[m=1]")
    assert all(series.digest[:12] in str(caught.value) for series in catalogue(connection))


def test_a_limit_keeps_the_last_points(connection: Connection, make_run: Maker) -> None:
    for position in (1, 2, 3):
        ingest_run(connection, make_run(float(position), position=position))
    (series,) = catalogue(connection)
    assert [p.value for p in series_history(connection, series.digest, limit=2).points] == [2.0, 3.0]
    (history,) = histories_of_run(connection, str(UUID(int=4)), limit=2)
    assert [p.value for p in history.points] == [2.0, 3.0]
    (history,) = histories_of_run(connection, str(UUID(int=2)), limit=1)
    assert [p.value for p in history.points] == [1.0, 2.0, 3.0]


def test_a_run_gives_every_one_of_its_series_with_all_their_points(connection: Connection, make_run: Maker) -> None:
    for position in (2, 1):
        ingest_run(connection, make_run(float(position), position=position))
    ingest_run(connection, make_run(position=3, benchmark="other"))
    (history,) = histories_of_run(connection, str(UUID(int=3)))
    assert history == series_history(connection, history.series.digest)
    assert [p.value for p in history.points] == [1.0, 2.0]


def test_an_unknown_hash_is_said_with_the_next_command(connection: Connection) -> None:
    with pytest.raises(SelectionError, match="no series has the hash 'f00'"):
        series_history(connection, "f00")


def test_only_the_verdict_in_force_makes_a_suspect(connection: Connection, make_run: Maker) -> None:
    run = make_run()
    ingest_run(connection, run)
    (series,) = catalogue(connection)
    save_verdicts(connection, run.header.run_id, {series.digest: SUSPECT})
    (found,) = flagged_measurements(connection, [run.header.run_id])
    assert (found.series, found.point.verdict) == (series, SUSPECT)
    assert recent_runs(connection)[0].suspects == 1
    save_verdicts(connection, run.header.run_id, {series.digest: QUIET})
    assert flagged_measurements(connection, [run.header.run_id]) == []
    assert recent_runs(connection)[0].verdicts == {VerdictKind.OK: 1}


def test_environments_are_found_by_their_digests(connection: Connection, make_run: Maker) -> None:
    old, new = make_run(position=1, torch="2.12.0"), make_run(position=2, torch="2.13.0")
    for run in (old, new):
        ingest_run(connection, run)
    found = environments(connection, [old.header.environment.digest, new.header.environment.digest, "unknown"])
    assert found == {run.header.environment.digest: run.header.environment for run in (old, new)}


def test_a_series_that_its_suite_leaves_out_is_missed(connection: Connection, make_run: Maker) -> None:
    for position in (1, 2):
        ingest_run(connection, make_run(position=position))
    (series,) = catalogue(connection)
    assert absence(connection, series.digest) == Absence(runs=0, usual=1)
    for position in (3, 4, 5):
        ingest_run(connection, make_run(position=position, benchmark="another"))
    gone = absence(connection, series.digest)
    assert gone == Absence(runs=3, usual=1)
    assert gone is not None
    assert gone.is_news
    assert absence(connection, "f00") is None


def test_a_series_measured_in_every_fourth_run_is_not_missed_after_four(
    connection: Connection, make_run: Maker
) -> None:
    for position in range(1, 10):
        ingest_run(connection, make_run(position=position, benchmark="matmul" if position % 4 == 1 else "another"))
    (series,) = (s for s in catalogue(connection) if s.benchmark == "matmul")
    for position in range(10, 14):
        ingest_run(connection, make_run(position=position, benchmark="another"))
    missed = absence(connection, series.digest)
    assert missed == Absence(runs=4, usual=4)
    assert missed is not None
    assert not missed.is_news
