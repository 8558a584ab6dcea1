"""A disk that fills up: one sentence, nothing lost, and all goes on once there is space."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.generated import spool_file
from benchmarks.ledger import Ledger
from perfdb.database import open_migrated
from perfdb.domain.run import Run
from perfdb.settings import Settings
from perfdb.spool import SUFFIX
from perfdb.store.embedded import EmbeddedServer

if TYPE_CHECKING:
    from tests.perfdb.cli.conftest import Terminal

pytestmark = [pytest.mark.slow, pytest.mark.mount]
DISK = "240m"
MIB = 2**20


@pytest.fixture
def home() -> Iterator[Path]:
    """A PERFDB_HOME on a small disk of its own. Nothing short of a file system fills up as a disk does."""
    folder = Path(tempfile.mkdtemp(prefix="perfdb-test-"))
    options = f"size={DISK},mode=711"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        folder.rmdir()
        pytest.skip("a file system may not be mounted here")
    yield folder
    if (folder / "server.json").exists():
        EmbeddedServer(folder).stop()
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
    folder.rmdir()


def test_an_ingest_that_fills_the_disk_loses_nothing_and_goes_on_when_there_is_space(
    terminal: "Terminal", make_run: Callable[..., Run], tmp_path: Path
) -> None:
    settings = Settings(home=terminal.home, database_url=None)
    terminal.spool(make_run())
    assert terminal("ingest").returncode == 0
    large = spool_file(settings.spool, 4_000, processes=2)
    filler = terminal.home / "filler"
    left = shutil.disk_usage(terminal.home).free
    filler.write_bytes(bytes(left - 12 * MIB))  # less than one file of PostgreSQL's log
    refused = terminal("ingest")
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert f"perfdb: the disk that holds {terminal.home} is full" in refused.stderr
    assert "free space there, then repeat the command" in refused.stderr
    assert large.exists()

    filler.unlink()
    assert terminal("ingest").returncode == 0
    ledger = Ledger(settings.spool, settings.ingested)
    ledger.note_closed_files()
    assert len(ledger.closed) == 2
    with open_migrated(settings) as engine, engine.connect() as connection:
        assert list(ledger.violations(connection)) == []


def test_a_run_on_a_full_disk_says_so_and_keeps_its_whole_lines(terminal: "Terminal") -> None:
    (terminal.home / "filler").write_bytes(bytes(shutil.disk_usage(terminal.home).free))
    (terminal.folder / "nap.py").write_text(
        "import time\nfrom suites import Case, benchmark\n\n"
        "@benchmark(cases=[Case.of(n=1)])\ndef nap(case):\n    return lambda: time.sleep(0.001)\n"
    )
    done = terminal("run", "nap.py", "--processes", "1")
    assert done.returncode == 1
    assert "No space left on device; free space" in done.stderr
    assert not list((terminal.home / "spool").glob(f"*{SUFFIX}*"))
