"""CSV of a comparison: a row a series, and what one run lacks."""

import csv
from io import StringIO

import pytest

from perfdb.domain.comparison import Comparison
from perfdb.reports.csv_export import COLUMNS, comparison_csv


def test_every_series_has_a_row_and_what_is_missing_says_where_it_is(comparison: Comparison) -> None:
    rows = list(csv.DictReader(StringIO(comparison_csv(comparison))))
    assert tuple(rows[0]) == COLUMNS
    assert [(row["benchmark"], row["verdict"], row["only_in"]) for row in rows] == [
        ("ternary_gemm", "regression", ""),
        ("copy", "ok", ""),
        ("a|b", "", "base"),
    ]
    first = rows[0]
    assert [float(first[side]) for side in ("base", "head")] == pytest.approx([100.0, 110.0])
    assert first["unit"] == "us"
    assert float(first["delta"]) == pytest.approx(0.1)
    assert first["head_processes"] == "110.0 110.0"
    assert {row["head_run"] for row in rows} == {"bbbb-run-id"}
