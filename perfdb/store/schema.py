"""Schema: the tables of the store. Enums are text with a CHECK; measurements and samples are partitioned by month."""

from collections.abc import Iterable
from enum import StrEnum

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, REAL

from perfdb.domain.case import Outcome
from perfdb.domain.commit import CodeState
from perfdb.domain.metric import Better
from perfdb.domain.run import RunState
from perfdb.domain.verdict import Reason, VerdictKind

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _one_of(column: str, values: Iterable[StrEnum]) -> CheckConstraint:
    listed = ", ".join(f"'{value.value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


def _surrogate() -> Column[int]:
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def _to(target: str, name: str, *, optional: bool = False) -> Column[int]:
    return Column(name, BigInteger, ForeignKey(f"{target}.id"), nullable=optional)


repositories = Table("repositories", metadata, _surrogate(), Column("name", Text, nullable=False, unique=True))

commits = Table(
    "commits",
    metadata,
    _surrogate(),
    _to("repositories", "repository_id"),
    Column("sha", Text, nullable=False),
    Column("position", BigInteger),
    Column("parents", ARRAY(Text), nullable=False),
    Column("committed_at", DateTime(timezone=True), nullable=False),
    Column("subject", Text, nullable=False),
    UniqueConstraint("repository_id", "sha"),
    Index(None, "repository_id", "position"),
)

gpu_units = Table(
    "gpu_units",
    metadata,
    _surrogate(),
    Column("uuid_digest", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("vbios", Text),
)

machines = Table(
    "machines",
    metadata,
    _surrogate(),
    Column("key", Text, nullable=False, unique=True),
    Column("hostname", Text, nullable=False),
)

hardware = Table(
    "hardware",
    metadata,
    _surrogate(),
    Column("digest", Text, nullable=False, unique=True),
    Column("label", Text, nullable=False),
    Column("facts", JSONB, nullable=False),
)

environments = Table(
    "environments",
    metadata,
    _surrogate(),
    Column("digest", Text, nullable=False, unique=True),
    Column("facts", JSONB, nullable=False),
)

suites = Table("suites", metadata, _surrogate(), Column("name", Text, nullable=False, unique=True))

benchmarks = Table(
    "benchmarks",
    metadata,
    _surrogate(),
    _to("repositories", "repository_id"),
    Column("name", Text, nullable=False),
    Column("module", Text, nullable=False),
    Column("is_control", Boolean, nullable=False),
    # the name in the keys of its series: the first it had
    Column("identity", Text, nullable=False),
    UniqueConstraint("repository_id", "name"),
)

#: Every name that a benchmark has or had.
benchmark_names = Table(
    "benchmark_names",
    metadata,
    _surrogate(),
    _to("repositories", "repository_id"),
    Column("name", Text, nullable=False),
    _to("benchmarks", "benchmark_id"),
    UniqueConstraint("repository_id", "name"),
    Index(None, "benchmark_id"),
)

cases = Table(
    "cases",
    metadata,
    _surrogate(),
    _to("benchmarks", "benchmark_id"),
    Column("digest", Text, nullable=False),
    Column("axes", JSONB, nullable=False),
    Column("flops", Double),
    Column("bytes_moved", Double),
    UniqueConstraint("benchmark_id", "digest"),
)

metrics = Table(
    "metrics",
    metadata,
    _surrogate(),
    Column("name", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("better", Text, nullable=False),
    UniqueConstraint("name", "unit", "better"),
    _one_of("better", Better),
)

series = Table(
    "series",
    metadata,
    _surrogate(),
    Column("digest", Text, nullable=False, unique=True),
    Column("key_version", SmallInteger, nullable=False),
    Column("key", JSONB, nullable=False),
    _to("repositories", "repository_id"),
    _to("cases", "case_id"),
    Column("provider", Text, nullable=False),
    Column("protocol", Text, nullable=False),
    Column("protocol_version", Integer, nullable=False),
    _to("metrics", "metric_id"),
    _to("hardware", "hardware_id"),
    Column("floor", Double),
    Index(None, "repository_id"),
    Index(None, "case_id"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Uuid, primary_key=True),
    _to("repositories", "repository_id"),
    _to("commits", "commit_id", optional=True),
    _to("suites", "suite_id"),
    _to("machines", "machine_id"),
    _to("gpu_units", "gpu_unit_id", optional=True),
    _to("hardware", "hardware_id"),
    _to("environments", "environment_id"),
    Column("state", Text, nullable=False),
    Column("code_state", Text, nullable=False),
    Column("difference", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("started_at", DateTime(timezone=True), nullable=False),
    Column("finished_at", DateTime(timezone=True)),
    Column("processes", Integer, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("results", Integer, nullable=False),
    Column("perfdb_version", Text, nullable=False),
    Column("judged_at", DateTime(timezone=True)),
    _one_of("state", RunState),
    _one_of("code_state", CodeState),
    Index(None, "repository_id", "started_at"),
    Index(None, "commit_id"),
)

# No foreign keys on the big tables: ingest writes them in the transaction that writes what they point to, and checking
# two keys of every outcome took as long as all the rest of it.
measurements = Table(
    "measurements",
    metadata,
    Column("series_id", BigInteger, nullable=False),
    Column("started_at", DateTime(timezone=True), nullable=False),
    Column("run_id", Uuid, nullable=False),
    Column("commit_id", BigInteger),
    Column("value", Double, nullable=False),
    Column("process_values", ARRAY(Double), nullable=False),
    PrimaryKeyConstraint("series_id", "started_at", "run_id"),
    Index("ix_measurements_history", "series_id", text("started_at DESC"), postgresql_include=["run_id", "value"]),
    Index("ix_measurements_commit", "commit_id", postgresql_using="brin"),
    Index(None, "run_id"),
    postgresql_partition_by="RANGE (started_at)",
)

samples = Table(
    "samples",
    metadata,
    Column("series_id", BigInteger, nullable=False),
    Column("started_at", DateTime(timezone=True), nullable=False),
    Column("run_id", Uuid, nullable=False),
    Column("process", SmallInteger, nullable=False),
    Column("values", ARRAY(REAL), nullable=False),
    PrimaryKeyConstraint("run_id", "series_id", "process", "started_at"),
    postgresql_partition_by="RANGE (started_at)",
)

outcomes = Table(
    "outcomes",
    metadata,
    Column("run_id", Uuid, nullable=False),
    Column("case_id", BigInteger, nullable=False),
    Column("provider", Text, nullable=False),
    Column("process", SmallInteger, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("ended_at", DateTime(timezone=True), nullable=False),
    Column("detail", Text, nullable=False),
    Column("first_call_s", Double),
    PrimaryKeyConstraint("run_id", "case_id", "provider", "process"),
    _one_of("outcome", Outcome),
    Index("ix_outcomes_failed", "run_id", postgresql_where=text("outcome <> 'measured'")),
)

#: Verdicts that people are shown first.
FLAGGED = "is_suspect OR kind IN ('regression', 'improvement')"

#: Rows are only ever added: the newest row of a run and series is the verdict in force.
verdicts = Table(
    "verdicts",
    metadata,
    _surrogate(),
    Column("run_id", Uuid, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    _to("series", "series_id"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=text("now()")),
    Column("kind", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("is_suspect", Boolean, nullable=False),
    Column("delta", Double),
    Column("low", Double),
    Column("high", Double),
    Column("smallest_detectable", Double),
    Column("floor", Double),
    Column("baseline_level", Double),
    Column("baseline_noise", Double),
    Column("baseline_count", Integer),
    Column("missing", Integer, nullable=False),
    _one_of("kind", VerdictKind),
    _one_of("reason", Reason),
    Index("ix_verdicts_in_force", "run_id", "series_id", text("id DESC")),
    Index("ix_verdicts_flagged", "run_id", postgresql_where=text(FLAGGED)),
)
