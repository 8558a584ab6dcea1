"""``perfdb ingest`` of hostile files: one sentence for each, no traceback, and the good file among them is stored."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perfdb.cli.ingest import lines_of
from perfdb.detect import FileReport
from perfdb.domain.run import Run

if TYPE_CHECKING:
    from tests.perfdb.cli.conftest import Terminal

Maker = Callable[..., Run]


@pytest.fixture
def good(terminal: "Terminal", make_run: Maker) -> Path:
    return terminal.spool(make_run())


@pytest.fixture
def refused(tmp_path: Path, good: Path) -> list[Path]:
    """Files that cannot be taken, each in its own way."""
    files = {
        "empty.jsonl": b"",
        "binary.jsonl": bytes(range(256)) * 100,
        "deep.jsonl": b"[" * 100_000,
        "utf16.jsonl": good.read_text().encode("utf-16"),
        "newer.jsonl": good.read_bytes() + b'{"v":2}\n',
        "nul.jsonl": good.read_bytes().replace(b"smoke", b"\\u0000"),
        "\x1b[2J\u202e\n.jsonl": b"\x00",
        os.fsdecode(b"\xff\xfe.jsonl"): b"{}",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    return [tmp_path / name for name in (*files, "pipe.jsonl", "folder.jsonl", "missing.jsonl", "n" * 300)]


def test_hostile_files_are_one_sentence_each_and_what_is_good_is_stored(
    tmp_path: Path, good: Path, refused: list[Path], terminal: "Terminal", make_run: Maker
) -> None:
    half = terminal.spool(make_run(number=7))
    half.write_bytes(half.read_bytes().replace(b"matmul", b"\\u001b[2J\\u0000", 1))
    done = terminal("ingest", *map(str, refused), str(half), str(good))
    assert (done.returncode, done.stderr) == (1, "")
    *sentences, first, left_out, second = done.stdout.splitlines()
    assert len(sentences) == len(refused)
    assert all(line.isprintable() and len(line) < len(str(tmp_path)) + 600 for line in sentences)
    assert first.endswith("stored: 1 measurements of 2 results")
    assert left_out == f"{half} line 2 holds the character NUL in '\\x1b[2J\\x00'; the line was left out"
    assert second.endswith("stored: 1 measurements of 3 results")


def test_what_is_said_of_a_file_moves_no_cursor() -> None:
    path = Path("\x1b[2J\u202e\udcff.jsonl")
    assert lines_of([FileReport(path, refusal=f"{path} is refused")]) == ["?[2J??.jsonl is refused"]
