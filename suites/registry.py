"""Registry: the ``@benchmark`` declaration, and finding what is declared. Imports no torch."""

import importlib
import importlib.util
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


class DeclarationError(Exception):
    """A benchmark is declared in a way that cannot be measured; the message names it."""


_declared: dict[tuple[str, str], Benchmark] = {}


def benchmark(  # noqa: PLR0913 - a declaration has as many parts as it has
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
) -> Callable[[Callable[[Case], Launch | Call]], Callable[[Case], Launch | Call]]:
    """Declare the decorated function as a benchmark of ``cases``.

    The function gets a ``Case``, sets it up, and returns the callable to time, or a ``Launch``. ``cost`` gives FLOPs
    and bytes of one call, ``reference`` the float64 result on the same operands. ``floor`` is the smallest relative
    change that counts, where the protocol's own does not fit. ``control`` marks code that no commit should change.
    Raises ``DeclarationError`` for a benchmark without cases, or declared twice for one provider.
    """

    def declare(function: Callable[[Case], Launch | Call]) -> Callable[[Case], Launch | Call]:
        _add(
            Benchmark(
                name=name or function.__name__,
                module=function.__module__,
                function=function,
                cases=tuple(dict.fromkeys(cases)),
                provider=provider,
                cost=cost,
                reference=reference,
                tolerance=tolerance,
                suites=tuple(suites),
                is_control=control,
                floor=floor,
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


def _add(new: Benchmark) -> None:
    if not new.cases:
        raise DeclarationError(f"benchmark {new.name} in {new.module} has no cases")
    old = _declared.get((new.name, new.provider))
    if old is not None and old.module != new.module:
        raise DeclarationError(
            f"benchmark {new.name} of provider {new.provider} is declared in {old.module} and in {new.module}; "
            "rename one"
        )
    if old is not None and old.function.__qualname__ != new.function.__qualname__:
        raise DeclarationError(
            f"benchmark {new.name} of provider {new.provider} is declared twice in {new.module}; rename one"
        )
    _declared[new.name, new.provider] = new
