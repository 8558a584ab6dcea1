"""Compiler: ``torch.compile`` for a benchmark, or why it is not there."""

import os
import shutil
from collections.abc import Callable
from typing import TypeVar, cast

from suites.registry import UnsupportedError

F = TypeVar("F", bound=Callable[..., object])


def cpp_compiler() -> str | None:
    """The C++ compiler that torch's inductor would call, ``CXX`` or ``g++``; None when it is not installed."""
    return shutil.which(os.environ.get("CXX") or "g++")


def compiled(function: F) -> F:
    """The function compiled for its shapes. Raises ``UnsupportedError`` without a C++ compiler."""
    if cpp_compiler() is None:
        raise UnsupportedError("torch.compile needs a C++ compiler; install g++ (Debian: apt install g++)")
    import torch

    return cast(F, torch.compile(function, dynamic=False))
