"""CSV: a comparison as rows for a spreadsheet or a script: stored units, shares instead of percent."""

import csv
from io import StringIO

from perfdb.domain.comparison import Comparison, Delta
from perfdb.domain.history import Series

COLUMNS = (
    "benchmark", "case", "provider", "metric", "unit", "base", "head", "delta", "low", "high", "floor",
    "smallest_detectable", "verdict", "reason", "is_control", "base_processes", "head_processes", "only_in", "series",
    "base_run", "head_run",
)  # fmt: skip


def comparison_csv(comparison: Comparison) -> str:
    """A row a series, by evidence; those of one run alone come last, and ``only_in`` says of which."""
    out = StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    runs = {"base_run": comparison.base.run_id, "head_run": comparison.head.run_id}
    writer.writerows(_delta(delta) | runs for delta in comparison.deltas)
    for side, unmatched in (("base", comparison.only_base), ("head", comparison.only_head)):
        writer.writerows(_series(series) | {"only_in": side} | runs for series in unmatched)
    return out.getvalue()


def _series(series: Series) -> dict[str, object]:
    return {
        "benchmark": series.benchmark,
        "case": series.case.label,
        "provider": series.provider,
        "metric": series.metric.name,
        "unit": series.metric.unit,
        "is_control": series.is_control,
        "series": series.digest,
    }


def _delta(delta: Delta) -> dict[str, object]:
    verdict = delta.verdict
    return _series(delta.series) | {
        "base": delta.base.mean,
        "head": delta.head.mean,
        "delta": verdict.delta,
        "low": verdict.low,
        "high": verdict.high,
        "floor": verdict.floor,
        "smallest_detectable": verdict.smallest_detectable,
        "verdict": verdict.kind.value,
        "reason": verdict.reason.value,
        "base_processes": " ".join(map(repr, delta.base.process_values)),
        "head_processes": " ".join(map(repr, delta.head.process_values)),
    }
