"""Facts: the software of the environment under test, as the worker sees it, without importing any of it."""

import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version

from runners.measure.text import storable

PACKAGES = ("torch", "numpy", "triton")
#: Variables that can move a number. Those that only say where files lie cannot, and would tell about the machine.
_VARIABLES = re.compile(r"^(TORCH|OMP_|KMP_|GOMP_|MKL_|OPENBLAS_|ATEN_|TRITON_|MALLOC_|LD_PRELOAD$)")
_PLACES = re.compile(r"(DIR|HOME|PATH|FILE|PREFIX|LOG|LOGS)$")
COMPILERS = ("g++", "clang++")


def software_facts() -> dict[str, str | None]:
    """Versions and variables by name; None for what is not installed."""
    return {
        "python": platform.python_version(),
        **{name: installed_version(name) for name in PACKAGES},
        "kernel": platform.release(),
        "glibc": platform.libc_ver()[1] or None,
        "cxx": compiler_version(),
        **{name: storable(value) for name, value in sorted(os.environ.items()) if _is_told(name)},
    }


def installed_version(package: str) -> str | None:
    """The version of an installed package; None when it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def compiler_version() -> str | None:
    """The first line of the C++ compiler's ``--version``; None without a compiler."""
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CXX") or "", *COMPILERS))), None)
    if compiler is None:
        return None
    try:
        told = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next(iter(told.splitlines()), None)


def _is_told(name: str) -> bool:
    return bool(_VARIABLES.match(name)) and not _PLACES.search(name)
