"""What a worker is asked and what it answers: one JSON plan in, JSON lines out over a pipe of their own."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from perfdb.domain.case import AxisValue, Case

#: A worker's exit code when it refused the plan and said why.
REFUSED = 7
#: Written to standard output before each case, so that its last words are not another's.
CASE_MARK = b"\x1d\n"


@dataclass(frozen=True, slots=True)
class CaseKey:
    """Which case of which benchmark: what a plan lists and what an announcement points to."""

    benchmark: str
    provider: str
    case: Case

    @property
    def label(self) -> str:
        """``benchmark[axis=value,...]``."""
        return self.case.of_benchmark(self.benchmark)


@dataclass(frozen=True, slots=True)
class Plan:
    """What one worker does: survey the declarations when ``visits`` is None, else visit these cases in this order.

    ``tree`` is the resolved folder of the code under test; ``path`` are import folders inside it, most important first;
    ``file`` is a single benchmark file instead of ``modules``.
    """

    tree: str
    path: tuple[str, ...]
    modules: tuple[str, ...]
    file: str | None
    threads: int
    process: int = 0
    visits: tuple[CaseKey, ...] | None = None


def write_plan(plan: Plan, path: Path) -> None:
    """Store a plan for a worker to read."""
    path.write_text(json.dumps(asdict(plan)))


def read_plan(path: Path) -> Plan:
    """The plan as it was written."""
    record = json.loads(path.read_text())
    visits = record["visits"]
    return Plan(
        tree=record["tree"],
        path=tuple(record["path"]),
        modules=tuple(record["modules"]),
        file=record["file"],
        threads=record["threads"],
        process=record["process"],
        visits=None if visits is None else tuple(decode_key(visit) for visit in visits),
    )


def encode_key(key: CaseKey) -> dict[str, Any]:
    """A key as a JSON object."""
    return asdict(key)


def decode_key(record: Mapping[str, Any]) -> CaseKey:
    """A key from its JSON object."""
    axes: list[tuple[str, AxisValue]] = record["case"]["axes"]
    return CaseKey(record["benchmark"], record["provider"], Case.of(dict(axes)))


class Speaker:
    """Writes messages to the parent. The pipe is not inherited by programs that a benchmark starts."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor

    def say(self, kind: str, **fields: object) -> None:
        """Send one message, whole. Raises ``ValueError`` for a number that is not finite."""
        line = json.dumps({"kind": kind, **fields}, allow_nan=False).encode() + b"\n"
        while line:
            line = line[os.write(self._descriptor, line) :]
