"""Probe: the facts of this machine, and what ``perfdb doctor`` should say about measuring on it."""

import hashlib
import os
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

from perfdb.domain.finding import Finding
from perfdb.domain.hardware import Hardware, Machine
from runners.cores import cpu_model, governor, physical_cores
from runners.measure.facts import COMPILERS, compiler_version, installed_version
from runners.measure.text import storable

_MACHINE_ID = Path("/etc/machine-id")
#: Above one busy core in four, other programs visibly share caches and clock with what is measured.
BUSY_SHARE = 0.25


def this_machine(machine_id: Path = _MACHINE_ID) -> Machine:
    """This host under a key that survives renames and reveals nothing."""
    hostname = storable(platform.node()) or "localhost"
    try:
        identity = machine_id.read_text().strip()
    except OSError:
        identity = ""
    return Machine(hashlib.sha256(f"perfdb machine {identity or hostname}".encode()).hexdigest()[:16], hostname)


def this_hardware(machine: Machine) -> Hardware:
    """The facts that decide comparability of CPU timings; workers use as many threads as there are cores."""
    cores = physical_cores()
    return Hardware.of(machine=machine.key, cpu_model=cpu_model(), cores=cores, threads=cores)


def findings() -> list[Finding]:
    """What measuring on this machine needs or suffers from."""
    return [*_software(), _load(os.getloadavg()[0], physical_cores()), *_clock(governor())]


def _software() -> Iterator[Finding]:
    torch = installed_version("torch")
    yield Finding(
        "torch",
        torch is not None,
        f"torch {torch}" if torch else "torch is not installed, so the smoke suite cannot be measured",
        "" if torch else "pip install 'perfdb[torch]'",
    )
    compiler = compiler_version()
    yield Finding(
        "C++ compiler",
        compiler is not None,
        compiler or f"none of {', '.join(COMPILERS)} was found, so compiled cases are unsupported",
        "" if compiler else "apt install g++",
    )
    has_git = shutil.which("git") is not None
    yield Finding(
        "git",
        has_git,
        "git is installed" if has_git else "git is not installed, so every run is unversioned",
        "" if has_git else "apt install git",
    )


def _load(load: float, cores: int) -> Finding:
    is_quiet = load <= max(1.0, BUSY_SHARE * cores)
    text = f"load average {load:.1f} on {cores} cores"
    return Finding("load", is_quiet, text, "" if is_quiet else "measure when other programs are idle", is_advice=True)


def _clock(name: str | None) -> Iterator[Finding]:
    if name is None:
        return
    is_steady = name == "performance"
    yield Finding(
        "CPU governor", is_steady, name, "" if is_steady else "cpupower frequency-set -g performance", is_advice=True
    )
