"""Scale: what people wait for in a store of 5 million measurements over 20,000 series."""

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from statistics import median

from sqlalchemy import Connection, Engine, text

from benchmarks.figure import Figure
from benchmarks.generated import START, first_run
from benchmarks.pages import browser, seconds_until, served
from perfdb.detect import compare_runs
from perfdb.store.engine import open_engine, sibling_database
from perfdb.store.history import run_measurements, series_history
from perfdb.store.ingest import ingest_run
from perfdb.store.migrations import migrate
from perfdb.store.partitions import ensure_month

NIGHTS = 250
GROUPS = 20
TIMES = 15
ONE_SERIES = "SELECT digest FROM series WHERE provider = 'triton' ORDER BY id OFFSET 10000 LIMIT 1"
#: 500 benchmarks of 40 cases; every night 20 runs measure 1,000 series each, with 1 % noise and a verdict a value.
FILL = (
    """INSERT INTO benchmarks (repository_id, name, module, is_control, identity)
       SELECT id, 'benchmark_' || b, 'generated', b % 50 = 0, 'benchmark_' || b
       FROM repositories, generate_series(1, 500) b""",
    """INSERT INTO benchmark_names (repository_id, name, benchmark_id)
       SELECT repository_id, name, id FROM benchmarks ON CONFLICT DO NOTHING""",
    """INSERT INTO cases (benchmark_id, digest, axes, flops, bytes_moved)
       SELECT b.id, substr(md5(b.id || '/' || k), 1, 16), jsonb_build_object('m', 256 * k, 'dtype', 'bfloat16'),
              1e9, 1e6
       FROM benchmarks b, generate_series(1, 40) k WHERE b.name LIKE 'benchmark%'""",
    """INSERT INTO series (digest, key_version, key, repository_id, case_id, provider, protocol, protocol_version,
              metric_id, hardware_id, floor)
       SELECT md5('s' || c.id), 1, '{}', s.repository_id, c.id, 'triton', s.protocol, 1, s.metric_id, s.hardware_id,
              0.01
       FROM series s, cases c JOIN benchmarks b ON b.id = c.benchmark_id WHERE b.name LIKE 'benchmark%'
       ORDER BY c.id""",
    """INSERT INTO commits (repository_id, sha, position, parents, committed_at, subject)
       SELECT repository_id, lpad(to_hex(i), 40, '0'), i, '{}', committed_at + i * interval '1 day', 'Generated ' || i
       FROM commits, generate_series(2, :nights) i WHERE position = 1""",
    """INSERT INTO runs SELECT md5(c.id || '/' || g)::uuid, r.repository_id, c.id, suite_id, machine_id, gpu_unit_id,
              hardware_id, environment_id, 'complete', code_state, difference, branch,
              c.committed_at + g * interval '1 minute', c.committed_at + g * interval '2 minutes',
              1, g, 1000, perfdb_version, now()
       FROM runs r, commits c, generate_series(0, :groups - 1) g""",
    """INSERT INTO measurements
       SELECT s.id, r.started_at, r.id, r.commit_id, v, ARRAY[v]
       FROM runs r JOIN (SELECT id, (row_number() OVER (ORDER BY id) - 1) / 1000 AS part FROM series
            WHERE provider = 'triton') s ON s.part = r.seed,
            LATERAL (SELECT 800 + 8 * random_normal() + 0 * r.seed + 0 * s.id) AS n (v)
       WHERE r.results = 1000 ORDER BY r.started_at, s.id""",
    """INSERT INTO verdicts (run_id, series_id, kind, reason, is_suspect, delta, low, high, smallest_detectable, floor,
              baseline_level, baseline_noise, baseline_count, missing)
       SELECT run_id, series_id, CASE WHEN series_id % 997 = 0 THEN 'undecided' ELSE 'ok' END,
              CASE WHEN series_id % 997 = 0 THEN 'suspect' ELSE 'within_noise' END, series_id % 997 = 0,
              value / 800 - 1, value / 800 - 1.02, value / 800 - 0.98, 0.034, 0.02, 800, 0.01, 100, 0
       FROM measurements ORDER BY started_at""",
    """INSERT INTO outcomes SELECT m.run_id, s.case_id, s.provider, 0, 'measured', m.started_at, '', NULL
       FROM measurements m JOIN series s ON s.id = m.series_id WHERE s.provider = 'triton' ORDER BY m.started_at""",
)


def measure(url: str) -> Iterator[Figure]:
    """The queries on a warm server, then the pages."""
    database = sibling_database(url, "benchmark_scale")
    engine = open_engine(database)
    migrate(engine)
    with engine.begin() as connection:
        if not connection.scalar(text("SELECT count(*) FROM runs")):
            fill(connection)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))
    yield from queries(engine)
    yield from pages(database, engine)
    engine.dispose()


def fill(connection: Connection) -> None:
    """5 million measurements, in the order of their runs."""
    for days in range(0, NIGHTS + 40, 28):
        ensure_month(connection, START + timedelta(days=days))
    ingest_run(connection, first_run("scale"))
    for statement in FILL:
        connection.execute(text(statement), {"nights": NIGHTS, "groups": GROUPS})


def queries(engine: Engine) -> Iterator[Figure]:
    """Each as the median of several, the first left out."""
    with engine.connect() as connection:
        (many,) = connection.execute(text("SELECT count(*) FROM measurements")).one()
        yield Figure("measurements in the store", many, "rows")
        digest = connection.scalar(text(ONE_SERIES))
        base, head = _last_two(connection)
        short = _milliseconds(lambda: series_history(connection, digest, limit=200))
        rows = _milliseconds(lambda: [run_measurements(connection, run) for run in (base, head)])
        whole = _milliseconds(lambda: compare_runs(connection, base, head), times=3)
    yield Figure("history of 200 results", short, "ms", goal="< 5 ms", is_met=short < 5)
    yield Figure("two runs of 1,000 results out of SQL", rows, "ms", goal="< 100 ms", is_met=rows < 100)
    yield Figure("the same, judged against their histories", whole, "ms")


def pages(database: str, engine: Engine) -> Iterator[Figure]:
    """From navigation to content in Chromium."""
    with engine.connect() as connection:
        digest = connection.scalar(text(ONE_SERIES))
        base, head = _last_two(connection)
    table, chart = "table tbody tr", ".js-plotly-plot .scatterlayer .point"
    wanted = {
        "overview": ("", table),
        "series": (f"series?series={digest}", chart),
        "run": (f"run?run={head}", table),
        "machines": ("machines", table),
        "compare": (f"compare?base={base}&head={head}", table),
    }
    with served(database) as address, browser() as page:
        for name, (path, selector) in wanted.items():
            spent = seconds_until(page, f"{address}/{path}", selector)
            yield Figure(f"{name} page", spent, "s", goal="< 1.5 s", is_met=spent < 1.5)


def _last_two(connection: Connection) -> tuple[str, str]:
    """Runs of the same 1,000 series in the last two nights."""
    query = "SELECT id::text FROM runs WHERE seed = 7 ORDER BY started_at DESC LIMIT 2"
    head, base = connection.execute(text(query)).scalars()
    return base, head


def _milliseconds(work: Callable[[], object], times: int = TIMES) -> float:
    return median([_once(work) for _ in range(times + 1)][1:])


def _once(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)
