"""Rates of the alert tier on seeded noise: false suspects, and shifts that are found. docs/method.md quotes them."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from perfdb.analysis.baseline import FEWEST_RESULTS, Segment
from perfdb.analysis.change_points import change_points
from perfdb.analysis.comparison import compare_points, prior_of
from perfdb.analysis.judge import judge_segment, judge_value
from perfdb.analysis.noise import relative_noise
from perfdb.domain.case import Case
from perfdb.domain.commit import CodeState, Commit
from perfdb.domain.history import Point, Series
from perfdb.domain.metric import LATENCY
from perfdb.domain.verdict import Reason

SERIES = Series("0" * 32, "r", "b", Case.of(), "eager", "cpu", LATENCY, "h", "h")
DRAWS, SIGMA, FLOOR = 4000, 0.01, 0.005


def share_of_suspects(results: int, shift_sigmas: float) -> float:
    random = np.random.default_rng(1)
    suspects = 0
    for _ in range(DRAWS):
        values = random.normal(0, SIGMA, results)
        segment = Segment(values, float(np.median(values)), relative_noise(values))
        suspects += judge_segment(segment, random.normal(shift_sigmas * SIGMA, SIGMA), SERIES, FLOOR).is_suspect
    return suspects / DRAWS


@pytest.mark.parametrize(
    ("results", "shift", "least", "most"),
    [
        (15, 0, 0.0, 0.02),
        (30, 0, 0.0, 0.012),
        (100, 0, 0.0, 0.008),
        (15, 3, 0.40, 0.60),
        (30, 3, 0.40, 0.60),
        (100, 3, 0.40, 0.60),
        (15, 5, 0.90, 1.0),
        (30, 5, 0.93, 1.0),
        (100, 5, 0.94, 1.0),
    ],
)
def test_suspects_are_as_frequent_as_the_method_says(results: int, shift: float, least: float, most: float) -> None:
    share = share_of_suspects(results, shift)
    print(f"{results} results, shift of {shift} sigma: {share:.2%} suspects")  # noqa: T201 - quoted in docs/method.md
    assert least <= share <= most


def quiet_history(seed: int, count: int) -> list[Point]:
    """Independent normal noise of 1 %, one run an hour."""
    epoch = datetime(2026, 1, 1, tzinfo=UTC)
    values = 100 * np.exp(np.random.default_rng([seed, 7]).normal(0, SIGMA, count))
    return [
        Point(
            f"run {n}",
            epoch + timedelta(hours=n),
            float(value),
            (float(value),) * 3,
            CodeState.COMMITTED,
            Commit(f"{n:040x}", (), n, epoch, "s"),
            "e",
        )
        for n, value in enumerate(values, start=1)
    ]


def test_a_quiet_series_judged_result_by_result_has_few_suspects() -> None:
    suspects = judged = 0
    for seed in range(10):
        points = quiet_history(seed, 120)
        for index in range(FEWEST_RESULTS, len(points)):
            suspects += judge_value(SERIES, points[:index], points[index]).is_suspect
            judged += 1
    print(f"one by one: {suspects} suspects in {judged} results")  # noqa: T201 - quoted in docs/method.md
    assert judged == 1050
    assert suspects / judged < 0.015


@pytest.mark.parametrize(("results", "least"), [(3, 0.86), (5, 0.89), (8, 0.92), (15, 0.93), (100, 0.935)])
def test_intervals_hold_the_truth_as_often_as_the_method_says(results: int, least: float) -> None:
    random = np.random.default_rng(2)
    held = 0
    for _ in range(DRAWS):
        values = random.normal(0, SIGMA, results)
        segment = Segment(values, float(np.median(values)), relative_noise(values))
        verdict = judge_segment(segment, float(random.normal(0, SIGMA)), SERIES, FLOOR)
        held += (verdict.low or 0) <= 0 <= (verdict.high or 0)
    print(f"{results} results: {held / DRAWS:.1%} of intervals hold no change")  # noqa: T201 - quoted in docs/method.md
    assert held / DRAWS >= least


def processes(random: np.random.Generator, sigma: float) -> Point:
    values = tuple(float(value) for value in np.exp(random.normal(0, sigma, 3)))
    return Point("run", datetime(2026, 1, 1, tzinfo=UTC), sorted(values)[1], values, CodeState.COMMITTED, None, "e")


@pytest.mark.parametrize(("fold", "has_history"), [(1, False), (1, True), (7, False), (7, True)])
def test_equal_runs_are_called_different_as_rarely_as_the_method_says(fold: int, has_history: bool) -> None:
    random = np.random.default_rng(11)
    floorless = Series("0" * 32, "r", "b", Case.of(), "eager", "other", LATENCY, "h", "h", floor=0.0)
    significant = 0
    for _ in range(120):
        past = [processes(random, SIGMA * fold ** random.uniform(-0.5, 0.5)).process_values for _ in range(30)]
        prior = prior_of(past) if has_history else None
        for _ in range(25):
            sigma = SIGMA * fold ** random.uniform(-0.5, 0.5)
            verdict = compare_points(floorless, processes(random, sigma), processes(random, sigma), prior)
            significant += verdict.reason is Reason.CHANGED
    share = significant / 3000
    print(f"noise varies {fold}-fold, history {has_history}: {share:.2%} false changes")  # noqa: T201 - as above
    assert share < 0.02


def test_normal_noise_has_no_change_points() -> None:
    random = np.random.default_rng(4)
    changed = [bool(change_points(random.normal(0, SIGMA, 200))) for _ in range(200)]
    print(f"{sum(changed)} of 200 quiet series of 200 results have a change point")  # noqa: T201 - as above
    assert sum(changed) <= 1
