"""The alert tier: what makes a suspect, what does not, and what is said meanwhile."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from perfdb.analysis.judge import earlier, judge_later, judge_value
from perfdb.domain.case import Case
from perfdb.domain.commit import CodeState, Commit
from perfdb.domain.history import Point, Series, SeriesHistory
from perfdb.domain.metric import LATENCY, RELATIVE_ERROR, Metric
from perfdb.domain.verdict import Reason, Verdict, VerdictKind

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def series(metric: Metric = LATENCY, floor: float | None = None) -> Series:
    return Series("0" * 32, "r", "b", Case.of(), "eager", "cpu", metric, "h", "h", floor=floor)


def point(value: float, position: int | None, *, spread: float = 0.0, state: CodeState = CodeState.COMMITTED) -> Point:
    place = position or 0
    commit = Commit(f"{place:040x}", (), position, EPOCH, "s")
    values = (value * (1 - spread / 2), value, value * (1 + spread / 2))
    return Point(f"run {place:04} {state}", EPOCH + timedelta(hours=place), value, values, state, commit, "e")


def quiet(count: int) -> list[Point]:
    """Values 99, 100, 101 in turn: a noise of 1.4826 times about 1 %."""
    return [point(100 + (n % 3 - 1), n) for n in range(1, count + 1)]


def judged(value: float, before: list[Point], spread: float = 0.0) -> Verdict:
    return judge_value(series(), before, point(value, 1000, spread=spread))


def test_a_value_like_the_others_is_ok() -> None:
    verdict = judged(100.0, quiet(30))
    assert (verdict.kind, verdict.reason, verdict.is_suspect) == (VerdictKind.OK, Reason.WITHIN_NOISE, False)
    assert verdict.delta == pytest.approx(0.0, abs=1e-12)
    assert verdict.baseline is not None
    assert verdict.baseline.level == pytest.approx(100.0)
    assert verdict.baseline.count == 30


def test_a_jump_of_ten_percent_is_a_suspect_and_not_yet_a_regression() -> None:
    verdict = judged(110.0, quiet(30))
    assert (verdict.kind, verdict.reason, verdict.is_suspect) == (VerdictKind.UNDECIDED, Reason.SUSPECT, True)
    assert verdict.delta == pytest.approx(0.10)


def test_a_jump_to_faster_is_a_suspect_with_a_negative_delta() -> None:
    verdict = judged(90.0, quiet(30))
    assert verdict.is_suspect
    assert verdict.delta == pytest.approx(-0.10)


def test_a_creeping_level_is_a_suspect_although_no_value_jumps() -> None:
    crept = [point(102.4, n) for n in range(31, 36)]
    verdict = judged(102.4, quiet(30) + crept)
    assert verdict.is_suspect
    assert verdict.delta is not None
    assert verdict.delta < 0.03


def test_fewer_than_fifteen_results_say_how_many_are_missing() -> None:
    verdict = judged(200.0, quiet(12))
    assert (verdict.kind, verdict.reason, verdict.missing) == (VerdictKind.UNDECIDED, Reason.SHORT_HISTORY, 3)
    assert judged(200.0, []).missing == 15


def test_a_run_whose_processes_differ_by_more_than_a_fifth_says_nothing() -> None:
    assert judged(150.0, quiet(30), spread=0.21).reason is Reason.MACHINE_TOO_NOISY
    assert judged(100.0, quiet(30), spread=0.19).reason is Reason.WITHIN_NOISE


def test_uncommitted_results_form_no_baseline() -> None:
    dirty = [point(100.0, n, state=CodeState.DIRTY) for n in range(1, 31)]
    assert judged(100.0, dirty).missing == 15


def test_a_lasting_change_starts_a_new_segment() -> None:
    after = [point(120 + (n % 3 - 1), n) for n in range(41, 61)]
    verdict = judged(120.0, quiet(40) + after)
    assert verdict.baseline is not None
    assert verdict.baseline.level == pytest.approx(120.0)
    assert verdict.baseline.count == 20
    assert verdict.kind is VerdictKind.OK


def test_a_change_below_a_declared_floor_is_ok() -> None:
    verdict = judge_value(series(floor=0.15), quiet(30), point(110.0, 1000))
    assert (verdict.kind, verdict.reason, verdict.floor) == (VerdictKind.OK, Reason.BELOW_FLOOR, 0.15)


def test_an_error_may_double_before_it_counts() -> None:
    before = [point(1e-6, n) for n in range(1, 31)]
    errors = series(RELATIVE_ERROR)
    assert judge_value(errors, before, point(1.9e-6, 1000)).kind is VerdictKind.OK
    assert judge_value(errors, before, point(2.1e-6, 1000)).is_suspect


def test_every_verdict_says_what_it_would_have_seen() -> None:
    noisy, calm = quiet(30), [point(100 + (n % 3 - 1) / 10, n) for n in range(1, 31)]
    assert (judged(100.0, noisy).smallest_detectable or 0) > (judged(100.0, calm).smallest_detectable or 0) >= 0.005


def test_only_what_lies_before_a_result_judges_it() -> None:
    points = quiet(5)
    assert earlier(points, points[2]) == points[:2]


def test_a_result_without_a_place_is_judged_by_what_was_measured_before_it() -> None:
    points = quiet(5)
    unplaced = Point("u", EPOCH + timedelta(hours=3), 1.0, (1.0,), CodeState.UNVERSIONED, None, "e")
    assert earlier([*points, unplaced], unplaced) == points[:2]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_not_comparable(value: float) -> None:
    verdict = judged(value, quiet(30))
    assert (verdict.kind, verdict.reason, verdict.delta) == (VerdictKind.UNDECIDED, Reason.NOT_COMPARABLE, None)
    assert judged(100.0, [*quiet(30), point(value, 31)]).baseline == judged(100.0, quiet(30)).baseline


@pytest.mark.parametrize(("value", "before"), [(0.0, 1e300), (1e300, 1e-300), (-1.0, 100.0)])
def test_the_most_extreme_jump_is_a_suspect(value: float, before: float) -> None:
    assert judged(value, [point(before, n) for n in range(1, 31)]).is_suspect


def test_one_earlier_result_gives_a_change_but_no_interval() -> None:
    verdict = judged(110.0, [point(100.0, 1)])
    assert verdict.delta == pytest.approx(0.10)
    assert (verdict.low, verdict.high, verdict.smallest_detectable, verdict.missing) == (None, None, None, 14)


def test_the_fewer_results_the_wider_the_interval() -> None:
    few, many = judged(100.0, quiet(6)), judged(100.0, quiet(60))
    assert (few.high or 0) > (many.high or 0) > 0.02


def test_a_value_that_is_back_at_its_level_is_ok_although_the_sum_has_not_come_down() -> None:
    high = [point(103.0, n) for n in range(31, 36)]
    assert judged(103.0, quiet(30) + high).is_suspect
    back = judged(100.0, quiet(30) + high)
    assert (back.kind, back.reason) == (VerdictKind.OK, Reason.BELOW_FLOOR)
    assert back.delta == pytest.approx(0.0, abs=1e-12)


def test_a_speedup_is_held_against_the_floor_as_it_is_shown() -> None:
    verdict = judge_value(series(floor=0.10), quiet(30), point(90.5, 1000))
    assert (verdict.kind, verdict.reason) == (VerdictKind.OK, Reason.BELOW_FLOOR)
    assert verdict.delta == pytest.approx(-0.095)


def test_accuracy_is_judged_however_much_the_processes_differ() -> None:
    before = [point(1e-6, n) for n in range(1, 31)]
    verdict = judge_value(series(RELATIVE_ERROR), before, point(1e-6, 1000, spread=0.5))
    assert verdict.reason is Reason.WITHIN_NOISE


def judged_again(points: list[Point], run_id: str) -> dict[str, Verdict]:
    """The verdicts that a late ``run_id`` changes where every point was judged."""
    return judge_later(SeriesHistory(series(), tuple(points)), run_id, {each.run_id for each in points})


def test_a_late_result_has_those_after_it_judged_again() -> None:
    points = quiet(20)
    again = judged_again(points, points[15].run_id)
    assert list(again) == [each.run_id for each in points[16:]]
    assert again[points[19].run_id] == judge_value(series(), points[:19], points[19])


def test_a_late_result_is_forgotten_a_hundred_results_on() -> None:
    points = quiet(110)
    again = judged_again(points, points[3].run_id)
    assert list(again) == [each.run_id for each in points[4:104]]


def test_a_late_result_of_uncommitted_code_changes_nothing() -> None:
    points = quiet(20)
    points[4] = point(100.0, 5, state=CodeState.DIRTY)
    assert judged_again(points, points[4].run_id) == {}


def test_what_was_never_judged_is_not_judged_again() -> None:
    points = quiet(20)
    assert judge_later(SeriesHistory(series(), tuple(points)), points[4].run_id, set()) == {}


def test_results_three_hundred_orders_apart_overflow_nothing() -> None:
    verdict = judged(0.0, [point(1e300, 1), point(100.0, 2)])
    assert verdict.reason is Reason.SHORT_HISTORY
    assert math.isfinite(verdict.smallest_detectable or math.inf)
