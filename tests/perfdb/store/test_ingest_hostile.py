"""Hostile spool files at a real PostgreSQL: stored as they were read, or refused whole in one sentence."""

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from perfdb.detect import FileReport, ingest_file, ingest_files, receive
from perfdb.domain.case import Outcome
from perfdb.domain.run import Run
from perfdb.errors import PerfdbError
from perfdb.record import encode_header, encode_result
from perfdb.spool import read_spool
from perfdb.store import intake, roster
from perfdb.store.refusals import refused

Maker = Callable[..., Run]
Record = Mapping[str, Any]
END = {"v": 1, "kind": "end", "finished_at": "2026-01-02T13:00:00+00:00"}
ROWS = ("runs", "measurements", "samples", "outcomes", "series", "cases", "benchmarks", "machines", "commits")
LATENCY = {"name": "latency", "unit": "us", "better": "lower"}
a_few = settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


class Spool:
    """Writes files of one run after the other."""

    def __init__(self, folder: Path, run: Run) -> None:
        self.path = folder / "hostile.jsonl"
        self.head: Record = {"v": 1, **encode_header(run.header)}
        self.result: Record = {"v": 1, **encode_result(run.results[0])}
        self.runs = 0

    def file(self, *results: Record, **change: Any) -> Path:
        """A file of a new run; ``change`` is what its header says otherwise."""
        self.runs += 1
        head = {**self.head, "run_id": str(UUID(int=self.runs)), **change}
        self.path.write_text("".join(f"{json.dumps(record)}\n" for record in (head, *results, END)))
        return self.path

    def said(self, **change: Any) -> Record:
        """A result that says otherwise."""
        return {**self.result, **change}

    def read(self, value: float = 1.0, samples: Sequence[float] = (1.0,), **metric: str) -> Record:
        """A reading."""
        return {"metric": {**LATENCY, **metric}, "value": value, "samples": list(samples)}


@pytest.fixture
def spool(tmp_path: Path, make_run: Maker) -> Spool:
    return Spool(tmp_path, make_run(number=0))


def rows(engine: Engine) -> Counter[str]:
    with engine.connect() as connection:
        return Counter({table: counted(connection, table) for table in ROWS})


def counted(connection: Connection, table: str) -> int:
    return int(connection.scalar(text(f"SELECT count(*) FROM {table}")) or 0)


def expected(run: Run) -> Counter[str]:
    """A simple recount: the first result of a case, provider and process counts, and one failure leaves no number."""
    first = {(r.benchmark, r.case.digest, r.provider, r.process): r for r in reversed(run.results)}
    failed = {key[:3] for key, r in first.items() if r.outcome is not Outcome.MEASURED}
    good = [(key[:3], g) for key, r in first.items() for g in r.readings if key[:3] not in failed]
    return Counter(
        outcomes=len(first),
        measurements=len({(key, g.metric.name) for key, g in good}),
        samples=sum(bool(g.samples) for _, g in good),
    )


def stored_as_read(engine: Engine, path: Path) -> FileReport:
    """Ingest a file, and count that the store has what the reader gave and nothing else."""
    before, wanted = rows(engine), expected(read_spool(path).run)
    report = ingest_file(engine, path)
    assert report.report is not None
    grown = rows(engine) - before
    assert {table: grown[table] for table in wanted} == dict(wanted)
    assert (report.report.measurements, report.report.outcomes) == (wanted["measurements"], len_results(path))
    check_whole(engine)
    return report


def len_results(path: Path) -> int:
    return len(read_spool(path).run.results)


def check_whole(engine: Engine) -> None:
    """Every measurement has its series, every outcome its case, and every value is a number."""
    lost = """
        SELECT (SELECT count(*) FROM measurements m WHERE NOT EXISTS (SELECT FROM series s WHERE s.id = m.series_id)),
               (SELECT count(*) FROM outcomes o WHERE NOT EXISTS (SELECT FROM cases c WHERE c.id = o.case_id)),
               (SELECT count(*) FROM measurements WHERE value IN ('NaN', 'Infinity', '-Infinity'))
    """
    with engine.connect() as connection:
        assert tuple(connection.execute(text(lost)).one()) == (0, 0, 0)


def refused_whole(engine: Engine, path: Path) -> str:
    """The sentence that refuses a file, which leaves no row."""
    before = rows(engine)
    with pytest.raises(PerfdbError) as error:
        ingest_file(engine, path)
    assert rows(engine) == before
    said = str(error.value)
    assert path.name in said
    assert said.isprintable()
    return said


names = st.sampled_from(["matmul", "", "\x1b[2J", "\u202ea", "a\nb", "🚀" * 200, "x" * 200, "a'; --", "\ufeff", "{}"])
numbers = st.sampled_from([0, -0.0, 1, -1, 3.4e38, -3.4e38, 5e-324, 1e-320, 1.5, 1e22, 2**53 + 1, 1e-7])
axes = st.dictionaries(names, names | numbers | st.booleans() | st.sampled_from([2**63 - 1, -(2**63)]), max_size=4)
metrics = st.fixed_dictionaries({"name": names, "unit": names, "better": st.sampled_from(["lower", "higher"])})
readings = st.lists(
    st.fixed_dictionaries({"metric": metrics, "value": numbers, "samples": st.lists(numbers, max_size=3)}), max_size=3
)
results = st.lists(
    st.fixed_dictionaries(
        {
            "benchmark": names,
            "case": axes,
            "provider": names,
            "process": st.sampled_from([0, 1, 2, 32_767]),
            "readings": readings,
            "outcome": st.sampled_from(["measured", "measured", "measured", "failed"]),
            "detail": names,
            "module": names,
            "floor": numbers | st.none(),
            "cost": st.fixed_dictionaries({"flops": numbers, "bytes": numbers}) | st.none(),
            "first_call_s": numbers | st.none(),
            "is_control": st.booleans(),
        }
    ),
    max_size=6,
)


@a_few
@given(results=results, processes=st.sampled_from([0, 1, 3, 32_767]), repository=names)
def test_any_results_are_stored_as_they_were_read(
    engine: Engine, spool: Spool, results: list[Record], processes: int, repository: str
) -> None:
    said = [spool.said(**r) for r in results]
    code = {**spool.head["code"], "repository": repository}
    stored_as_read(engine, spool.file(*said, *said[:1], processes=processes, code=code))


heads = st.fixed_dictionaries(
    {},
    optional={
        "suite": names,
        "started_at": st.sampled_from(
            [
                "1970-01-01T00:00:00Z",
                "9000-12-31T23:59:59.999999Z",
                "2026-02-01T13:59:00+14:00",
                "2026-01-31T12:00-12:00",
            ]
        ),
        "machine": st.fixed_dictionaries(
            {
                "key": names,
                "hostname": names | st.just("h" * 10**6),
                "gpu": st.fixed_dictionaries({"uuid_digest": names, "name": names, "vbios": names | st.none()}),
            }
        ),
        "hardware": st.dictionaries(names | st.just("cls"), names | numbers | st.none(), max_size=3),
        "environment": st.dictionaries(names | st.just("cls"), names | st.none(), max_size=3),
        "protocol": st.fixed_dictionaries({"name": names, "version": st.sampled_from([0, 32_767])}),
        "processes": st.sampled_from([0, 32_767]),
        "seed": st.sampled_from([2**63 - 1, -(2**63)]),
        "perfdb": names | st.just("p" * 10**6),
        "commits": st.lists(
            st.fixed_dictionaries(
                {
                    "sha": st.sampled_from(["a" * 40, "b" * 40, "c" * 64]),
                    "parents": st.lists(st.just("d" * 40), max_size=2),
                    "position": st.sampled_from([None, 2**63 - 1, -(2**63), 0]),
                    "committed_at": st.just("1970-01-01T00:00:00Z"),
                    "subject": names | st.just("s" * 10**6),
                }
            ),
            max_size=3,
        ),
    },
)


@a_few
@given(head=heads)
def test_any_header_that_can_be_read_can_be_stored(engine: Engine, spool: Spool, head: Record) -> None:
    stored_as_read(engine, spool.file(spool.result, spool.said(process=1), **head))


UNFIT: Sequence[Record] = [
    {"processes": 2**15},
    {"processes": 70_000},
    {"seed": 2**63},
    {"protocol": {"name": "cpu", "version": 2**31}},
    {"suite": "s" * 2705},
    {"suite": "\0"},
    {"suite": "\ud800"},
    {"hardware": {"gpu_name": "\0"}},
    {"environment": {"\ud800": "1"}},
    {"started_at": "9999-12-31T23:59:59Z"},
    {"started_at": "0001-01-01T00:00:00+14:00"},
    {"run_id": "run'); DROP TABLE runs; --"},
    {"v": 2},
    {"v": 10**4000},
]


def test_a_header_that_the_store_could_not_hold_leaves_no_row(engine: Engine, spool: Spool) -> None:
    for change in UNFIT:
        said = refused_whole(engine, spool.file(spool.result, **change))
        assert "line 1 " in said, change
        assert len(said) < len(str(spool.path)) + 400
    assert stored_as_read(engine, spool.file(spool.result)).rejections == ()


def test_a_metric_that_one_result_says_twice_loses_its_line(engine: Engine, spool: Spool) -> None:
    twice = spool.said(readings=[spool.read(1.0), spool.read(2.0)])
    report = stored_as_read(engine, spool.file(twice, spool.said(process=1)))
    assert [(r.line, r.reason) for r in report.rejections] == [(2, "says 2 readings of 1 metrics")]


def test_a_metric_in_two_units_is_never_one_value(engine: Engine, spool: Spool) -> None:
    results = [spool.said(process=n, readings=[spool.read(2.0, unit=unit)]) for n, unit in enumerate(("us", "s", "us"))]
    report = stored_as_read(engine, spool.file(*results))
    assert [r.line for r in report.rejections] == [3]
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT process_values FROM measurements")) == [2.0, 2.0]


def test_a_thousand_metrics_of_one_result_are_a_thousand_series(engine: Engine, spool: Spool) -> None:
    thousand = [spool.read(float(n), name=f"m{n}") for n in range(1000)]
    report = stored_as_read(engine, spool.file(spool.said(readings=thousand), spool.said(process=1, readings=thousand)))
    assert report.report is not None
    assert (report.report.measurements, rows(engine)["series"]) == (1000, 1000)


def test_the_longest_cases_fit_in_one_statement(engine: Engine, spool: Spool) -> None:
    def longest(n: int) -> Record:
        return {f"{axis:02}" + "🚀" * 198: f"{n:05}" + "🚀" * 195 for axis in range(64)}

    stored_as_read(engine, spool.file(*(spool.said(case=longest(n)) for n in range(20))))


def test_a_block_ends_when_its_numbers_fill_it(engine: Engine, spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "MOST_NUMBERS", 500)
    many = [spool.read(1.0, (1.0,) * 300)]
    results = [spool.said(case={"m": n}, process=p, readings=many) for p in range(3) for n in range(9)]
    report = stored_as_read(engine, spool.file(*results, *results[:3]))
    assert report.report is not None
    assert report.report.repeated == 3


def test_a_run_of_too_many_processes_is_refused_by_its_file(
    engine: Engine, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "MOST_CELLS", 40_000)
    wide = [spool.said(case={"m": n}, process=32_767) for n in range(2)]
    assert "more than one run may hold; split it" in refused_whole(engine, spool.file(*wide))


def test_more_providers_than_the_roster_tells_apart_are_refused(
    engine: Engine, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roster, "_PROVIDERS", 8)
    stored_as_read(engine, spool.file(*(spool.said(provider=f"p{n}") for n in range(8))))
    said = refused_whole(engine, spool.file(*(spool.said(provider=f"p{n}") for n in range(9))))
    assert "more than 8 providers" in said


@pytest.mark.parametrize("formerly", [["b"], ["b", "z"], ["z"]])
def test_a_run_that_renames_what_it_measured_is_refused(
    engine: Engine, spool: Spool, monkeypatch: pytest.MonkeyPatch, formerly: list[str]
) -> None:
    monkeypatch.setattr(intake, "BLOCK", 2)
    stored_as_read(engine, spool.file(spool.said(benchmark="z")))
    two = [spool.said(benchmark=name) for name in ("a", "b")]
    late = spool.said(benchmark="a", process=1, formerly=formerly)
    said = refused_whole(engine, spool.file(*two, late, spool.said(benchmark="b", process=2)))
    assert "says later that it is the same benchmark as another; declare that from the start" in said
    stored_as_read(engine, spool.file(*two))


@pytest.mark.parametrize("formerly", [("a", ["b"]), ("a", ["a", "a"]), ("a", ["nobody"] * 100), ("b", ["a", "b", ""])])
def test_names_that_go_in_rings_are_stored_whole(engine: Engine, spool: Spool, formerly: tuple[str, list[str]]) -> None:
    name, former = formerly
    for process in range(2):
        path = spool.file(
            spool.said(benchmark="a", process=process, formerly=["b"]),
            spool.said(benchmark="b", process=process, formerly=["a"]),
            spool.said(benchmark=name, process=process + 2, formerly=former),
        )
        ingest_file(engine, path)
        check_whole(engine)


def test_a_history_of_extreme_values_is_judged(engine: Engine, make_run: Maker) -> None:
    extremes = [0.0, -1.0, 3.4e38, -3.4e38, 5e-324, 1e-320, 1.0]
    with engine.begin() as connection:
        for position in range(1, 40):
            values = [extremes[(position * k) % len(extremes)] for k in (1, 2, 4)]
            assert receive(connection, make_run(values, position=position)).measurements == 1
        odd = "SELECT count(*) FROM verdicts WHERE delta IN ('NaN', 'Infinity', '-Infinity')"
        assert (counted(connection, "verdicts"), connection.scalar(text(odd))) == (39, 0)


def test_a_jump_from_an_extreme_level_is_judged(engine: Engine, make_run: Maker) -> None:
    jumps = (1.0, 3.4e38, -3.4e38, 0.0, 5e-324)
    with engine.begin() as connection:
        for start, level in enumerate((0.0, -1.0, 3.4e38, 5e-324)):
            for position, value in enumerate([level] * 16 + list(jumps), start=100 * start):
                assert receive(connection, make_run(value, position=position, repository=str(level))).measurements == 1
        assert counted(connection, "verdicts") == 4 * 21


def test_what_only_the_database_refuses_is_one_sentence_and_holds_up_nobody(engine: Engine, spool: Spool) -> None:
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE outcomes ADD CHECK (detail <> 'unlucky')"))
        connection.execute(text("CREATE INDEX ON machines (hostname)"))
    unlucky = spool.file(spool.said(detail="unlucky"))
    assert "the store refuses run 0000" in refused_whole(engine, unlucky)
    wide = spool.file(spool.result, machine={"key": "k", "hostname": os.urandom(5000).hex(), "gpu": None})
    said = refused_whole(engine, wide)
    assert "index row requires" in said
    assert said.endswith("move the file aside, and report this")
    bad = wide.rename(wide.with_name("bad.jsonl"))
    first, second = ingest_files(engine, [bad, spool.file(spool.result)])
    assert "bad.jsonl" in first.refusal
    assert second.report is not None


def test_a_lost_connection_is_no_refusal_of_the_run(engine: Engine) -> None:
    ending = text("SELECT pg_terminate_backend(pg_backend_pid())")
    with pytest.raises(OperationalError, match="terminating"), engine.connect() as connection, refused("r"):
        connection.execute(ending)
