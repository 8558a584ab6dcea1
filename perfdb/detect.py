"""Detect: what happens when a run arrives, from its spool file to its verdicts, in one transaction."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sqlalchemy import Connection, Engine

from perfdb.analysis.baseline import FEWEST_RESULTS, LONGEST_HISTORY
from perfdb.analysis.comparison import compare_points, prior_of
from perfdb.analysis.judge import judge_later, judge_point
from perfdb.domain.comparison import Comparison, Delta
from perfdb.domain.history import Point, RunMeasurement, SeriesHistory
from perfdb.domain.run import RunSource, RunState
from perfdb.domain.verdict import Verdict, VerdictKind
from perfdb.errors import PerfdbError, RefusedRunError, SelectionError, SpoolError
from perfdb.spool import SUFFIX, Rejection, SpoolReader
from perfdb.store.history import environments, histories_of_run, run_measurements
from perfdb.store.ingest import IngestReport, ingest_run
from perfdb.store.lineage import line_through
from perfdb.store.processes import earlier_processes
from perfdb.store.runs import find_run
from perfdb.store.verdicts import later_runs, mark_judged, save_verdicts

#: Series that are judged at once.
BATCH = 250


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one spool file: a report, or the sentence that says why it was refused."""

    path: Path
    report: IngestReport | None = None
    rejections: tuple[Rejection, ...] = ()
    refusal: str = ""


def ingest_file(engine: Engine, path: Path) -> FileReport:
    """Store and judge one spool file in one transaction. Raises ``SpoolError`` when the file is refused."""
    reader = SpoolReader(path)
    with _named(path), engine.begin() as connection:
        report = receive(connection, reader)
    return FileReport(path, report, reader.rejections)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Put the file's name before a refusal by the store, which knows the run alone."""
    try:
        yield
    except RefusedRunError as refusal:
        raise RefusedRunError(f"{path}: {refusal}") from refusal


def ingest_files(engine: Engine, paths: Iterable[Path]) -> list[FileReport]:
    """Store and judge files one by one; one that is refused does not hold up the others."""
    reports = []
    for path in paths:
        try:
            reports.append(ingest_file(engine, path))
        except PerfdbError as refusal:
            reports.append(FileReport(path, refusal=str(refusal)))
    return reports


def ingest_folder(engine: Engine, spool: Path, ingested: Path) -> list[FileReport]:
    """Store and judge every waiting file, oldest first. A complete run's file moves to ``ingested``; others wait on.

    Raises ``SpoolError`` when stored files cannot be moved.
    """
    reports = ingest_files(engine, _waiting(spool))
    for done in reports:
        if done.report and done.report.state is RunState.COMPLETE:
            _set_aside(done.path, ingested)
    return [report for report in reports if not (report.refusal and _was_taken(report.path, ingested))]


def _waiting(spool: Path) -> list[Path]:
    """Oldest first; a file that another process moves away meanwhile no longer waits."""
    ages: dict[Path, int] = {}
    for path in spool.glob(f"*{SUFFIX}"):
        with suppress(FileNotFoundError):
            ages[path] = path.stat().st_mtime_ns
    return sorted(ages, key=lambda path: (ages[path], path.name))


def _set_aside(path: Path, ingested: Path) -> None:
    try:
        ingested.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # another process that ingests was faster
            path.replace(ingested / path.name)
    except OSError as error:
        raise SpoolError(
            f"{path} is stored but cannot be moved to {ingested}: {error.strerror}; fix the rights of that folder"
        ) from error


def _was_taken(path: Path, ingested: Path) -> bool:
    """Whether another process ingested and moved the file before it was read here."""
    return not path.exists() and (ingested / path.name).exists()


def receive(connection: Connection, run: RunSource) -> IngestReport:
    """Store a run and judge it; a run that arrives late has the later ones judged again."""
    report = ingest_run(connection, run)
    if report.is_changed and report.state is RunState.COMPLETE:
        judge_run(connection, report.run_id)
        _judge_later(connection, report.run_id)
    return report


def judge_run(connection: Connection, run_id: str, *, window: int = LONGEST_HISTORY) -> int:
    """Judge every series of a run against its history; gives how many verdicts are new."""
    new = 0
    for histories in _batched(histories_of_run(connection, run_id, limit=window)):
        verdicts = {history.series.digest: judge_point(history, run_id) for history in histories}
        new += save_verdicts(connection, run_id, verdicts)
    mark_judged(connection, run_id)
    return new


def _judge_later(connection: Connection, run_id: str) -> None:
    """Judge again what a run that arrived late is now part of the baseline of."""
    later = later_runs(connection, run_id)
    line = line_through(connection, run_id, later)
    if line is None:
        return
    for histories in _batched(histories_of_run(connection, run_id, limit=LONGEST_HISTORY, line=line)):
        again = {history.series.digest: judge_later(history, run_id, set(later)) for history in histories}
        for run in later:
            verdicts = {digest: by_run[run] for digest, by_run in again.items() if run in by_run}
            if verdicts:
                save_verdicts(connection, run, verdicts)
                mark_judged(connection, run)


def _batched(histories: Iterable[SeriesHistory]) -> Iterator[list[SeriesHistory]]:
    """Lists of a size that memory holds, however many series a run has."""
    waiting = iter(histories)
    while batch := list(islice(waiting, BATCH)):
        yield batch


def compare_runs(connection: Connection, base: str, head: str, *, repository: str | None = None) -> Comparison:
    """HEAD against BASE, judged by their processes. Raises ``SelectionError`` for unknown runs, or one run twice."""
    head_run = find_run(connection, head, repository=repository)
    base_run = find_run(connection, base, like=head_run)
    if base_run.run_id == head_run.run_id:
        raise SelectionError(
            f"{base} and {head} are the same run {base_run.run_id[:8]}; choose two with: perfdb list runs"
        )
    old = {m.series.digest: m for m in run_measurements(connection, base_run.run_id)}
    new = {m.series.digest: m for m in run_measurements(connection, head_run.run_id)}
    past = earlier_processes(connection, head_run.run_id, without=(base_run.run_id,))
    deltas = [_delta(old[digest], head, past.get(digest, ())) for digest, head in new.items() if digest in old]
    facts = environments(connection, (base_run.environment, head_run.environment))
    return Comparison(
        base=base_run,
        head=head_run,
        deltas=tuple(sorted(deltas, key=_by_evidence)),
        only_base=tuple(m.series for digest, m in old.items() if digest not in new),
        only_head=tuple(m.series for digest, m in new.items() if digest not in old),
        environment_changes=facts[base_run.environment].changes_to(facts[head_run.environment]),
    )


def _delta(base: RunMeasurement, head: RunMeasurement, past: Iterable[Sequence[float]]) -> Delta:
    """One series of two runs, with what its history says about its noise."""
    noise = next((noise for noise in map(_known_noise, (head.point, base.point)) if noise is not None), None)
    return Delta(
        head.series, base.point, head.point, compare_points(head.series, base.point, head.point, prior_of(past), noise)
    )


def _known_noise(point: Point) -> float | None:
    """The noise of the baseline that a point was judged against, where that held enough results to tell."""
    baseline = point.verdict.baseline if point.verdict else None
    return baseline.noise if baseline and baseline.count >= FEWEST_RESULTS else None


def _by_evidence(delta: Delta) -> tuple[int, float, str]:
    """Changes first, then what is undecided, then the rest; the largest first within each."""
    rank = {VerdictKind.REGRESSION: 0, VerdictKind.IMPROVEMENT: 1, VerdictKind.UNDECIDED: 2, VerdictKind.OK: 3}
    return (rank[delta.verdict.kind], -abs(_size(delta.verdict)), delta.series.label)


def _size(verdict: Verdict) -> float:
    return verdict.delta or 0.0
