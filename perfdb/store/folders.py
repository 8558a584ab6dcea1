"""Folders: their size, their removal, their names made durable, and the room that is left for them."""

import os
import shutil
from pathlib import Path

#: PostgreSQL stops when it cannot make the next 16 MiB of its log, and needs some of them.
NEEDED_BYTES = 64 * 2**20


def persist_names(folder: Path) -> None:
    """Make what was created, renamed and removed in ``folder`` survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it; fine when it is not there, and a link only loses its name."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files below a folder; what vanishes or may not be read meanwhile counts as 0."""
    total = 0
    for each in [path, *path.rglob("*")] if path.is_dir() and not path.is_symlink() else [path]:
        try:
            total += 0 if each.is_dir() and not each.is_symlink() else each.lstat().st_size
        except OSError:
            continue
    return total


def free_bytes(folder: Path) -> int:
    """What is left on the disk of a folder, be it that it is not made yet."""
    return shutil.disk_usage(nearest_existing(folder)).free


def nearest_existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next(each for each in (folder, *folder.parents) if each.exists())
