"""Change points: found where they are, and nowhere else."""

import numpy as np
import pytest

from perfdb.analysis.change_points import change_points, separation
from perfdb.analysis.partition import split


def noise(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.01, count)


def test_a_partition_splits_where_two_levels_meet() -> None:
    assert split(np.array([0.0] * 5 + [10.0] * 5), price=24, shortest=3) == [5]
    assert split(np.array([0.0] * 10), price=24, shortest=3) == []


def test_a_step_is_found_at_its_place() -> None:
    values = noise(200)
    values[120:] += 0.04
    assert change_points(values) == [120]


def test_two_steps_are_found() -> None:
    values = noise(300)
    values[100:] += 0.05
    values[200:] -= 0.08
    assert change_points(values) == [100, 200]


@pytest.mark.parametrize("seed", range(40))
def test_noise_alone_stays_quiet(seed: int) -> None:
    assert change_points(noise(150, seed)) == []


def test_an_excursion_that_went_away_is_no_change() -> None:
    values = noise(100)
    values[40:46] += 0.2
    assert change_points(values) == []


def test_one_outlier_is_no_change() -> None:
    values = noise(100)
    values[50] += 3.0
    assert change_points(values) == []


def test_a_change_of_less_than_half_a_percent_is_not_worth_a_word() -> None:
    values = noise(200) / 100
    values[100:] += 0.004
    assert change_points(values) == []


def test_a_noiseless_step_is_found() -> None:
    assert change_points(np.array([0.0] * 20 + [0.02] * 20)) == [20]


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 7, [1.0] * 50])
def test_short_and_constant_series_have_no_change(values: list[float]) -> None:
    assert change_points(np.array(values)) == []


def test_separation_is_the_share_of_ordered_pairs() -> None:
    assert separation(np.array([1.0, 2.0]), np.array([3.0, 4.0])) == 1.0
    assert separation(np.array([3.0, 4.0]), np.array([1.0, 2.0])) == 1.0
    assert separation(np.array([1.0, 1.0]), np.array([1.0, 1.0])) == 0.5
    assert separation(np.array([1.0, 3.0]), np.array([2.0, 4.0])) == 0.75


def test_many_steps_are_all_found() -> None:
    levels = np.repeat([0.0, 0.2, 0.1, 0.3, 0.15, 0.4], 20)
    assert change_points(levels + noise(120)) == [20, 40, 60, 80, 100]


def test_two_values_in_random_turn_have_no_change() -> None:
    assert change_points(np.random.default_rng(1).choice([0.0, 0.2], 400) + noise(400)) == []
