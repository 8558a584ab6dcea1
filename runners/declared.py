"""Declared: the lists of suites, benchmarks and cases that the code under test declares."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from perfdb.errors import SelectionError
from runners.visits import Declaration

Rows = Sequence[Mapping[str, Any]]


def listed(noun: str, declarations: Sequence[Declaration]) -> Rows:
    """One object for each suite, benchmark or case. Raises ``SelectionError`` for another noun."""
    if noun not in LISTS:
        raise SelectionError.no_match("list", noun, LISTS, "perfdb list --help")
    return LISTS[noun](declarations)


def suites(declarations: Sequence[Declaration]) -> Rows:
    """Every suite with how many benchmarks and cases it holds."""
    names = dict.fromkeys(name for d in declarations for name in d.suites)
    return [_suite(name, [d for d in declarations if name in d.suites]) for name in names]


def benchmarks(declarations: Sequence[Declaration]) -> Rows:
    """Every benchmark of every provider with the number of its cases."""
    by_name: dict[tuple[str, str], list[Declaration]] = {}
    for declaration in declarations:
        by_name.setdefault((declaration.key.benchmark, declaration.key.provider), []).append(declaration)
    return [
        {
            "benchmark": name,
            "provider": provider,
            "cases": len(found),
            "suites": list(found[0].suites),
            "control": found[0].is_control,
            "module": found[0].module,
        }
        for (name, provider), found in by_name.items()
    ]


def cases(declarations: Sequence[Declaration]) -> Rows:
    """Every case of every benchmark."""
    return [
        {
            "case": d.key.label,
            "benchmark": d.key.benchmark,
            "axes": dict(d.key.case.axes),
            "provider": d.key.provider,
            "suites": list(d.suites),
            "tolerance": d.tolerance,
        }
        for d in declarations
    ]


LISTS: Mapping[str, Callable[[Sequence[Declaration]], Rows]] = {
    "suites": suites,
    "benchmarks": benchmarks,
    "cases": cases,
}


def table_of_rows(rows: Rows) -> Table:
    """The same list for people; what only programs need is left out."""
    table = Table()
    names = [name for name in rows[0] if name != "axes"] if rows else []
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_words(row[name])) for name in names))
    return table


def _suite(name: str, found: Sequence[Declaration]) -> Mapping[str, Any]:
    return {"suite": name, "benchmarks": len({d.key.benchmark for d in found}), "cases": len(found)}


def _words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else ""
    return "-" if value is None else str(value)
