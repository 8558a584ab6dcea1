"""Summary: what a run gave, as a table for people and as one JSON object. Pure functions over values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from rich.table import Table
from rich.text import Text

from perfdb.domain.case import Outcome
from perfdb.domain.metric import LATENCY, RELATIVE_ERROR
from perfdb.domain.run import CaseResult, Reading, Run
from perfdb.record import encode_header
from perfdb.reports.formatting import NOTHING, percent, quantity
from perfdb.reports.sentences import OUTCOMES
from runners.measure.messages import CaseKey


@dataclass(frozen=True, slots=True)
class Row:
    """One case over its processes. Times are in microseconds; ``spread`` is (largest - smallest) / median."""

    key: CaseKey
    outcome: Outcome
    detail: str
    process_values_us: tuple[float, ...]
    relative_error: float | None
    tolerance: float | None
    first_call_s: float | None

    @property
    def latency_us(self) -> float | None:
        """Median over processes; None unless every process was measured."""
        return median(self.process_values_us) if self.process_values_us else None

    @property
    def spread(self) -> float | None:
        """(largest - smallest) / median over processes; None for fewer than two."""
        if len(self.process_values_us) < 2:
            return None
        return (max(self.process_values_us) - min(self.process_values_us)) / median(self.process_values_us)


def rows_of(run: Run, tolerances: Mapping[CaseKey, float | None]) -> tuple[Row, ...]:
    """One row a case, in declaration order, i.e. the order of ``tolerances``; cases without a result are left out."""
    results: dict[CaseKey, list[CaseResult]] = {}
    for result in run.results:
        results.setdefault(CaseKey(result.benchmark, result.provider, result.case), []).append(result)
    return tuple(_row(key, results[key], tolerance) for key, tolerance in tolerances.items() if key in results)


def _row(key: CaseKey, results: Sequence[CaseResult], tolerance: float | None) -> Row:
    failed = [result for result in results if result.outcome is not Outcome.MEASURED]
    first = failed[0] if failed else results[0]
    return Row(
        key=key,
        outcome=first.outcome,
        detail=first.detail,
        process_values_us=() if failed else tuple(r.value for r in _readings(results, LATENCY.name)),
        relative_error=max((r.value for r in _readings(results, RELATIVE_ERROR.name)), default=None),
        tolerance=tolerance,
        first_call_s=results[0].first_call_s,
    )


def _readings(results: Sequence[CaseResult], metric: str) -> list[Reading]:
    return [reading for result in results for reading in result.readings if reading.metric.name == metric]


def table_of(rows: Sequence[Row], title: str) -> Table:
    """The table at the end of a run."""
    table = Table(title=title, title_justify="left")
    for name in ("case", "provider"):
        table.add_column(name, overflow="fold")
    for name in ("latency", "spread", "error / tolerance"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    for row in rows:
        cells = (row.key.label, row.key.provider, *_cells(row))
        table.add_row(*map(Text, cells), style=_style(row.outcome))
    return table


def _cells(row: Row) -> tuple[str, ...]:
    latency = NOTHING if row.latency_us is None else quantity(row.latency_us, LATENCY.unit)
    return latency, percent(row.spread, signed=False), _error(row), OUTCOMES[row.outcome]


def _error(row: Row) -> str:
    if row.relative_error is None:
        return NOTHING
    return f"{row.relative_error:.1e}" + (f" / {row.tolerance:.0e}" if row.tolerance is not None else "")


def _style(outcome: Outcome) -> str:
    if outcome is Outcome.MEASURED:
        return ""
    return "dim" if outcome is Outcome.UNSUPPORTED else "red"


def encode_run(run: Run, rows: Sequence[Row]) -> dict[str, Any]:
    """A run as a JSON object for programs: its header, state and one object a case."""
    header = {name: value for name, value in encode_header(run.header).items() if name not in ("kind", "commits")}
    return {**header, "state": run.state.value, "results": [_encode_row(row) for row in rows]}


def _encode_row(row: Row) -> dict[str, Any]:
    return {
        "benchmark": row.key.benchmark,
        "case": dict(row.key.case.axes),
        "provider": row.key.provider,
        "outcome": row.outcome.value,
        "detail": row.detail,
        "latency_us": row.latency_us,
        "process_values_us": list(row.process_values_us),
        "spread": row.spread,
        "relative_error": row.relative_error,
        "tolerance": row.tolerance,
        "first_call_s": row.first_call_s,
    }
