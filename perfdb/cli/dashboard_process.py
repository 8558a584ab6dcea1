"""DashboardProcess: Streamlit as a child, on loopback only, with our options and nothing of the working folder's."""

import importlib.util
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

from perfdb.cli.children import child
from perfdb.errors import PerfdbError

FIRST_PORT = 8501
PORTS_TRIED = 200
START_S = 60.0
PACKAGE = Path(__file__).resolve().parents[2] / "dashboard"
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the dashboard listens: a port asked for, or None for the first free one; loopback by default."""

    port: int | None = None
    listen: str = LOOPBACK


ANYWHERE_FREE = Place()


@contextmanager
def dashboard(
    home: Path, database_url: str, place: Place, *, is_demo: bool = False
) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """Start the dashboard; gives its address and process once it answers. Raises ``PerfdbError`` when it does not."""
    refuse_missing()
    chosen = free_port(place.port)
    log = home / "log" / "dashboard.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = {
        "PERFDB_DATABASE_URL": database_url,
        "PERFDB_HOME": str(home),
        "PERFDB_DEMO": "1" if is_demo else "",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }
    # the working folder is the state folder: a .streamlit folder beside the code under test is none of ours
    with (
        log.open("wb") as output,
        child(command(chosen, place.listen), folder=home, environment=environment, output=output) as process,
    ):
        wait_until_healthy(process, chosen, log)
        yield f"http://127.0.0.1:{chosen}", process


def command(port: int, listen: str = LOOPBACK) -> list[str]:
    """How Streamlit is started."""
    options: dict[str, object] = {
        "server.address": listen,
        "server.port": port,
        "server.headless": True,
        "browser.serverAddress": "127.0.0.1",
        "browser.gatherUsageStats": False,
        **json.loads((PACKAGE / "options.json").read_text()),
    }
    flags = [f"--{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in options.items()]
    return [sys.executable, "-P", "-m", "streamlit", "run", str(PACKAGE / "app.py"), *flags]


def refuse_missing() -> None:
    """Raise ``PerfdbError`` when the dashboard is not installed."""
    if importlib.util.find_spec("streamlit") is None or not (PACKAGE / "app.py").is_file():
        raise PerfdbError("the dashboard is not installed; run: pip install 'perfdb[dashboard]'")


def free_port(wanted: int | None) -> int:
    """The port asked for, else the first free one from 8501. Raises ``PerfdbError`` when it is taken."""
    if wanted is not None:
        if not _is_free(wanted):
            raise PerfdbError(f"port {wanted} is taken by another program; choose another with --port, or leave it out")
        return wanted
    for port in range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        if _is_free(port):
            return port
    raise PerfdbError(f"ports {FIRST_PORT} to {FIRST_PORT + PORTS_TRIED - 1} are all taken; choose one with --port")


def wait_until_healthy(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Wait until the dashboard answers over HTTP; raise ``PerfdbError`` when it ends or takes over a minute."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise PerfdbError(f"the dashboard ended with exit code {process.returncode}: {_last_line(log)}; see {log}")
        if is_healthy(port):
            return
        time.sleep(0.1)
    raise PerfdbError(f"the dashboard did not answer on port {port} within {START_S:.0f} s; see {log}")


def is_healthy(port: int) -> bool:
    """Whether Streamlit answers; proxies are for other addresses."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}/_stcore/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it wrote no log"
