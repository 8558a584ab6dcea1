"""Guarded: run one case's code and turn whatever it raises into an ending. The worker's only broad catch."""

import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from perfdb.domain.case import Outcome
from runners.measure.correctness import WrongResultError
from runners.measure.text import one_line

T = TypeVar("T")

#: What torch and the C++ runtime say when an allocation fails and the exception's type does not tell.
MEMORY_WORDS = ("can't allocate memory", "not enough memory", "out of memory", "bad_alloc", "cannot allocate memory")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a case ended that gave no numbers: the outcome and one line for people."""

    outcome: Outcome
    detail: str


def guarded(visit: Callable[[], T], tree: Path) -> T | Ending:
    """The value of ``visit``, or the ending that its exception means; ``tree`` is where the code under test lies."""
    try:
        return visit()
    except WrongResultError as error:
        return Ending(Outcome.WRONG_RESULT, one_line(str(error)))
    except BaseException as error:  # noqa: BLE001 - a case may raise anything, and the cases after it still count
        return ending_of(error, tree)


def ending_of(error: BaseException, tree: Path) -> Ending:
    """The ending that an exception means."""
    if is_unsupported(error):
        return Ending(Outcome.UNSUPPORTED, one_line(str(error)))
    if isinstance(error, SystemExit):
        return Ending(Outcome.FAILED, f"called sys.exit with code {_exit_code(error)}{_place(error, tree)}")
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    if isinstance(error, MemoryError) or any(word in text.lower() for word in MEMORY_WORDS):
        return Ending(Outcome.OUT_OF_MEMORY, one_line(text) + _place(error, tree))
    return Ending(Outcome.FAILED, one_line(text) + _place(error, tree))


def is_unsupported(error: BaseException) -> bool:
    """Whether the benchmark said that this machine cannot run the case."""
    registry = sys.modules.get("suites.registry")
    return registry is not None and isinstance(error, registry.UnsupportedError)


def _exit_code(error: SystemExit) -> object:
    return 0 if error.code is None else one_line(str(error.code))


def _place(error: BaseException, tree: Path) -> str:
    """`` (file:line)`` of the innermost frame in the code under test, else of the innermost frame."""
    frames = [(Path(f.filename), f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append((Path(error.filename), error.lineno))
    places = [(file.resolve(), line) for file, line in frames]
    inside = [(file.relative_to(tree), line) for file, line in places if file.is_relative_to(tree)]
    nearest = inside or [(Path(file.name), line) for file, line in places]
    return f" ({nearest[-1][0]}:{nearest[-1][1]})" if nearest else ""
