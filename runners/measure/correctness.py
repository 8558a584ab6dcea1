"""Correctness: the distance of what a case computed from its float64 reference."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Outputs = Mapping[str, Array]

#: The name of an output that has none.
SINGLE = "result"


class WrongResultError(Exception):
    """The case computed something else than its reference; the message says by how much."""


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What the results of one case are held against; ``expected`` is None for a benchmark without a reference."""

    expected: Outputs | None
    tolerance: float

    def error_of(self, value: object, when: str = "") -> float | None:
        """The relative error of what a call computed; None without a reference.

        Raises ``WrongResultError`` when it holds NaN or exceeds the tolerance; ``when`` names the moment of the visit.
        """
        if self.expected is None:
            refuse_nan(_numbers_in(value), when)
            return None
        error = relative_error(named_arrays(value), self.expected)
        check_error(error, self.tolerance, when)
        return error


def named_arrays(value: object) -> Outputs:
    """Outputs by name in float64: a mapping's own names, the position in a tuple or list of tensors, else one result.

    Raises ``TypeError`` for what holds no numbers.
    """
    if isinstance(value, Mapping):
        return {str(name): _array(part) for name, part in value.items()}
    if isinstance(value, tuple | list) and any(hasattr(part, "shape") for part in value):
        return {str(position): _array(part) for position, part in enumerate(value)}
    return {SINGLE: _array(value)}


def relative_error(outputs: Outputs, reference: Outputs) -> float:
    """The largest relative L2 distance over the reference's outputs, ``|a - r| / |r|`` (``|a|`` where r is 0).

    Raises ``WrongResultError`` for NaN, a missing output or another shape.
    """
    return max(_distance(name, outputs.get(name), expected) for name, expected in reference.items())


def refuse_nan(outputs: Outputs, when: str = "") -> None:
    """Raise ``WrongResultError`` when an output holds NaN."""
    for name, array in outputs.items():
        if np.isnan(array).any():
            raise WrongResultError(
                f"{name} holds NaN in {np.isnan(array).sum()} of {array.size} values {when}".rstrip()
            )


def check_error(error: float, tolerance: float, when: str) -> None:
    """Raise ``WrongResultError`` when the error exceeds the tolerance; ``when`` says at which moment of the visit."""
    if not error <= tolerance:
        raise WrongResultError(f"relative error {error:.3g} exceeds the tolerance {tolerance:.3g} {when}".rstrip())


def _distance(name: str, output: Array | None, expected: Array) -> float:
    if output is None:
        raise WrongResultError(f"{name} is in the reference and was not computed")
    if output.shape != expected.shape:
        raise WrongResultError(f"{name} has shape {output.shape}, the reference {expected.shape}")
    refuse_nan({name: output})
    if not np.isfinite(output).all():
        raise WrongResultError(f"{name} holds infinity in {np.isinf(output).sum()} of {output.size} values")
    size = float(np.linalg.norm(expected))
    return float(np.linalg.norm(output - expected)) / (size or 1.0)


def _array(value: Any) -> Array:  # noqa: ANN401 - whatever a benchmark returns
    if hasattr(value, "detach"):
        value = value.detach().double().cpu().numpy()
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"the result is {type(value).__name__}, not numbers; let Launch(outputs=...) return tensors")
    return array.astype(np.float64)


def _numbers_in(value: object) -> Outputs:
    """The outputs, or nothing for a call that returns no numbers."""
    with suppress(TypeError, ValueError):
        return named_arrays(value)
    return {}
