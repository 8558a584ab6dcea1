from datetime import UTC, datetime
from io import StringIO

from rich.console import Console

from perfdb.domain.case import Case, Outcome
from perfdb.domain.run import CaseResult
from runners.measure.messages import CaseKey
from runners.measure.visit_parts import FIRST_CALL, TIMING
from runners.progress import Display

COMPILED = CaseKey("fake_quant", "compiled", Case.of(m=1))
EAGER = CaseKey("fake_quant", "eager", Case.of(m=1))


def display() -> tuple[Display, StringIO]:
    told = StringIO()
    return Display(Console(file=told, force_terminal=False, width=200)), told


def test_compiling_has_one_line_of_its_own_and_only_one() -> None:
    shown, told = display()
    for key in (COMPILED, EAGER, COMPILED):
        for part in (FIRST_CALL, TIMING):
            shown.at(key, part)
    assert told.getvalue() == "compiling fake_quant[m=1] compiled: takes a while the first time only\n"


def test_outside_of_a_terminal_there_are_only_quiet_lines() -> None:
    shown, told = display()
    with shown:
        shown.expect(2)
        shown.begin_process(0, 3, 2)
        shown.finish(CaseResult("a", Case.of(m=1), "eager", 0, Outcome.MEASURED, datetime.now(UTC)))
    assert told.getvalue() == "process 1 of 3: 2 cases\n"


def test_a_case_without_numbers_is_named_at_once() -> None:
    shown, told = display()
    shown.finish(CaseResult("a", Case.of(m=1), "eager", 0, Outcome.TIMED_OUT, datetime.now(UTC), detail="too slow"))
    assert told.getvalue() == "a[m=1] eager: timed out: too slow\n"
