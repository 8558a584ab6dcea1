"""A benchmark keeps its history under a new name, whenever that is said."""

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection, text

from perfdb.domain.run import Run
from perfdb.store.history import catalogue, find_series, former_names, run_measurements, series_history, series_samples
from perfdb.store.ingest import ingest_run

Maker = Callable[..., Run]


def renamed(run: Run, *formerly: str) -> Run:
    """The run with results that say what their benchmark was called."""
    return replace(run, results=tuple(replace(result, formerly=formerly) for result in run.results))


def values(connection: Connection, name: str) -> list[float]:
    """The history of the only series that a name means."""
    return [p.value for p in series_history(connection, find_series(connection, name).digest).points]


def test_a_renamed_benchmark_goes_on_with_its_history(connection: Connection, make_run: Maker) -> None:
    ingest_run(connection, make_run(1.0, position=1, benchmark="gemm"))
    ingest_run(connection, renamed(make_run(2.0, position=2, benchmark="matmul"), "gemm"))
    (series,) = catalogue(connection)
    assert series.benchmark == "matmul"
    assert values(connection, "matmul[m=1]") == values(connection, "gemm[m=1]") == [1.0, 2.0]
    assert former_names(connection, series.digest) == ["gemm"]


def test_an_older_commit_that_still_has_the_old_name_joins_it(connection: Connection, make_run: Maker) -> None:
    ingest_run(connection, make_run(1.0, position=1, benchmark="gemm"))
    ingest_run(connection, renamed(make_run(3.0, position=3, benchmark="matmul"), "gemm"))
    ingest_run(connection, make_run(2.0, position=2, benchmark="gemm", hours=9))
    (series,) = catalogue(connection)
    assert series.benchmark == "matmul"
    assert values(connection, "matmul") == [1.0, 2.0, 3.0]


def test_a_rename_said_late_joins_both_histories(connection: Connection, make_run: Maker) -> None:
    for position in (1, 2):
        ingest_run(connection, make_run(float(position), position=position, benchmark="gemm"))
    ingest_run(connection, make_run(3.0, position=3, benchmark="matmul"))
    ingest_run(connection, renamed(make_run(4.0, position=4, benchmark="matmul"), "gemm"))
    (series,) = catalogue(connection)
    assert values(connection, "matmul") == [1.0, 2.0, 3.0, 4.0]
    assert series_samples(connection, series.digest, make_run(position=3).header.run_id) == [(3.0, 3.0)] * 3
    assert connection.scalar(text("SELECT count(*) FROM outcomes")) == 12


def test_a_run_that_measured_both_names_keeps_the_older_ones_value(connection: Connection, make_run: Maker) -> None:
    both = make_run(1.0, position=1, benchmark="gemm")
    results = (*both.results, *make_run(5.0, position=1, benchmark="matmul").results)
    ingest_run(connection, replace(both, results=results))
    ingest_run(connection, renamed(make_run(2.0, position=2, benchmark="matmul"), "gemm"))
    assert values(connection, "matmul") == [1.0, 2.0]


def test_a_case_that_only_the_new_name_had_keeps_its_history(connection: Connection, make_run: Maker) -> None:
    ingest_run(connection, make_run(1.0, position=1, benchmark="gemm"))
    other = make_run(2.0, position=2, benchmark="matmul")
    ingest_run(connection, replace(other, results=tuple(replace(r, provider="triton") for r in other.results)))
    last = renamed(make_run(3.0, position=3, benchmark="matmul"), "gemm")
    results = (*last.results, *(replace(r, provider="triton") for r in last.results))
    ingest_run(connection, replace(last, results=results))
    found = {m.series.provider: m.series.digest for m in run_measurements(connection, last.header.run_id)}
    assert [p.value for p in series_history(connection, found["triton"]).points] == [2.0, 3.0]
    assert [p.value for p in series_history(connection, found["eager"]).points] == [1.0, 3.0]
    assert len(catalogue(connection)) == 2


def test_a_benchmark_renamed_twice_is_found_by_every_name(connection: Connection, make_run: Maker) -> None:
    ingest_run(connection, make_run(1.0, position=1, benchmark="mm"))
    ingest_run(connection, renamed(make_run(2.0, position=2, benchmark="gemm"), "mm"))
    ingest_run(connection, renamed(make_run(3.0, position=3, benchmark="matmul"), "mm", "gemm"))
    assert values(connection, "mm") == values(connection, "gemm") == values(connection, "matmul") == [1.0, 2.0, 3.0]


def test_a_former_name_that_was_never_measured_changes_nothing(connection: Connection, make_run: Maker) -> None:
    ingest_run(connection, renamed(make_run(1.0, benchmark="matmul"), "gemm"))
    (series,) = catalogue(connection)
    assert former_names(connection, series.digest) == []
