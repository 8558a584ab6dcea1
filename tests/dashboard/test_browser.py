"""The pages in Chromium: they load without an error, and their address reproduces them."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from sqlalchemy import Engine

from perfdb.domain.case import Outcome
from perfdb.domain.run import Run
from perfdb.domain.verdict import Baseline, Reason, Verdict, VerdictKind
from perfdb.store import history
from perfdb.store.ingest import ingest_run
from perfdb.store.verdicts import save_verdicts

pytestmark = pytest.mark.browser

DASHBOARD = Path(__file__).parents[2] / "dashboard"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: Streamlit asks for its health and host relative to a page's own address first; that 404 is its habit.
HABIT = "Failed to load resource: the server responded with a status of 404 (Not Found)"
Make = Callable[..., Run]


@pytest.fixture
def digest(engine: Engine, make_run: Make) -> str:
    """Thirty results of one series, the last of them a suspect, and a case that failed."""
    runs = [make_run(100.0 + i % 3, position=i, torch="2.13.0" if i < 20 else "2.14.0") for i in range(1, 30)]
    runs.append(make_run(130.0, position=30, outcomes={"attention": Outcome.FAILED}))
    base = Baseline(101.0, 0.01, 29)
    verdict = Verdict(VerdictKind.UNDECIDED, Reason.SUSPECT, True, 0.29, 0.25, 0.33, 0.04, 0.02, base)
    with engine.begin() as connection:
        for run in runs:
            ingest_run(connection, run)
        (series,) = history.catalogue(connection)
        save_verdicts(connection, runs[-1].header.run_id, {series.digest: verdict})
    return series.digest


@pytest.fixture
def address(database_url: str, digest: str, tmp_path: Path) -> Iterator[str]:
    """The dashboard as its own process, started from a folder with a foreign ``dashboard`` and ``perfdb`` in it."""
    for name in ("dashboard", "perfdb"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('this is not ours')")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = json.loads((DASHBOARD / "options.json").read_text())
    options |= {"server.port": port, "server.address": "127.0.0.1", "server.headless": True}
    options |= {"browser.gatherUsageStats": False}
    flags = [f"--{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in options.items()]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", str(DASHBOARD / "app.py"), *flags],
            cwd=tmp_path,
            env=os.environ | {"PERFDB_DATABASE_URL": database_url},
            stdout=log,
            stderr=log,
        )
        await_health(port)
        yield f"http://127.0.0.1:{port}"
        server.terminate()
        server.wait()


def await_health(port: int) -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the dashboard did not start within 30 s")


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained about."""
    return []


@pytest.fixture
def page(complaints: list[str]) -> Iterator[Page]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed")
    with tempfile.TemporaryDirectory() as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=program, headless=True, args=FLAGS, timezone_id="Asia/Tokyo"
        )
        tab = context.new_page()
        tab.set_default_timeout(30_000)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        yield tab
        context.close()


def test_the_overview_leads_to_a_series_whose_address_reproduces_it(
    page: Page, address: str, digest: str, complaints: list[str]
) -> None:
    page.goto(address)
    expect(page.locator("h1")).to_have_text("1 series is suspect and 1 case failed in the latest 25 runs.")
    expect(page.get_by_text("2 Jan 2026", exact=False).first).to_be_visible()
    expect(page.locator("[data-testid=stAppDeployButton], [data-testid=stMainMenu]")).to_have_count(0)

    page.locator(".card a").first.click()
    page.wait_for_url(f"**/series?series={digest}")
    expect(page.locator(".js-plotly-plot .scatterlayer .point").first).to_be_attached()
    page.get_by_text("time", exact=True).click()
    expect(page.get_by_text("time measured (Asia/Tokyo)")).to_be_visible()
    page.get_by_text("Processes").click()
    expect(page.locator(".legendtext", has_text="one process")).to_be_visible()

    page.goto(page.url)
    expect(page.get_by_text("time measured (Asia/Tokyo)")).to_be_visible()
    expect(page.locator(".legendtext", has_text="one process")).to_be_visible()
    expect(page.locator(".legendtext", has_text="software changed")).to_be_visible()
    assert [text for text in complaints if text != HABIT] == []


def test_the_points_of_a_series_can_be_taken_away_as_csv(page: Page, address: str, digest: str) -> None:
    page.goto(f"{address}/series?series={digest}")
    with page.expect_download() as taken:
        page.get_by_role("button", name="Download CSV").click()
    lines = Path(taken.value.path()).read_text().splitlines()
    assert taken.value.suggested_filename == f"matmul-{digest[:8]}.csv"
    assert lines[0].startswith("started_at,value,unit,process_values,verdict")
    assert len(lines) == 31


def test_a_filter_of_the_overview_survives_a_reload(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_role("radio", name="10").click()
    expect(page.locator("h1")).to_contain_text("in the latest 10 runs")
    page.reload()
    expect(page.locator("h1")).to_contain_text("in the latest 10 runs")


@pytest.mark.parametrize("width", [1440, 480])
def test_no_page_is_wider_than_its_window(page: Page, address: str, digest: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for path in ("", f"series?series={digest}", "run", "machines", "compare"):
        page.goto(f"{address}/{path}")
        expect(page.locator("h1")).to_be_visible()
        wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
        assert wide <= width


def test_the_machines_page_says_when_the_software_changed_and_leads_to_a_run(
    page: Page, address: str, digest: str, complaints: list[str]
) -> None:
    page.goto(f"{address}/machines")
    expect(page.locator("h1")).to_have_text("1 machine has measured")
    expect(page.get_by_text("torch 2.13.0 → 2.14.0")).to_be_visible()
    expect(page.get_by_text("unchanged since 3 Jan 2026")).to_be_visible()
    page.wait_for_url("**/machines?machine=key")
    page.goto(f"{address}/run")
    page.get_by_role("link", name="host", exact=True).click()
    page.wait_for_url("**/machines?machine=key")
    assert [text for text in complaints if text != HABIT] == []
