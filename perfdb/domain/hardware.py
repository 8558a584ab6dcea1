"""Machine and Hardware: one host, and the facts of it that decide comparability."""

import hashlib
import json
from dataclasses import dataclass

from perfdb.domain.facts import differing

Fact = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class GpuUnit:
    """One physical GPU: hashed UUID, product name, VBIOS version (None where the driver does not tell)."""

    uuid_digest: str
    name: str
    vbios: str | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """One host and its GPU unit. ``key`` is a digest of the machine id: stable over renames, reveals nothing."""

    key: str
    hostname: str
    gpu: GpuUnit | None = None


@dataclass(frozen=True, slots=True)
class Hardware:
    """Facts that decide comparability, sorted by name; a fact the machine does not tell is None, never 0.

    Without a GPU: machine key, CPU model, cores and threads. With one: name, architecture, memory, MIG profile, form,
    enforced power limit, clock lock, ECC, MPS.
    """

    facts: tuple[tuple[str, Fact], ...]

    @classmethod
    def of(cls, **facts: Fact) -> "Hardware":
        """Build from keywords."""
        return cls(tuple(sorted(facts.items())))

    @property
    def digest(self) -> str:
        """Hash of the facts, 16 hexadecimal digits."""
        return hashlib.sha256(json.dumps(self.facts).encode()).hexdigest()[:16]

    def changes_to(self, other: "Hardware") -> dict[str, tuple[Fact, Fact]]:
        """Facts that differ, by name, as (this, other)."""
        return differing(self.facts, other.facts)

    @property
    def label(self) -> str:
        """The name a person knows it by."""
        facts = dict(self.facts)
        if facts.get("gpu_name"):
            return str(facts["gpu_name"])
        return f"{facts.get('cpu_model') or 'CPU'}, {facts.get('threads')} threads"
