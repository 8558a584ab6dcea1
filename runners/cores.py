"""Cores: how many physical cores this process may use, and their model."""

import os
import platform
from collections.abc import Collection
from pathlib import Path

_TOPOLOGY = Path("/sys/devices/system/cpu")
_CPUINFO = Path("/proc/cpuinfo")


def physical_cores(topology: Path = _TOPOLOGY, cpus: Collection[int] | None = None) -> int:
    """Physical cores among ``cpus`` (default: those this process may use); hyper-threads of one core count once."""
    allowed = os.sched_getaffinity(0) if cpus is None else cpus
    siblings = {_siblings(topology / f"cpu{cpu}" / "topology") or str(cpu) for cpu in allowed}
    return len(siblings)


def cpu_model(cpuinfo: Path = _CPUINFO) -> str | None:
    """The processor's name; None where the machine does not tell."""
    lines = _text(cpuinfo).splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith(("model name", "Model"))]
    return next((name for name in names if name), None) or platform.processor() or None


def governor(topology: Path = _TOPOLOGY) -> str | None:
    """How the kernel chooses the clock, e.g. ``performance``; None where it does not tell."""
    cpu = min(os.sched_getaffinity(0))
    return _text(topology / f"cpu{cpu}" / "cpufreq" / "scaling_governor").strip() or None


def _siblings(folder: Path) -> str:
    return _text(folder / "core_cpus_list").strip() or _text(folder / "thread_siblings_list").strip()


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""
