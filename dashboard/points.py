"""Points: the results of a series as rows of a table and as CSV."""

import csv
from collections.abc import Sequence
from io import StringIO
from math import floor, log10

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from dashboard.sentences import never_baseline
from dashboard.timeline import Mark, mark
from dashboard.traces import Look, fitting_unit
from perfdb.domain.history import Point, Series

CSV_COLUMNS = (
    "started_at", "value", "unit", "process_values", "verdict", "is_suspect", "delta", "low", "high",
    "smallest_detectable", "floor", "level", "noise", "sha", "position", "subject", "code_state", "hostname",
    "environment", "run_id",
)  # fmt: skip


def csv_text(series: Series, points: Sequence[Point]) -> str:
    """Every stored field of the points, in the stored unit, times in UTC."""
    out = StringIO()
    writer = csv.DictWriter(out, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_csv_row(series, point) for point in points)
    return out.getvalue()


def points_table(series: Series, points: Sequence[Point], look: Look) -> tuple[pd.DataFrame, dict[str, ColumnConfig]]:
    """The points, newest first, as people read them, and how each column is shown."""
    unit = fitting_unit(series, (point.value for point in points))
    smallest = min((abs(point.value) / unit.factor for point in points if point.value), default=1.0)
    digits = max(2 - floor(log10(smallest)), 0)
    rows = pd.DataFrame.from_records([_row(point, unit.factor, look) for point in reversed(points)])
    columns = {
        "run": st.column_config.LinkColumn("Run", display_text=r"run=(.{8})", width="small"),
        "measured": st.column_config.DatetimeColumn("Measured", format="D MMM YYYY, HH:mm"),
        "value": st.column_config.NumberColumn(
            f"Value ({unit.unit})" if unit.unit else "Value", format=f"%.{digits}f" if digits < 7 else "%.2e"
        ),
        "delta": st.column_config.NumberColumn("Change", format="%+.2f %%"),
        "verdict": st.column_config.TextColumn("Verdict"),
        "commit": st.column_config.TextColumn("Commit", width="small"),
        "subject": st.column_config.TextColumn("Subject", width="large"),
        "code": st.column_config.TextColumn("Code", width="small", help="What keeps it out of baselines"),
        "machine": st.column_config.TextColumn("Machine"),
    }
    return rows, columns


def _row(point: Point, factor: float, look: Look) -> dict[str, object]:
    commit, verdict = point.commit, point.verdict
    return {
        "measured": point.started_at.astimezone(look.zone).replace(tzinfo=None),
        "value": point.value / factor,
        "delta": verdict.delta * 100 if verdict is not None and verdict.delta is not None else None,
        "verdict": _verdict_word(point),
        "commit": commit.short if commit is not None else "",
        "subject": commit.subject if commit is not None else "",
        "code": never_baseline(point) or point.code_state.value,
        "machine": point.hostname,
        "run": f"run?run={point.run_id}",
    }


def _verdict_word(point: Point) -> str:
    if point.verdict is None:
        return "not judged"
    return "suspect" if mark(point) is Mark.SUSPECT else point.verdict.kind.value


def _csv_row(series: Series, point: Point) -> dict[str, object]:
    commit, verdict = point.commit, point.verdict
    row: dict[str, object] = {
        "started_at": point.started_at.isoformat(),
        "value": point.value,
        "unit": series.metric.unit,
        "process_values": " ".join(map(repr, point.process_values)),
        "code_state": point.code_state.value,
        "hostname": point.hostname,
        "environment": point.environment,
        "run_id": point.run_id,
    }
    if commit is not None:
        row |= {"sha": commit.sha, "position": commit.position, "subject": commit.subject}
    if verdict is not None:
        row |= {"verdict": verdict.kind.value, "is_suspect": verdict.is_suspect, "delta": verdict.delta}
        row |= {"low": verdict.low, "high": verdict.high, "floor": verdict.floor}
        row |= {"smallest_detectable": verdict.smallest_detectable}
        row |= {"level": verdict.baseline.level, "noise": verdict.baseline.noise} if verdict.baseline else {}
    return row
