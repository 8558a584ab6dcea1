"""Facts: what differs between two sets of them."""

from collections.abc import Iterable
from typing import TypeVar

Value = TypeVar("Value")


def differing(
    before: Iterable[tuple[str, Value]], after: Iterable[tuple[str, Value]]
) -> dict[str, tuple[Value | None, Value | None]]:
    """Facts that differ, by name, as (before, after); None where one side lacks it."""
    old, new = dict(before), dict(after)
    names = sorted(old.keys() | new.keys())
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}
