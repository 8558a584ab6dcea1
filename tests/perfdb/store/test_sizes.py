"""How much the store holds: counted while small, sampled when big, and never far off."""

from collections.abc import Callable

import pytest
from sqlalchemy import Connection

from perfdb.domain.run import Run
from perfdb.store.ingest import ingest_run
from perfdb.store.sizes import RowCount, row_count, store_size

Maker = Callable[..., Run]


def test_an_empty_store_holds_nothing(connection: Connection) -> None:
    size = store_size(connection)
    assert (size.partitions, size.newest_run) == (0, None)
    assert set(size.tables.values()) == {RowCount(0, is_exact=True)}


def test_a_small_store_is_counted_to_the_row(connection: Connection, make_run: Maker) -> None:
    run = make_run()
    ingest_run(connection, run)
    size = store_size(connection)
    assert {table: found.rows for table, found in size.tables.items()} == {
        "runs": 1,
        "series": 1,
        "measurements": 1,
        "samples": 3,
    }
    assert (size.partitions, size.newest_run) == (2, run.header.started_at)


def test_a_big_table_that_was_never_analysed_is_estimated(connection: Connection, make_run: Maker) -> None:
    ingest_run(connection, make_run())
    connection.exec_driver_sql(
        "INSERT INTO measurements SELECT n, '2026-01-02', gen_random_uuid(), NULL, 1.0, '{1,1,1}' "
        "FROM generate_series(1, 50000) n"
    )
    found = row_count(connection, "measurements", counted_pages=200)
    assert not found.is_exact
    assert found.rows == pytest.approx(50_001, rel=0.2)
