"""Environment: software facts, stored and drawn, never part of a series' identity."""

import hashlib
import json
from dataclasses import dataclass

from perfdb.domain.facts import differing


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
        return differing(self.facts, other.facts)
