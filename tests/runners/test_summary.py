from collections.abc import Callable

import pytest
from rich.console import Console

from perfdb.domain.case import Case, Outcome
from perfdb.domain.run import Run
from runners.measure.messages import CaseKey
from runners.summary import rows_of, table_of

MATMUL, BAD = CaseKey("matmul", "eager", Case.of(m=1)), CaseKey("bad", "eager", Case.of(m=1))


def test_a_row_is_the_median_and_the_spread_over_processes(make_run: Callable[..., Run]) -> None:
    (row,) = rows_of(make_run([90.0, 100.0, 120.0]), {MATMUL: 1e-5})
    assert row.latency_us == 100.0
    assert row.spread == pytest.approx(0.3)


def test_a_case_that_failed_is_no_number(make_run: Callable[..., Run]) -> None:
    run = make_run(outcomes={"bad": Outcome.FAILED})
    good, bad = rows_of(run, {MATMUL: None, BAD: None})
    assert (good.outcome, bad.outcome) == (Outcome.MEASURED, Outcome.FAILED)
    assert bad.latency_us is None
    assert bad.detail == "bad ended as failed"


@pytest.mark.parametrize(
    ("value", "text"), [(0.0158, "15.8 ns"), (2.137, "2.14 µs"), (1571.0, "1.57 ms"), (2.5e6, "2.50 s")]
)
def test_every_latency_has_its_unit(value: float, text: str, make_run: Callable[..., Run]) -> None:
    console = Console(width=120, record=True, quiet=False, file=None, force_terminal=False)
    with console.capture() as told:
        console.print(table_of(rows_of(make_run(value), {MATMUL: 1e-5}), "smoke"))
    assert text in told.get()
    assert "matmul[m=1]" in told.get()
