"""Figure: one thing measured, and the table of them."""

import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).with_name("results")


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its unit, its ratio to the peer or floor of the same run, and the goal it stands against."""

    name: str
    value: float
    unit: str
    ratio: float | None = None
    goal: str = ""
    is_met: bool | None = None


def markdown(figures: Iterable[Figure], facts: Mapping[str, str]) -> str:
    """A table for people, the machine under it."""
    lines = ["| what | value | ratio | goal | met |", "|---|---|---|---|---|"]
    for figure in figures:
        met = {None: "", True: "yes", False: "**no**"}[figure.is_met]
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
        lines.append(f"| {figure.name} | {figure.value:.3g} {figure.unit} | {ratio} | {figure.goal} | {met} |")
    return "\n".join([*lines, "", "; ".join(f"{name} {value}" for name, value in facts.items())])


def keep(name: str, figures: Iterable[Figure], command: str) -> None:
    """Write the figures beside those of other days."""
    now = datetime.now(UTC)
    kept = {
        "command": command,
        "date": f"{now:%Y-%m-%d}",
        "machine": machine_facts(),
        "figures": [asdict(figure) for figure in figures],
    }
    (RESULTS / f"{now:%Y-%m-%d}-{name}.json").write_text(json.dumps(kept, indent=1) + "\n")


def machine_facts() -> dict[str, str]:
    """What the figures depend on."""
    return {
        "cpu": _cpu_model(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "python": platform.python_version(),
        **{name: version(name) for name in ("psycopg", "msgspec", "numpy", "SQLAlchemy", "streamlit")},
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
