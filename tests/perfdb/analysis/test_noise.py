"""Noise, on values checkable by hand."""

import numpy as np
import pytest

from perfdb.analysis.noise import LEAST_NOISE, logs, mad_sigma, relative_noise


def test_the_median_absolute_deviation_is_scaled_to_a_standard_deviation() -> None:
    assert mad_sigma(np.array([-2.0, -1.0, 0.0, 1.0, 2.0])) == pytest.approx(1.4826)


def test_one_huge_outlier_does_not_swell_the_noise() -> None:
    quiet = np.array([0.01, 0.0, -0.01] * 14)
    assert relative_noise(np.append(quiet, 50.0)) < 1.5 * relative_noise(quiet)


def test_a_constant_series_keeps_the_least_noise() -> None:
    assert relative_noise(np.zeros(20)) == LEAST_NOISE
    assert relative_noise(np.zeros(0)) == LEAST_NOISE


def test_values_that_are_no_numbers_are_left_out_and_zero_errors_are_equal() -> None:
    assert logs([1.0, float("nan"), float("inf")]).tolist() == [0.0]
    assert logs([0.0])[0] == logs([1e-9])[0]
