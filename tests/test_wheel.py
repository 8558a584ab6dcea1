"""The wheel: what a user installs migrates a database and finds its pages without the checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content in a folder of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def python(installed: Path, program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=installed.parent,
        env={**os.environ, "PYTHONPATH": str(installed), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_it_holds_the_packages_the_scripts_and_nothing_else(installed: Path) -> None:
    tops = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert tops == {"perfdb", "suites", "runners", "dashboard"}
    assert (installed / "perfdb/alembic/env.py").is_file()
    assert (installed / "dashboard/options.json").is_file()
    assert (installed / "dashboard/style.css").is_file()


def test_a_database_is_migrated_from_it(installed: Path, home: Path) -> None:
    program = (
        "import perfdb, sys; from perfdb.cli.entry import exit_code; print(perfdb.__file__); "
        "sys.exit(exit_code(['db', 'migrate']))"
    )
    said = python(installed, program, PERFDB_HOME=str(home))
    assert said.startswith(str(installed))
    newest = max(path.name[:4] for path in (installed / "perfdb/alembic/versions").glob("*.py"))
    assert said.endswith(f"is at revision {newest}")
