"""Cached: the only reads of the dashboard, each kept for some seconds and shared by everyone who looks.

What comes back is frozen, so everyone gets the same value: a copy for each reader (``st.cache_data``) would cost more
than the read it saves.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import streamlit as st
from sqlalchemy import Connection, Engine

from perfdb.detect import compare_runs
from perfdb.domain.choice import RunChoice, RunFacets, SeriesChoice
from perfdb.domain.comparison import Comparison
from perfdb.domain.environment import Environment
from perfdb.domain.history import Absence, CaseOutcome, RunMeasurement, RunSummary, Series, SeriesHistory
from perfdb.domain.machine_record import Control, EnvironmentSpan, HardwareSpan, MachineRecord, NoisePoint
from perfdb.errors import StoreError
from perfdb.store import choices, history, outcomes, retention, runs
from perfdb.store import machines as hosts
from perfdb.store.engine import address, explained, open_engine
from perfdb.store.migrations import check_migrated
from perfdb.store.runs import StoreCounts

#: Seconds until a page sees what was ingested meanwhile.
FRESH_S = 10
#: Values kept of each kind of read; the oldest go first.
KEPT = 200

fresh = st.cache_resource(ttl=FRESH_S, max_entries=KEPT, show_spinner=False)


def database_url() -> str:
    """The database this dashboard shows. Raises ``StoreError`` when it was started without one."""
    url = os.environ.get("PERFDB_DATABASE_URL")
    if not url:
        raise StoreError("PERFDB_DATABASE_URL is not set, so there is no database to show; start with: perfdb up")
    return url


@st.cache_resource(show_spinner=False, on_release=Engine.dispose)
def engine(url: str) -> Engine:
    """The one engine of this process. Raises ``StoreError`` when the database is unreachable or not migrated."""
    opened = open_engine(url)
    check_migrated(opened)
    return opened


@contextmanager
def reading(url: str) -> Iterator[Connection]:
    """A connection; a lost one is a ``StoreError``."""
    opened = engine(url)
    with explained(address(url)), opened.connect() as connection:
        yield connection


@fresh
def counts(url: str) -> StoreCounts:
    """How much there is."""
    with reading(url) as connection:
        return runs.summary_counts(connection)


@fresh
def recent_runs(
    url: str, limit: int, repository: str | None, suite: str | None, hostname: str | None
) -> list[RunSummary]:
    """The newest runs, newest first; None takes any."""
    with reading(url) as connection:
        return runs.recent_runs(connection, limit=limit, repository=repository, suite=suite, hostname=hostname)


@fresh
def run_choices(url: str, limit: int) -> list[RunChoice]:
    """The newest runs to pick from."""
    with reading(url) as connection:
        return choices.run_choices(connection, limit=limit)


@fresh
def run_facets(url: str) -> RunFacets:
    """What runs can be filtered by."""
    with reading(url) as connection:
        return choices.run_facets(connection)


@fresh
def branches(url: str) -> list[str]:
    """Measured branches."""
    with reading(url) as connection:
        return choices.branches(connection)


@fresh
def run(url: str, text: str) -> RunSummary:
    """One run by id, SHA prefix or ``latest``."""
    with reading(url) as connection:
        return runs.find_run(connection, text)


@fresh
def comparison(url: str, base: str, head: str) -> Comparison:
    """HEAD against BASE."""
    with reading(url) as connection:
        return compare_runs(connection, base, head)


@fresh
def run_measurements(url: str, run_id: str) -> list[RunMeasurement]:
    """What a run measured, with the verdicts in force."""
    with reading(url) as connection:
        return history.run_measurements(connection, run_id)


@fresh
def run_outcomes(url: str, run_id: str) -> list[CaseOutcome]:
    """How each case of a run ended in each process."""
    with reading(url) as connection:
        return outcomes.run_outcomes(connection, run_id)


@fresh
def flagged(url: str, run_ids: tuple[str, ...]) -> list[RunMeasurement]:
    """Measurements of these runs that look or are changed, newest first."""
    with reading(url) as connection:
        return history.flagged_measurements(connection, run_ids)


@fresh
def failures(url: str, run_ids: tuple[str, ...]) -> list[CaseOutcome]:
    """Cases of these runs that gave no number, newest first."""
    with reading(url) as connection:
        return outcomes.failures(connection, run_ids)


@fresh
def catalogue(url: str) -> list[SeriesChoice]:
    """Every series there is, to pick from."""
    with reading(url) as connection:
        return choices.series_choices(connection)


@fresh
def series(url: str, text: str) -> Series:
    """One series by hash prefix or ``benchmark[axis=value,...]``."""
    with reading(url) as connection:
        return history.find_series(connection, text)


@fresh
def series_history(url: str, digest: str, limit: int | None) -> SeriesHistory:
    """A series with its points, or the newest ``limit`` of them."""
    with reading(url) as connection:
        return history.series_history(connection, digest, limit=limit)


@fresh
def former_names(url: str, digest: str) -> list[str]:
    """What the benchmark of a series was called before."""
    with reading(url) as connection:
        return history.former_names(connection, digest)


@fresh
def absence(url: str, digest: str) -> Absence | None:
    """How long a series was not measured."""
    with reading(url) as connection:
        return history.absence(connection, digest)


@fresh
def is_pruned(url: str, moment: datetime) -> bool:
    """Whether the samples of that month were dropped."""
    with reading(url) as connection:
        return retention.is_pruned(connection, moment)


@fresh
def samples(url: str, digest: str, run_id: str) -> list[tuple[float, ...]]:
    """The samples of one series in one run, a tuple a process."""
    with reading(url) as connection:
        return history.series_samples(connection, digest, run_id)


@fresh
def environments(url: str, digests: tuple[str, ...]) -> dict[str, Environment]:
    """Software facts by digest."""
    with reading(url) as connection:
        return history.environments(connection, digests)


@fresh
def machines(url: str) -> list[MachineRecord]:
    """Every machine that measured, the last one first."""
    with reading(url) as connection:
        return hosts.machines(connection)


@fresh
def hardware_spans(url: str, key: str) -> list[HardwareSpan]:
    """What hardware a machine measured on, the one in use last first."""
    with reading(url) as connection:
        return hosts.hardware_spans(connection, key)


@fresh
def environment_spans(url: str, key: str) -> list[EnvironmentSpan]:
    """What software a machine ran, newest first."""
    with reading(url) as connection:
        return hosts.environment_spans(connection, key)


@fresh
def noise_trend(url: str, key: str) -> list[NoisePoint]:
    """How noisy a machine was over time."""
    with reading(url) as connection:
        return hosts.noise_trend(connection, key)


@fresh
def controls(url: str, key: str, newest: datetime) -> list[Control]:
    """What frozen code did on a machine before its newest run."""
    with reading(url) as connection:
        return hosts.controls(connection, key, newest)
