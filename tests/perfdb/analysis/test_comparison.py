"""Two runs by their processes: what is called a change, what is not, and what cannot be told."""

from datetime import UTC, datetime

import numpy as np
import pytest

from perfdb.analysis.comparison import MOST_PRIOR_DF, Prior, compare_points, prior_of
from perfdb.domain.case import Case
from perfdb.domain.commit import CodeState
from perfdb.domain.history import Point, Series
from perfdb.domain.metric import LATENCY
from perfdb.domain.verdict import Reason, VerdictKind

SERIES = Series("0" * 32, "r", "b", Case.of(), "eager", "cpu", LATENCY, "h", "h")


def point(*values: float) -> Point:
    middle = sorted(values)[len(values) // 2]
    return Point("run", datetime(2026, 1, 1, tzinfo=UTC), middle, values, CodeState.COMMITTED, None, "e")


def test_a_clear_slowdown_is_a_regression() -> None:
    verdict = compare_points(SERIES, point(100, 101, 99), point(120, 121, 119))
    assert (verdict.kind, verdict.reason) == (VerdictKind.REGRESSION, Reason.CHANGED)
    assert verdict.delta == pytest.approx(0.20, abs=0.001)
    assert (verdict.low or 1) < 0.20 < (verdict.high or 0)


def test_a_clear_speedup_is_an_improvement() -> None:
    verdict = compare_points(SERIES, point(120, 121, 119), point(100, 101, 99))
    assert verdict.kind is VerdictKind.IMPROVEMENT
    assert verdict.delta == pytest.approx(-1 / 6, abs=0.001)


def test_the_same_values_are_ok() -> None:
    verdict = compare_points(SERIES, point(100, 101, 99), point(99, 100, 101))
    assert (verdict.kind, verdict.reason) == (VerdictKind.OK, Reason.WITHIN_NOISE)


def test_a_sure_change_below_the_floor_is_ok() -> None:
    verdict = compare_points(SERIES, point(100, 100.1, 99.9), point(105, 105.1, 104.9))
    assert (verdict.kind, verdict.reason, verdict.floor) == (VerdictKind.OK, Reason.BELOW_FLOOR, 0.10)


def test_an_interval_that_holds_nothing_and_the_floor_is_undecided() -> None:
    verdict = compare_points(SERIES, point(100, 108, 93), point(106, 115, 99))
    assert (verdict.kind, verdict.reason) == (VerdictKind.UNDECIDED, Reason.INTERVAL_HOLDS_BOTH)


def test_one_process_a_side_is_too_few() -> None:
    assert compare_points(SERIES, point(100), point(200, 201, 202)).reason is Reason.TOO_FEW_PROCESSES


def test_processes_that_differ_by_more_than_a_fifth_are_the_machines_doing() -> None:
    assert compare_points(SERIES, point(100, 125, 101), point(200, 201, 202)).reason is Reason.MACHINE_TOO_NOISY


def test_values_without_any_spread_divide_by_nothing() -> None:
    assert compare_points(SERIES, point(100, 100, 100), point(100, 100, 100)).kind is VerdictKind.OK
    assert compare_points(SERIES, point(100, 100, 100), point(130, 130, 130)).kind is VerdictKind.REGRESSION


def test_a_quiet_history_lowers_the_floor_and_the_smallest_detectable_change() -> None:
    base, head = point(100, 100.4, 99.6), point(104, 104.4, 103.6)
    without = compare_points(SERIES, base, head)
    with_history = compare_points(SERIES, base, head, Prior(0.002**2, 8.0), noise=0.003)
    assert without.kind is VerdictKind.OK
    assert with_history.kind is VerdictKind.REGRESSION
    assert (with_history.smallest_detectable or 1) < (without.smallest_detectable or 0)


def test_the_prior_finds_the_variance_that_history_shows() -> None:
    random = np.random.default_rng(3)
    runs = [tuple(100 * np.exp(random.normal(0, 0.02, 3))) for _ in range(200)]
    prior = prior_of(runs)
    assert prior is not None
    assert prior.variance**0.5 == pytest.approx(0.02, rel=0.15)
    assert 4 < prior.df <= MOST_PRIOR_DF


def test_a_variance_that_varies_much_is_worth_few_degrees_of_freedom() -> None:
    random = np.random.default_rng(3)
    runs = [tuple(100 * np.exp(random.normal(0, 0.02 * 7 ** random.uniform(-1, 1), 3))) for _ in range(200)]
    prior = prior_of(runs)
    assert prior is not None
    assert prior.df < 3


def test_fewer_than_five_runs_are_no_prior() -> None:
    assert prior_of([(1, 2, 3)] * 4) is None
    assert prior_of([(1,)] * 40) is None


def test_false_changes_of_equal_runs_are_rare() -> None:
    random = np.random.default_rng(5)
    kinds = [
        compare_points(
            SERIES, point(*np.exp(random.normal(0, 0.05, 3))), point(*np.exp(random.normal(0, 0.05, 3)))
        ).kind
        for _ in range(1500)
    ]
    changed = sum(kind in (VerdictKind.REGRESSION, VerdictKind.IMPROVEMENT) for kind in kinds)
    assert changed / len(kinds) < 0.01


def test_a_sure_change_below_the_floor_is_ok_although_its_interval_reaches_the_floor() -> None:
    verdict = compare_points(SERIES, point(100, 101, 99), point(108, 109, 107))
    assert (verdict.kind, verdict.reason) == (VerdictKind.OK, Reason.BELOW_FLOOR)
    assert (verdict.low or 0) > 0
    assert (verdict.high or 0) > 0.10


def test_one_process_a_side_still_shows_the_change() -> None:
    verdict = compare_points(SERIES, point(100), point(110))
    assert (verdict.kind, verdict.reason) == (VerdictKind.UNDECIDED, Reason.TOO_FEW_PROCESSES)
    assert verdict.delta == pytest.approx(0.10)
    assert (verdict.low, verdict.high, verdict.smallest_detectable) == (None, None, None)


def test_one_process_a_side_has_an_interval_where_history_tells_the_noise() -> None:
    verdict = compare_points(SERIES, point(100), point(110), Prior(0.01**2, 8.0))
    assert verdict.reason is Reason.TOO_FEW_PROCESSES
    assert (verdict.low or 1) < 0.10 < (verdict.high or 0)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_process_without_a_number_is_left_out(value: float) -> None:
    verdict = compare_points(SERIES, point(100, 101, 99), point(120, value, 121))
    assert verdict.kind is VerdictKind.REGRESSION
    assert compare_points(SERIES, point(100, 101, 99), point(value, value)).reason is Reason.TOO_FEW_PROCESSES
    assert prior_of([(value, 100)] * 40) is None
    assert prior_of([(99, 100, 101)] * 10 + [(value, value, 100)]) == prior_of([(99, 100, 101)] * 10)


def test_equal_variances_are_worth_the_most_degrees_of_freedom() -> None:
    prior = prior_of([(99, 100, 101)] * 10)
    assert prior is not None
    assert prior.df == MOST_PRIOR_DF
