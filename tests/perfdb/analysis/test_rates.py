"""Rates of the alert tier on seeded noise: false suspects, and shifts that are found. docs/method.md quotes them."""

import numpy as np
import pytest

from perfdb.analysis.baseline import Segment
from perfdb.analysis.judge import judge_segment
from perfdb.analysis.noise import relative_noise
from perfdb.domain.case import Case
from perfdb.domain.history import Series
from perfdb.domain.metric import LATENCY

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
    [(15, 0, 0.0, 0.02), (30, 0, 0.0, 0.012), (100, 0, 0.0, 0.008), (100, 3, 0.40, 0.60), (100, 5, 0.94, 1.0)],
)
def test_suspects_are_as_frequent_as_the_method_says(results: int, shift: float, least: float, most: float) -> None:
    share = share_of_suspects(results, shift)
    print(f"{results} results, shift of {shift} sigma: {share:.2%} suspects")  # noqa: T201 - quoted in docs/method.md
    assert least <= share <= most
