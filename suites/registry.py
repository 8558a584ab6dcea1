"""Registry: the ``@benchmark`` declaration, and finding what is declared. Imports no torch."""

import importlib
import importlib.util
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfdb.domain.case import Case, Cost

#: What a benchmark's reference gives: one tensor, or tensors by name, in float64.
Expected = object
Call = Callable[[], object]
#: Relative L2 error that float32 arithmetic stays well below; see ``suites.tolerance`` for the classes.
DEFAULT_TOLERANCE = 1e-4


class UnsupportedError(Exception):
    """Raised in set-up when this machine or stack cannot run the case; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What is timed, and what is compared with the reference.

    ``call`` contains the launch and nothing else: set-up lies outside of it. ``outputs`` gives what is compared;
    without it, that is what ``call`` returns.
    """

    call: Call
    outputs: Callable[[], object] | None = None


def no_cost(_: Case) -> None:
    """The cost of a benchmark that declares none."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A declared benchmark of one provider. ``tolerance`` bounds the relative L2 error against ``reference``."""

    name: str
    module: str
    function: Callable[[Case], Launch | Call]
    cases: tuple[Case, ...]
    provider: str
    cost: Callable[[Case], Cost | None]
    reference: Callable[[Case], Expected] | None
    tolerance: float
    suites: tuple[str, ...]
    is_control: bool
    floor: float | None
    formerly: tuple[str, ...] = ()


class DeclarationError(Exception):
    """A benchmark is declared in a way that cannot be measured; the message names it."""


_declared: dict[tuple[str, str], Benchmark] = {}


def benchmark(  # noqa: PLR0913 - a declaration has as many parts as it has
    misplaced: object = None,
    /,
    *,
    cases: Iterable[Case] = (Case(()),),
    provider: str = "eager",
    cost: Callable[[Case], Cost | None] = no_cost,
    reference: Callable[[Case], Expected] | None = None,
    tolerance: float = DEFAULT_TOLERANCE,
    name: str | None = None,
    suites: Sequence[str] = ("smoke",),
    control: bool = False,
    floor: float | None = None,
    formerly: Sequence[str] = (),
) -> Callable[[Callable[[Case], Launch | Call]], Callable[[Case], Launch | Call]]:
    """Declare the decorated function as a benchmark of ``cases``.

    The function gets a ``Case``, sets it up, and returns the callable to time, or a ``Launch``. ``cost`` gives FLOPs
    and bytes of one call, ``reference`` the float64 result on the same operands. ``floor`` is the smallest relative
    change that counts, where the protocol's own does not fit. ``control`` marks code that no commit should change.
    ``formerly`` are names that the benchmark had before: their history becomes its own. Raises ``DeclarationError`` for
    a benchmark without cases, with an axis that cannot be stored, declared twice for one provider, or formerly called
    what another one is called.
    """
    if misplaced is not None:
        named = getattr(misplaced, "__qualname__", repr(misplaced))
        raise DeclarationError(f"@benchmark above {named} needs parentheses: write @benchmark()")

    def declare(function: Callable[[Case], Launch | Call]) -> Callable[[Case], Launch | Call]:
        _add(
            Benchmark(
                name=name or function.__name__,
                module=function.__module__,
                function=function,
                cases=_checked_cases(f"benchmark {name or function.__name__} in {function.__module__}", cases),
                provider=provider,
                cost=cost,
                reference=reference,
                tolerance=tolerance,
                suites=(suites,) if isinstance(suites, str) else tuple(suites),
                is_control=control,
                floor=floor,
                formerly=(formerly,) if isinstance(formerly, str) else tuple(formerly),
            )
        )
        return function

    return declare


def discover(modules: Sequence[str]) -> tuple[Benchmark, ...]:
    """Import ``modules``; every benchmark declared by then, controls first, else in the order of declaration."""
    for module in modules:
        importlib.import_module(module)
    return controls_first(_declared.values())


def load_file(path: Path) -> tuple[Benchmark, ...]:
    """Import a Python file by its path; the benchmarks that it declares itself."""
    name = path.stem if path.stem not in sys.modules.keys() | sys.stdlib_module_names else f"{path.stem}_benchmarks"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise DeclarationError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    _forget(name)
    spec.loader.exec_module(module)
    return controls_first(declared for declared in _declared.values() if declared.module == name)


def controls_first(benchmarks: Iterable[Benchmark]) -> tuple[Benchmark, ...]:
    """Controls, then the rest, each in the given order."""
    return tuple(sorted(benchmarks, key=lambda declared: not declared.is_control))


def grid(**axes: Sequence[str | int | float | bool]) -> tuple[Case, ...]:
    """Every combination of the axes' values, the last axis fastest."""
    cases: list[Mapping[str, str | int | float | bool]] = [{}]
    for axis, values in axes.items():
        cases = [{**case, axis: value} for case in cases for value in values]
    return tuple(Case.of(case) for case in cases)


def _checked_cases(owner: str, cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases without repetitions; ``owner`` names their benchmark."""
    found = (cases,) if isinstance(cases, Case) else tuple(cases)
    if not found:
        raise DeclarationError(f"{owner} has no cases")
    for case in found:
        if not isinstance(case, Case):
            raise DeclarationError(f"{owner} has {type(case).__name__} among its cases; write Case.of(axis=value, ...)")
        for axis, value in case.axes:
            if not _may_be_axis(value):
                raise DeclarationError(
                    f"{owner}: axis {axis} is {value!r} ({type(value).__name__}); an axis holds text, a bool or a "
                    "finite number of Python's own"
                )
    return tuple(dict.fromkeys(found))


def _may_be_axis(value: object) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _add(new: Benchmark) -> None:
    old = _declared.get((new.name, new.provider))
    if old is not None:
        where = f"twice in {new.module}" if old.module == new.module else f"in {old.module} and in {new.module}"
        raise DeclarationError(
            f"benchmark {new.name} of provider {new.provider} is declared {where}; rename one, or name its provider"
        )
    for one, other in [pair for declared in _declared.values() for pair in ((new, declared), (declared, new))]:
        if other.name in one.formerly and other.name != one.name:
            raise DeclarationError(
                f"benchmark {one.name} in {one.module} was formerly {other.name}, but {other.module} still declares "
                "that name; delete one of them, or take the name out of formerly="
            )
    _declared[new.name, new.provider] = new


def _forget(module: str) -> None:
    """A file that is loaded again declares anew."""
    for key in [key for key, declared in _declared.items() if declared.module == module]:
        del _declared[key]
