"""docker-compose.yml: accepted by Compose itself, and its commands are those of the command line."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]


def services() -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    found: dict[str, Any] = parsed["services"]
    return found


def test_compose_accepts_the_file() -> None:
    compose = shutil.which("docker-compose")
    if compose is None:
        pytest.skip("docker-compose is not installed")
    done = subprocess.run(
        [compose, "--file", str(ROOT / "docker-compose.yml"), "config"],
        env={**os.environ, "PERFDB_DB_PASSWORD": "secret"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "pg_isready" in done.stdout


def test_without_a_password_it_says_so() -> None:
    compose = shutil.which("docker-compose")
    if compose is None:
        pytest.skip("docker-compose is not installed")
    environment = {name: value for name, value in os.environ.items() if name != "PERFDB_DB_PASSWORD"}
    done = subprocess.run(
        [compose, "--file", str(ROOT / "docker-compose.yml"), "config"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "set PERFDB_DB_PASSWORD before the first start" in done.stdout + done.stderr


def test_what_it_runs_is_what_the_command_line_offers() -> None:
    import sys

    for service in ("migration", "dashboard"):
        command = services()[service]["command"][-1].rpartition("&& ")[2].split()
        assert command[0] == "perfdb"
        flags = [word for word in command if word.startswith("--")]
        verbs = [word for word in command[1:] if word.isalpha()]
        offered = subprocess.run(
            [sys.executable, "-P", "-m", "perfdb", *verbs, "--help"], capture_output=True, text=True, check=True
        ).stdout
        assert all(flag in offered for flag in flags), json.dumps(flags)


def test_only_loopback_is_published() -> None:
    ports = [port for service in services().values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
