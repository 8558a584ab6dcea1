import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from perfdb.domain.case import Outcome
from runners.measure.correctness import WrongResultError
from runners.measure.guarded import Ending, guarded
from runners.measure.text import LONGEST_LINE, one_line

TREE = Path(__file__).parent


def raising(error: BaseException) -> Callable[[], object]:
    def visit() -> object:
        raise error

    return visit


def test_a_value_passes() -> None:
    assert guarded(lambda: 42, TREE) == 42


def test_an_exception_is_one_line_with_type_message_and_place() -> None:
    ending = guarded(raising(ValueError("two\nlines")), TREE)
    assert isinstance(ending, Ending)
    assert ending.outcome is Outcome.FAILED
    assert ending.detail.startswith("ValueError: two lines (test_guarded.py:")


def test_the_place_is_in_the_code_under_test_even_when_a_library_raised() -> None:
    ending = guarded(lambda: torch.ones(2) @ torch.ones(3), TREE)
    assert isinstance(ending, Ending)
    assert "(test_guarded.py:" in ending.detail


@pytest.mark.parametrize("code", [0, 3, None])
def test_sys_exit_names_its_code(code: int | None) -> None:
    ending = guarded(lambda: sys.exit(code), TREE)
    assert isinstance(ending, Ending)
    assert ending.outcome is Outcome.FAILED
    assert f"sys.exit with code {code or 0}" in ending.detail


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
        RuntimeError("std::bad_alloc"),
        RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
    ],
)
def test_a_failed_allocation_is_out_of_memory(error: BaseException) -> None:
    ending = guarded(raising(error), TREE)
    assert isinstance(ending, Ending)
    assert ending.outcome is Outcome.OUT_OF_MEMORY


def test_torch_without_memory_is_out_of_memory() -> None:
    ending = guarded(lambda: torch.empty(2**55), TREE)
    assert isinstance(ending, Ending)
    assert ending.outcome is Outcome.OUT_OF_MEMORY


def test_a_wrong_result_is_an_outcome_of_its_own() -> None:
    assert guarded(raising(WrongResultError("off by 2")), TREE) == Ending(Outcome.WRONG_RESULT, "off by 2")


def test_an_endless_message_is_cut_and_made_storable() -> None:
    line = one_line("a\0b \udcff " + "x" * 1000)
    assert line.startswith("a b ? x")
    assert len(line) == LONGEST_LINE
