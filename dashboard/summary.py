"""Summary: what the overview says about the latest runs: flagged series, failing cases, how runs ended. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from dashboard.timeline import Mark, mark
from perfdb.domain.case import Outcome
from perfdb.domain.history import CaseOutcome, RunMeasurement

#: Outcomes that say the code or the machine failed; the others say there was nothing to measure.
FAILURES = (Outcome.WRONG_RESULT, Outcome.OUT_OF_MEMORY, Outcome.TIMED_OUT, Outcome.FAILED)


@dataclass(frozen=True, slots=True)
class Flagged:
    """A series that looks or is changed: its newest flagged measurement, and in how many of the runs it is flagged."""

    measurement: RunMeasurement
    mark: Mark
    runs: int


@dataclass(frozen=True, slots=True)
class Failing:
    """A case that ended the same way in some runs: the newest of them, and how many."""

    outcome: CaseOutcome
    runs: int

    @property
    def is_failure(self) -> bool:
        """Whether something failed, rather than there being nothing to measure."""
        return self.outcome.outcome in FAILURES


def flagged(measurements: Iterable[RunMeasurement]) -> list[Flagged]:
    """One entry a series, in the order given (newest first)."""
    by_series: dict[str, list[RunMeasurement]] = {}
    for measurement in measurements:
        by_series.setdefault(measurement.series.digest, []).append(measurement)
    return [Flagged(group[0], mark(group[0].point), len(group)) for group in by_series.values()]


def failing(outcomes: Iterable[CaseOutcome]) -> list[Failing]:
    """One entry a case and outcome, failures before what could not be measured, newest first."""
    groups: dict[tuple[str, str, Outcome], list[CaseOutcome]] = {}
    for outcome in outcomes:
        if outcome.outcome is not Outcome.MEASURED:
            groups.setdefault((outcome.label, outcome.provider, outcome.outcome), []).append(outcome)
    found = [Failing(group[0], len({o.run_id for o in group})) for group in groups.values()]
    return sorted(found, key=lambda case: not case.is_failure)


def counted_marks(series: Iterable[Flagged]) -> tuple[int, int]:
    """How many series are decided to have changed, and how many are suspect."""
    marks = [entry.mark for entry in series]
    suspect = marks.count(Mark.SUSPECT)
    return len(marks) - suspect, suspect
