"""Abandoned: folders named after a process that was killed before it could remove them."""

from collections.abc import Iterator
from pathlib import Path

import psutil


def abandoned(folder: Path) -> Iterator[Path]:
    """Entries of ``folder`` called ``...-<process id>`` whose process is gone."""
    for place in folder.glob("*-*"):
        owner = place.name.rsplit("-", 1)[1]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            yield place
