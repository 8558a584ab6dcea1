"""Pages: how long a person waits for a page, from navigation to its content, on a warm server, in Chromium."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from statistics import median
from uuid import uuid4

from playwright.sync_api import Page, sync_playwright
from sqlalchemy import Connection, Engine, text

from benchmarks.figure import Figure
from benchmarks.generated import START, first_run
from perfdb.store import history
from perfdb.store.engine import open_engine, sibling_database
from perfdb.store.ingest import ingest_run
from perfdb.store.migrations import migrate
from perfdb.store.partitions import ensure_month

DASHBOARD = Path(__file__).parents[1] / "dashboard"
VISITS = 7
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: Result number i of the series of a first run: an hour and a commit later each, 1 % noise, every 500th a suspect.
MULTIPLY = (
    """INSERT INTO commits (repository_id, sha, position, parents, committed_at, subject)
       SELECT repository_id, lpad(to_hex(i), 40, '0'), i, '{}', committed_at + i * interval '1 hour', 'Generated ' || i
       FROM commits, generate_series(2, :points) i WHERE position = 1 AND repository_id = :repository""",
    """INSERT INTO runs SELECT (lpad(to_hex(r.repository_id), 8, '0') || lpad(to_hex(i), 24, '0'))::uuid,
              r.repository_id, c.id, suite_id, machine_id, gpu_unit_id, hardware_id, environment_id, state, code_state,
              difference, branch, started_at + i * interval '1 hour', finished_at + i * interval '1 hour',
              processes, seed, results, perfdb_version, now()
       FROM runs r, generate_series(2, :points) i JOIN commits c ON c.position = i AND c.repository_id = :repository
       WHERE r.repository_id = :repository""",
    """INSERT INTO measurements SELECT s.id, r.started_at, r.id, r.commit_id, v, ARRAY[v, v * 1.01, v * 0.99]
       FROM runs r JOIN series s USING (repository_id), LATERAL (SELECT 800 + 8 * random_normal() + 0 * r.seed) AS n (v)
       WHERE r.repository_id = :repository AND r.judged_at IS NOT NULL""",
    """INSERT INTO verdicts (run_id, series_id, kind, reason, is_suspect, delta, low, high, smallest_detectable, floor,
              baseline_level, baseline_noise, baseline_count, missing)
       SELECT m.run_id, m.series_id, CASE WHEN suspect THEN 'undecided' ELSE 'ok' END,
              CASE WHEN suspect THEN 'suspect' ELSE 'within_noise' END, suspect, m.value / 800 - 1,
              m.value / 800 - 1.02, m.value / 800 - 0.98, 0.034, 0.02, 800, 0.01, 100, 0
       FROM measurements m JOIN series s ON s.id = m.series_id JOIN commits c ON c.id = m.commit_id,
            LATERAL (SELECT c.position % 500 = 0) AS f (suspect)
       WHERE s.repository_id = :repository AND c.position > 1""",
)


def measure(url: str) -> Iterator[Figure]:
    """The series page with 10,000 results and, as its floor, with 100."""
    database = sibling_database(url, f"benchmark_pages_{uuid4().hex[:8]}")
    long, short = filled(database)
    with served(database) as address, browser() as page:
        slow, quick = (seconds_to_chart(page, f"{address}/series?series={digest}") for digest in (long, short))
    yield Figure("series page, 100 results", quick, "s")
    yield Figure("series page, 10,000 results", slow, "s", ratio=slow / quick, goal="< 1.5 s", is_met=slow < 1.5)


def filled(url: str) -> tuple[str, str]:
    """A migrated database with a long and a short series; their digests."""
    engine = open_engine(url)
    migrate(engine)
    digests = fill(engine, "long", 10_000), fill(engine, "short", 100)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))
    engine.dispose()
    return digests


def fill(engine: Engine, repository: str, points: int) -> str:
    """One series of ``points`` results; its digest."""
    with engine.begin() as connection:
        for days in range(0, points // 24 + 32, 28):
            ensure_month(connection, START + timedelta(days=days))
        ingest_run(connection, first_run(repository))
        number = connection.scalar(text("SELECT id FROM repositories WHERE name = :name"), {"name": repository})
        for statement in MULTIPLY:
            connection.execute(text(statement), {"points": points, "repository": number})
        return digest_of(connection, repository)


def digest_of(connection: Connection, repository: str) -> str:
    """The digest of the only series of a repository."""
    (series,) = history.catalogue(connection, repository=repository)
    return series.digest


@contextmanager
def served(url: str) -> Iterator[str]:
    """The dashboard over a database, as its own process on a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = json.loads((DASHBOARD / "options.json").read_text())
    options |= {"server.port": port, "server.address": "127.0.0.1", "server.headless": True}
    options |= {"browser.gatherUsageStats": False}
    flags = [f"--{name}={json.dumps(value).strip(chr(34))}" for name, value in options.items()]
    command = [sys.executable, "-m", "streamlit", "run", str(DASHBOARD / "app.py"), *flags]
    server = subprocess.Popen(
        command, env=os.environ | {"PERFDB_DATABASE_URL": url}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        await_health(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def await_health(address: str) -> None:
    """Return once the server answers. Raises ``TimeoutError`` after 30 s."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"the dashboard at {address} did not start within 30 s")


@contextmanager
def browser() -> Iterator[Page]:
    """A page in Chromium with a fresh profile."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, headless=True, args=FLAGS)
        yield chromium.new_page(viewport={"width": 1440, "height": 900})
        chromium.close()


def seconds_to_chart(page: Page, address: str) -> float:
    """Median seconds from navigation until the chart's points are there."""
    return seconds_until(page, address, ".js-plotly-plot .scatterlayer .point")


def seconds_until(page: Page, address: str, selector: str) -> float:
    """Median seconds from navigation until something is there; the first visit warms the server up."""
    return median([_visit(page, address, selector) for _ in range(VISITS + 1)][1:])


def _visit(page: Page, address: str, selector: str) -> float:
    page.goto("about:blank")
    started = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.locator(selector).first.wait_for(state="attached", timeout=60_000)
    return time.perf_counter() - started
