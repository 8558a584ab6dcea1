"""Noise: the relative spread of a quiet series, robust to single outliers, on logarithms of its values."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from perfdb.domain.metric import Metric

Floats = NDArray[np.float64]

#: No timer, buffer or clock repeats better than this for long: 0.05 % (docs/method.md, noise).
LEAST_NOISE = 5e-4
#: Scales the median absolute deviation of a normal distribution to its standard deviation.
MAD_TO_SIGMA = 1.4826
WINSOR_MADS = 3.0
#: Errors against the reference below this are those of one rounding: they count as equal.
SMALLEST_VALUE = 1e-8
#: exp of more is no float.
LARGEST_SHIFT = 700.0


def logs(values: Iterable[float]) -> Floats:
    """Natural logarithms of the finite values; values at or below 0 (an error of exactly 0) count as 1e-8."""
    array = np.array([value for value in values if math.isfinite(value)], dtype=np.float64)
    return np.log(np.maximum(array, SMALLEST_VALUE))


def relative_delta(metric: Metric, shift: float) -> float:
    """A shift of logarithms as relative change, positive = worse."""
    return metric.slowdown(1.0, math.exp(min(shift, LARGEST_SHIFT)))


def relative_size(shift: float) -> float:
    """The size of an upward shift of logarithms as relative change."""
    return math.expm1(min(shift, LARGEST_SHIFT))


def mad_sigma(residuals: Floats) -> float:
    """Standard deviation by the median absolute deviation from 0; 0 for no residuals."""
    return MAD_TO_SIGMA * float(np.median(np.abs(residuals))) if residuals.size else 0.0


def relative_noise(log_values: Floats) -> float:
    """max(MAD scale, standard deviation winsorised at 3 MAD, 0.05 %) around the median."""
    if log_values.size < 2:
        return LEAST_NOISE
    residuals = log_values - np.median(log_values)
    scale = mad_sigma(residuals)
    bound = WINSOR_MADS * max(scale, LEAST_NOISE)
    winsorised = float(np.sqrt(np.mean(np.clip(residuals, -bound, bound) ** 2)))
    return max(scale, winsorised, LEAST_NOISE)
