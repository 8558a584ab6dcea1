import numpy as np
import pytest
import torch

from runners.measure.correctness import WrongResultError, Yardstick, named_arrays, relative_error


def test_the_error_is_the_relative_l2_distance() -> None:
    # |(3, 4.5) - (3, 4)| / |(3, 4)| = 0.5 / 5
    assert relative_error(named_arrays([3.0, 4.5]), named_arrays([3.0, 4.0])) == pytest.approx(0.1)


def test_the_worst_output_counts() -> None:
    outputs = {"y": torch.tensor([1.0]), "grad": torch.tensor([2.0])}
    reference = {"y": torch.tensor([1.0]), "grad": torch.tensor([1.0])}
    assert relative_error(named_arrays(outputs), named_arrays(reference)) == 1.0


def test_the_distance_from_a_reference_of_zeros_is_absolute() -> None:
    assert relative_error(named_arrays([0.0, 3.0]), named_arrays([0.0, 0.0])) == 3.0


def test_low_precision_and_gradients_are_compared_in_float64() -> None:
    value = torch.ones(4, dtype=torch.bfloat16, requires_grad=True)
    assert named_arrays(value)["result"].dtype == np.float64


def test_outputs_of_a_tuple_of_tensors_are_named_by_position() -> None:
    assert set(named_arrays((torch.ones(2), torch.ones(3)))) == {"0", "1"}


def test_an_output_that_is_missing_is_a_wrong_result() -> None:
    with pytest.raises(WrongResultError, match="grad is in the reference"):
        relative_error(named_arrays({"y": [1.0]}), named_arrays({"grad": [1.0]}))


def test_another_shape_is_a_wrong_result() -> None:
    with pytest.raises(WrongResultError, match=r"shape \(2, 1\), the reference \(2,\)"):
        relative_error(named_arrays([[1.0], [2.0]]), named_arrays([1.0, 2.0]))


def test_nan_is_named_with_its_number() -> None:
    with pytest.raises(WrongResultError, match="result holds NaN in 1 of 2 values"):
        relative_error(named_arrays([1.0, float("nan")]), named_arrays([1.0, 2.0]))


def test_infinity_is_a_wrong_result() -> None:
    with pytest.raises(WrongResultError, match="infinity"):
        relative_error(named_arrays([float("inf")]), named_arrays([1.0]))


def test_an_error_at_the_tolerance_passes_and_one_above_it_does_not() -> None:
    yardstick = Yardstick(named_arrays([1.0]), 0.5)
    assert yardstick.error_of([1.5]) == 0.5
    with pytest.raises(WrongResultError, match=r"0\.6 exceeds the tolerance 0\.5 after timing"):
        yardstick.error_of([1.6], when="after timing")


def test_without_a_reference_only_nan_is_wrong() -> None:
    yardstick = Yardstick(None, 0.0)
    assert yardstick.error_of([1.0]) is None
    assert yardstick.error_of(None) is None
    assert yardstick.error_of("text") is None
    with pytest.raises(WrongResultError, match="NaN"):
        yardstick.error_of(torch.tensor([float("nan")]))


def test_a_result_without_numbers_is_explained() -> None:
    with pytest.raises(TypeError, match="NoneType, not numbers"):
        Yardstick(named_arrays([1.0]), 0.1).error_of(None)
