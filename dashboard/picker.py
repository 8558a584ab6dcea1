"""Picker: narrowing a catalogue of series field by field, always standing on a series that exists."""

from collections.abc import Callable, Sequence

from perfdb.domain.choice import SeriesChoice
from perfdb.domain.history import Series

#: What a series is picked by, in the order people narrow it.
FIELDS: dict[str, Callable[[SeriesChoice], str]] = {
    "Repository": lambda series: series.repository,
    "Hardware": lambda series: f"{series.hardware_label} · {series.hardware[:6]}",
    "Protocol": lambda series: series.protocol,
    "Benchmark": lambda series: series.benchmark,
    "Case": lambda series: series.case.label or "(one case)",
    "Provider": lambda series: series.provider,
    "Metric": lambda series: series.metric,
}
#: Shown even where there is nothing to choose.
ALWAYS = ("Benchmark", "Case", "Provider", "Metric")


def options(catalogue: Sequence[SeriesChoice], current: SeriesChoice, field: str) -> list[str]:
    """Values of ``field`` among the series that agree with ``current`` in every field before it."""
    return sorted({FIELDS[field](series) for series in _agreeing(catalogue, current, field)})


def pick(catalogue: Sequence[SeriesChoice], current: SeriesChoice, field: str, value: str) -> SeriesChoice:
    """The series with ``field`` set to ``value`` that keeps as much of ``current`` as exists."""
    candidates = [s for s in _agreeing(catalogue, current, field) if FIELDS[field](s) == value]
    if not candidates:
        return current
    return max(candidates, key=lambda series: [read(series) == read(current) for read in FIELDS.values()])


def choice_of(series: Series) -> SeriesChoice:
    """A series as the catalogue has it."""
    s = series
    return SeriesChoice(
        *(s.digest, s.repository, s.hardware, s.hardware_label, s.protocol, s.benchmark),
        *(s.case, s.provider, s.metric.name, s.is_control),
    )


def shown_fields(catalogue: Sequence[SeriesChoice]) -> list[str]:
    """Fields worth a control: the ones always shown and those in which the catalogue differs."""
    return [f for f, read in FIELDS.items() if f in ALWAYS or len({read(s) for s in catalogue}) > 1]


def opening(catalogue: Sequence[SeriesChoice]) -> SeriesChoice:
    """The series shown when the address names none: a latency that is no control, where there is one."""
    return min(catalogue, key=lambda s: (s.metric != "latency", s.is_control, s.benchmark, s.case.label))


def _agreeing(catalogue: Sequence[SeriesChoice], current: SeriesChoice, field: str) -> list[SeriesChoice]:
    before = list(FIELDS)[: list(FIELDS).index(field)]
    return [s for s in catalogue if all(FIELDS[f](s) == FIELDS[f](current) for f in before)]
