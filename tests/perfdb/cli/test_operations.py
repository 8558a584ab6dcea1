"""Keeping and clearing: backup, restore, upgrade, prune, purge and completion as a person types them."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import make_url

from perfdb.cli.doctor import clusters_found, proxies
from perfdb.domain.run import Run
from perfdb.settings import Settings
from perfdb.store.embedded import EmbeddedServer
from perfdb.store.engine import open_engine, rendered

if TYPE_CHECKING:
    from tests.perfdb.cli.conftest import Terminal

Maker = Callable[..., Run]


def test_a_database_is_backed_up_and_restored(terminal: "Terminal", make_run: Maker) -> None:
    terminal.spool(make_run())
    terminal("ingest")
    done = terminal("db", "backup")
    assert done.returncode == 0, done.stderr
    assert "; tested: restored into a scratch database of the same server, " in done.stdout
    (file,) = (terminal.home / "backup").iterdir()
    terminal.spool(make_run(position=2))
    terminal("ingest")
    refused = terminal("db", "restore", str(file))
    assert refused.returncode == 1
    assert "rows; restore into an empty one, or replace it with perfdb db restore --replace" in refused.stderr
    unasked = terminal("db", "restore", str(file), "--replace")
    assert unasked.returncode == 1
    assert "There is no terminal to ask at; add --yes" in unasked.stderr
    assert terminal.json("db", "restore", str(file), "--replace", "--yes")["replaced_rows"]
    assert len(terminal.json("list", "runs")["runs"]) == 1  # type: ignore[arg-type]


def test_an_untested_backup_says_how_to_test_it(terminal: "Terminal") -> None:
    done = terminal("db", "backup", "x.dump", "--no-verify")
    assert "it was not tested: perfdb db backup without --no-verify" in done.stdout
    again = terminal("db", "backup", "x.dump")
    assert again.returncode == 1
    assert "x.dump exists, and a backup overwrites nothing" in again.stderr


def test_there_is_nothing_to_upgrade_in_a_fresh_folder(terminal: "Terminal", database_url: str) -> None:
    done = terminal("db", "upgrade")
    assert (done.returncode, done.stdout[:18]) == (0, "nothing to upgrade")
    external = terminal("db", "upgrade", PERFDB_DATABASE_URL=database_url)
    assert external.returncode == 1
    assert "a server of your own, whose version perfdb does not change" in external.stderr


def test_a_wrong_folder_of_programs_is_one_sentence(terminal: "Terminal") -> None:
    for arguments in (("list", "runs"), ("db", "backup"), ("db", "upgrade"), ("up", "--no-measure")):
        done = terminal(*arguments, PERFDB_POSTGRES_BIN="/nowhere")
        assert done.returncode == 1
        assert "PERFDB_POSTGRES_BIN names /nowhere, which holds no postgres" in done.stderr
        assert "Traceback" not in done.stderr


def test_old_samples_are_pruned_when_asked(terminal: "Terminal", make_run: Maker) -> None:
    terminal.spool(make_run())
    terminal("ingest")
    for wrong in ((), ("--keep-months", "1", "--before", "2026-02-01"), ("--before", "yesterday")):
        assert terminal("db", "prune", *wrong).returncode == 2
    looked = terminal("db", "prune", "--before", "2026-02-01", "--dry-run")
    assert looked.stdout.startswith("2026-01  samples")
    assert "1 partition, 3 rows, " in looked.stdout
    assert "would go" in looked.stdout
    assert "There is no terminal to ask at" in terminal("db", "prune", "--before", "2026-02-01").stderr
    done = terminal.json("db", "prune", "--before", "2026-02-01", "--yes")
    assert done["dropped"] is True
    assert terminal("db", "prune", "--before", "2026-02-01", "--yes").stdout.startswith("nothing to prune")
    assert len(terminal.json("list", "runs")["runs"]) == 1  # type: ignore[arg-type]


def test_purge_removes_what_perfdb_made_and_nothing_else(terminal: "Terminal", make_run: Maker) -> None:
    terminal.spool(make_run())
    terminal("status")
    (terminal.home / "perfdb.toml").write_text("dashboard_port = 8600\n")
    (terminal.home / "pgadmin").mkdir()
    looked = terminal("purge", "--dry-run")
    assert "1 run in the spool, stored in no database yet" in looked.stdout
    unasked = terminal("purge")
    assert unasked.returncode == 1
    assert "There is no terminal to ask at" in unasked.stderr
    assert (terminal.home / "server.json").exists()
    done = terminal("purge", "--yes")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in terminal.home.iterdir()} == {"perfdb.toml", "pgadmin"}
    assert "kept, for perfdb did not make it: " in done.stdout
    assert terminal("purge", "--yes").stdout.startswith("nothing to remove")


def test_purge_asks_at_a_terminal_and_takes_no_for_an_answer(terminal: "Terminal", make_run: Maker) -> None:
    terminal.spool(make_run())
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "perfdb", "purge"],
        env=terminal.environment,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as asked:
        os.write(ours, b"n\n")
        said = asked.communicate(timeout=60)[0].decode()
    os.close(ours)
    os.close(theirs)
    assert "Remove all of this for good? [y/N]" in said
    assert asked.returncode == 1
    assert list((terminal.home / "spool").glob("*.jsonl"))


def test_purge_refuses_while_the_database_is_used(terminal: "Terminal") -> None:
    with EmbeddedServer(terminal.home).use():
        done = terminal("purge", "--yes")
    assert done.returncode == 1
    assert "uses" in done.stderr
    assert "stop it with perfdb down" in done.stderr
    assert (terminal.home / "server.json").exists()


def test_an_external_database_is_never_purged(terminal: "Terminal", database_url: str, make_run: Maker) -> None:
    terminal.spool(make_run())
    done = terminal("purge", "--yes", PERFDB_DATABASE_URL=database_url)
    assert "is not touched" in done.stderr
    open_engine(database_url).dispose()


NEWER = (
    ("list", "runs"),
    ("list", "series"),
    ("compare",),
    ("history", "matmul"),
    ("ingest",),
    ("up", "--no-measure"),
    ("db", "migrate"),
    ("db", "prune", "--keep-months", "1"),
)


def test_every_verb_that_opens_a_newer_database_refuses_it(
    terminal: "Terminal", database_url: str, make_run: Maker
) -> None:
    engine = open_engine(database_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    engine.dispose()
    url = rendered(make_url(database_url))
    for arguments in NEWER:
        done = terminal(*arguments, PERFDB_DATABASE_URL=url)
        assert done.returncode == 1, arguments
        assert "revision 9999, which this perfdb does not know" in done.stderr, arguments
        assert len(done.stderr.splitlines()) <= 2, arguments
    assert "9999" in terminal("status", PERFDB_DATABASE_URL=url).stdout
    assert "a newer perfdb migrated it" in terminal("doctor", PERFDB_DATABASE_URL=url).stdout


def test_status_tells_folders_logs_and_counts(terminal: "Terminal", make_run: Maker) -> None:
    terminal.spool(make_run())
    terminal("ingest")
    status = terminal.json("status")
    assert (status["runs"], status["measurements"], status["samples"], status["partitions"]) == (1, 1, 3, 2)
    assert (status["estimated"], status["waiting_runs"], status["set_aside_runs"]) == ([], 0, {"ingested": 1})
    folders, logs = status["folders"], status["logs"]
    assert isinstance(folders, list)
    assert isinstance(logs, list)
    assert {"spool"} < {each["name"] for each in folders}
    assert [each["name"] for each in logs] == ["server.log"]
    assert "waiting runs" in terminal("status").stdout


def test_doctor_finds_a_second_data_folder_and_an_unfinished_upgrade(home: Path) -> None:
    settings = Settings(home=home, database_url=None)
    (found,) = clusters_found(settings)
    assert (found.is_ok, found.text) == (True, "none yet")
    for major in (15, 18):
        (home / f"pg{major}").mkdir()
        (home / f"pg{major}" / "PG_VERSION").write_text(f"{major}\n")
    (found,) = clusters_found(settings)
    assert not found.is_ok
    assert "there are 2" in found.text
    (home / "upgrading").mkdir()
    (found,) = clusters_found(settings)
    assert found.action == "perfdb db upgrade"


@pytest.mark.parametrize(
    ("environment", "is_ok"),
    [
        ({}, True),
        ({"http_proxy": "http://p"}, False),
        ({"HTTPS_PROXY": "http://p", "NO_PROXY": "example.org"}, False),
        ({"http_proxy": "http://p", "no_proxy": "localhost,127.0.0.1"}, True),
        ({"http_proxy": "http://p", "NO_PROXY": "*"}, True),
    ],
)
def test_a_proxy_that_would_catch_loopback_is_found(environment: dict[str, str], is_ok: bool) -> None:
    assert proxies(environment).is_ok is is_ok


def completed(terminal: "Terminal", typed: str) -> list[str]:
    """What a real bash offers after ``typed`` and a tab."""
    folder = terminal.folder / "bin"
    folder.mkdir(exist_ok=True)
    (folder / "perfdb").write_text(f'#!/bin/sh\nexec {sys.executable} -P -m perfdb "$@"\n')
    (folder / "perfdb").chmod(0o755)
    words = typed.split(" ")
    program = (
        'eval "$(perfdb completion bash)"; complete -p perfdb >&2; '
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _perfdb_completion perfdb; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{folder}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", program],
        env=terminal.environment | {"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "-F _perfdb_completion perfdb" in done.stderr
    return done.stdout.split()


def test_bash_completes_verbs_options_and_values(terminal: "Terminal") -> None:
    assert completed(terminal, "perfdb hi") == ["history"]
    assert {"backup", "restore", "upgrade", "prune", "migrate", "url"} <= set(completed(terminal, "perfdb db "))
    assert "--keep-months" in completed(terminal, "perfdb db prune --k")
    assert completed(terminal, "perfdb completion z") == ["zsh"]
    assert not (terminal.home / "server.json").exists()


def test_each_shell_gets_its_own_script_and_others_are_wrong_usage(terminal: "Terminal") -> None:
    scripts = [terminal("completion", shell).stdout for shell in ("bash", "zsh", "fish")]
    assert len(set(scripts)) == 3
    assert all("_PERFDB_COMPLETE=complete_" in script for script in scripts)
    assert terminal("completion", "tcsh").returncode == 2
