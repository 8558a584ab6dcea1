"""When a control moved, and where that began."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perfdb.domain.case import Case
from perfdb.domain.history import Series
from perfdb.domain.machine_record import Control, ControlResult
from perfdb.domain.metric import LATENCY
from perfdb.domain.verdict import Reason, Verdict, VerdictKind

SERIES = Series("d" * 32, "ours", "copy", Case.of(m=1), "eager", "cpu v1", LATENCY, "h" * 16, "CPU", is_control=True)
OK = Verdict(VerdictKind.OK, Reason.WITHIN_NOISE, delta=0.01)
SUSPECT = Verdict(VerdictKind.UNDECIDED, Reason.SUSPECT, is_suspect=True, delta=0.1)
DECIDED = Verdict(VerdictKind.REGRESSION, Reason.CHANGED, delta=0.1)
START = datetime(2026, 3, 1, tzinfo=UTC)


def result(day: int, verdict: Verdict = SUSPECT, *, after: bool = False, before: bool = False) -> ControlResult:
    """A result whose neighbours ``before`` and ``after`` are flagged too."""
    when = START + timedelta(days=day)
    return ControlResult(str(day), when, verdict, "new", "old" if day == 3 else "new", before, after)


def control(*flagged: ControlResult) -> Control:
    return Control(SERIES, 30, result(30, OK), flagged)


def test_a_control_without_suspects_did_not_move() -> None:
    quiet = control()
    assert quiet.moves == ()
    assert quiet.largest is None
    assert quiet.onset is None


def test_a_suspect_that_stands_alone_is_no_move() -> None:
    alone = control(result(3))
    assert alone.moves == ()
    assert alone.largest == result(3)


@pytest.mark.parametrize("kind", [VerdictKind.REGRESSION, VerdictKind.IMPROVEMENT])
def test_a_decided_change_is_a_move_though_it_stands_alone(kind: VerdictKind) -> None:
    decided = result(3, replace(DECIDED, kind=kind))
    assert control(decided).moves == (decided,)


def test_a_move_begins_with_the_first_suspect_in_a_row() -> None:
    large = replace(SUSPECT, delta=-0.2)
    row = (result(3, after=True), result(4, large, before=True, after=True), result(5, before=True))
    moving = control(result(1, replace(SUSPECT, delta=0.5)), *row)
    assert moving.moves == row
    assert moving.largest == row[1]
    assert moving.onset == row[0]
    assert row[0].is_new_software
    assert not row[1].is_new_software


def test_the_first_result_has_no_software_before_it() -> None:
    assert not replace(result(3), before=None).is_new_software
