"""Fixtures: a real PostgreSQL for the session, a fresh migrated database a test, and runs to put into it."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Connection, Engine, make_url

from perfdb.domain.case import Case, Outcome
from perfdb.domain.commit import Code, CodeState, Commit
from perfdb.domain.environment import Environment
from perfdb.domain.hardware import Hardware, Machine
from perfdb.domain.metric import LATENCY
from perfdb.domain.run import CaseResult, Protocol, Reading, Run, RunHeader
from perfdb.store.embedded import EmbeddedServer
from perfdb.store.engine import open_engine
from perfdb.store.migrations import migrate

EPOCH = datetime(2026, 1, 1, 12, tzinfo=UTC)
RunMaker = Callable[..., Run]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """With PERFDB_NO_SKIP, as in CI, a skip is a failure; only what needs a GPU, or the right to mount, may skip."""
    report = yield
    may_skip = item.get_closest_marker("gpu") or item.get_closest_marker("mount")
    if os.environ.get("PERFDB_NO_SKIP") and report.skipped and not may_skip:  # type: ignore[attr-defined]
        report.outcome = "failed"  # type: ignore[attr-defined]
        report.longrepr = f"skipped where nothing may skip: {report.longrepr}"  # type: ignore[attr-defined]
    return report


@pytest.fixture(scope="session")
def shared_home() -> Iterator[Path]:
    """A state folder that PostgreSQL's user can reach, unlike pytest's own when we are root."""
    home = _reachable_folder()
    yield home
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def home() -> Iterator[Path]:
    """A fresh PERFDB_HOME for one test, whose server is stopped afterwards."""
    folder = _reachable_folder()
    yield folder
    if (folder / "server.json").exists():
        EmbeddedServer(folder).stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server_url(shared_home: Path) -> Iterator[str]:
    """The session's PostgreSQL: PERFDB_TEST_DATABASE_URL, else an embedded one, with a migrated template database."""
    given = os.environ.get("PERFDB_TEST_DATABASE_URL")
    if given:
        yield _with_template(given)
    else:
        with EmbeddedServer(shared_home).use() as url:
            yield _with_template(url)


@pytest.fixture
def database_url(server_url: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh, migrated database."""
    name = f"test_{os.getpid()}_{abs(hash(request.node.nodeid))}"
    with _admin(server_url) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{_template()}"')
    yield _database(server_url, name)
    with _admin(server_url) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """An engine on a fresh database."""
    engine = open_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    """A connection in a transaction on a fresh database."""
    with engine.begin() as connection:
        yield connection


@pytest.fixture
def make_run() -> RunMaker:
    """Builds runs; see ``_run`` for what may be said about one."""
    return _run


def _run(  # the story of a run in keywords
    value: float | Sequence[float] = 100.0,
    *,
    position: int | None = 1,
    number: int | None = None,
    benchmark: str = "matmul",
    state: CodeState = CodeState.COMMITTED,
    outcomes: Mapping[str, Outcome] | None = None,
    hours: float | None = None,
    complete: bool = True,
    repository: str = "perfdb",
    torch: str = "2.13.0",
) -> Run:
    """A run of one benchmark, at commit ``position``; one value is three equal processes. ``number`` makes its id."""
    number = number if number is not None else (position or 0)
    started = EPOCH + timedelta(hours=hours if hours is not None else number)
    commit = Commit(f"{position or 0:040x}", (), position, started, f"change {position}")
    versioned = state is not CodeState.UNVERSIONED
    header = RunHeader(
        run_id=str(UUID(int=number + 1)),
        suite="smoke",
        started_at=started,
        code=Code(
            repository, state, commit if versioned else None, "main", "" if state is CodeState.COMMITTED else "d"
        ),
        machine=Machine("key", "host"),
        hardware=Hardware.of(cpu_model="cpu", threads=2),
        environment=Environment.of(torch=torch),
        protocol=Protocol("cpu", 1),
        processes=3,
        seed=7,
        perfdb_version="0.1.0",
        commits=(commit,) if versioned else (),
    )
    values = [value] * 3 if isinstance(value, int | float) else list(value)
    results = [_measured(benchmark, process, each, started) for process, each in enumerate(values)]
    results += [
        CaseResult(name, Case.of(m=1), "eager", 0, outcome, started, detail=f"{name} ended as {outcome}")
        for name, outcome in (outcomes or {}).items()
    ]
    return Run(header, tuple(results), started + timedelta(minutes=1) if complete else None)


def _measured(benchmark: str, process: int, value: float, started: datetime) -> CaseResult:
    readings = (Reading(LATENCY, float(value), (float(value),) * 2),)
    return CaseResult(benchmark, Case.of(m=1), "eager", process, Outcome.MEASURED, started, readings=readings)


def _reachable_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="perfdb-test-"))
    folder.chmod(0o711)
    return folder


def _template() -> str:
    return f"template_{os.getpid()}"


def _with_template(url: str) -> str:
    with _admin(url) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{_template()}"')
        connection.execute(f'CREATE DATABASE "{_template()}"')
    engine = open_engine(_database(url, _template()))
    migrate(engine)
    engine.dispose()
    return url


def _database(url: str, name: str) -> str:
    return make_url(url).set(database=name).render_as_string(hide_password=False)


def _admin(url: str) -> psycopg.Connection[tuple[object, ...]]:
    parsed = make_url(_database(url, "postgres")).set(drivername="postgresql")
    return psycopg.connect(parsed.render_as_string(hide_password=False), autocommit=True)
