"""Selection: which declared cases a person means, and the order in which a process visits them."""

import random
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from perfdb.errors import SelectionError
from runners.visits import Declaration

#: Words that a filter may use beside the axes of a case.
BENCHMARK, PROVIDER = "benchmark", "provider"


def parse_filter(text: str | None) -> Mapping[str, str]:
    """``axis=glob`` pairs of ``axis=value,...``. Raises ``SelectionError`` for anything else."""
    patterns: dict[str, str] = {}
    for part in filter(None, (text or "").split(",")):
        axis, equals, glob = (piece.strip() for piece in part.partition("="))
        if not (axis and equals and glob):
            raise SelectionError(f"filter {part!r} is not axis=value; write for example --filter 'dtype=float32,m=2*'")
        patterns[axis] = glob
    return patterns


def choose(
    declared: Sequence[Declaration], suite: str | None, patterns: Mapping[str, str], see: str
) -> tuple[Declaration, ...]:
    """The declarations of a suite (None: all of them) that match; ``see`` is the command that lists what there is.

    Raises ``SelectionError`` naming the nearest suite, axis or value when nothing matches.
    """
    of_suite = [d for d in declared if suite is None or suite in d.suites]
    if not of_suite:
        suites = {name for d in declared for name in d.suites}
        if suite is None or not suites:
            raise SelectionError(f"no benchmark is declared; decorate a function with @suites.benchmark. See: {see}")
        raise SelectionError.no_match("suite", suite, suites, see)
    chosen = tuple(d for d in of_suite if matches(d, patterns))
    if not chosen:
        raise _nothing_matches(of_suite, patterns, see)
    return chosen


def matches(declaration: Declaration, patterns: Mapping[str, str]) -> bool:
    """Whether every pattern holds for the case, or for its benchmark or provider."""
    words = words_of(declaration)
    return all(axis in words and fnmatchcase(words[axis], glob) for axis, glob in patterns.items())


def words_of(declaration: Declaration) -> Mapping[str, str]:
    """What a filter may ask for: benchmark, provider and every axis of the case."""
    key = declaration.key
    axes = {name: str(value) for name, value in key.case.axes}
    return {BENCHMARK: key.benchmark, PROVIDER: key.provider, **axes}


def visiting_order(chosen: Iterable[Declaration], seed: int, process: int) -> tuple[Declaration, ...]:
    """A random order that depends on nothing but the seed and the process; controls come first."""
    chance = random.Random(f"{seed} {process}")
    ordered = sorted(chosen, key=lambda d: (d.key.benchmark, d.key.provider, d.key.case.label))
    chance.shuffle(ordered)
    return tuple(sorted(ordered, key=lambda d: not d.is_control))


def _nothing_matches(declared: Sequence[Declaration], patterns: Mapping[str, str], see: str) -> SelectionError:
    words = [words_of(d) for d in declared]
    axes = {axis for found in words for axis in found}
    for axis, glob in patterns.items():
        if axis not in axes:
            return SelectionError.no_match("axis", axis, axes, see)
        values = {found[axis] for found in words if axis in found}
        if not any(fnmatchcase(value, glob) for value in values):
            return SelectionError.no_match(axis, glob, values, see)
    wanted = ",".join(f"{axis}={glob}" for axis, glob in patterns.items())
    return SelectionError.no_match("case", wanted, {d.key.case.label for d in declared}, see)
