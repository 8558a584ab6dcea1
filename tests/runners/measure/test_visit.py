"""A visit: what a set-up returned is timed, or its mistake is named."""

from typing import cast

import pytest

from perfdb.domain.case import Case
from runners.measure.visit import launch_of
from suites.registry import Benchmark, Call, Launch, no_cost


def declared(returned: object) -> Benchmark:
    """A benchmark whose set-up returns this."""
    return Benchmark(
        "my_relu", "m", lambda case: cast(Call, returned), (Case(()),), "eager", no_cost, None, 1e-4, (), False, None
    )


def test_a_function_is_what_is_timed() -> None:
    def call() -> int:
        return 6

    assert launch_of(declared(call), Case(())).call is call
    launch = Launch(call)
    assert launch_of(declared(launch), Case(())) is launch


def test_a_result_instead_of_a_function_is_named() -> None:
    with pytest.raises(TypeError, match=r"my_relu returned a list and not what is to be timed: return a function"):
        launch_of(declared([1.0]), Case(()))
