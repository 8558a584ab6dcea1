"""Case: one combination of a benchmark's axes, and how it can end."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

AxisValue = str | int | float | bool


class Pass(StrEnum):
    """Which part of training a case runs."""

    FORWARD = "forward"
    BACKWARD = "backward"
    BOTH = "both"
    STEP = "step"


class Outcome(StrEnum):
    """How a case ended. Only MEASURED carries numbers."""

    MEASURED = "measured"
    WRONG_RESULT = "wrong_result"
    OUT_OF_MEMORY = "out_of_memory"
    TIMED_OUT = "timed_out"
    UNSUPPORTED = "unsupported"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Case:
    """One combination of axis values, sorted by axis name: ``Case.of(m=256, k=1024, dtype="float32")``."""

    axes: tuple[tuple[str, AxisValue], ...]

    @classmethod
    def of(cls, axes: Mapping[str, AxisValue] | None = None, /, **more: AxisValue) -> "Case":
        """Build a case from a mapping, keywords, or both."""
        return cls(tuple(sorted({**(axes or {}), **more}.items())))

    def __getitem__(self, axis: str) -> AxisValue:
        return dict(self.axes)[axis]

    def size(self, axis: str) -> int:
        """The value of an integer axis."""
        return int(self[axis])

    def text(self, axis: str) -> str:
        """The value of an axis as text."""
        return str(self[axis])

    @property
    def label(self) -> str:
        """``axis=value,...`` as people write it on the command line."""
        return ",".join(f"{name}={value}" for name, value in self.axes)

    def of_benchmark(self, benchmark: str) -> str:
        """``benchmark[axis=value,...]``, as SERIES is written on the command line; the name alone without axes."""
        return f"{benchmark}[{self.label}]" if self.axes else benchmark

    @property
    def digest(self) -> str:
        """Hash of the axes, 16 hexadecimal digits."""
        return hashlib.sha256(json.dumps(self.axes).encode()).hexdigest()[:16]

    @property
    def seed(self) -> int:
        """Seed of the operands: the same case always gets the same values."""
        return int(self.digest[:8], 16)

    def matches(self, patterns: Mapping[str, str]) -> bool:
        """Whether every ``axis=glob`` of ``patterns`` holds; an axis the case lacks does not match."""
        axes = dict(self.axes)
        return all(axis in axes and fnmatchcase(str(axes[axis]), glob) for axis, glob in patterns.items())


@dataclass(frozen=True, slots=True)
class Cost:
    """Work of one call of a case: floating-point operations and bytes moved to and from memory."""

    flops: float
    bytes_moved: float
