"""Environment: software facts, stored and drawn, never part of a series' identity."""

import hashlib
import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Environment:
    """Versions and variables that may move a number: driver, CUDA, torch, triton, Python, kernel, TORCH* variables."""

    facts: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, **facts: str | None) -> "Environment":
        """Build from keywords."""
        return cls(tuple(sorted(facts.items())))

    @property
    def digest(self) -> str:
        """Hash of the facts, 16 hexadecimal digits."""
        return hashlib.sha256(json.dumps(self.facts).encode()).hexdigest()[:16]

    def changes_to(self, other: "Environment") -> dict[str, tuple[str | None, str | None]]:
        """Facts that differ, by name, as (this, other)."""
        mine, theirs = dict(self.facts), dict(other.facts)
        names = sorted(mine.keys() | theirs.keys())
        return {n: (mine.get(n), theirs.get(n)) for n in names if mine.get(n) != theirs.get(n)}
