"""Create the store."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "environments",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("facts", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_environments")),
        sa.UniqueConstraint("digest", name=op.f("uq_environments_digest")),
    )
    op.create_table(
        "gpu_units",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("uuid_digest", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("vbios", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gpu_units")),
        sa.UniqueConstraint("uuid_digest", name=op.f("uq_gpu_units_uuid_digest")),
    )
    op.create_table(
        "hardware",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("facts", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_hardware")),
        sa.UniqueConstraint("digest", name=op.f("uq_hardware_digest")),
    )
    op.create_table(
        "machines",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("hostname", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_machines")),
        sa.UniqueConstraint("key", name=op.f("uq_machines_key")),
    )
    op.create_table(
        "measurements",
        sa.Column("series_id", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("commit_id", sa.BigInteger(), nullable=True),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("process_values", sa.ARRAY(sa.Double()), nullable=False),
        sa.PrimaryKeyConstraint("series_id", "started_at", "run_id", name=op.f("pk_measurements")),
        postgresql_partition_by="RANGE (started_at)",
    )
    op.create_index("ix_measurements_commit", "measurements", ["commit_id"], unique=False, postgresql_using="brin")
    op.create_index(
        "ix_measurements_history",
        "measurements",
        ["series_id", sa.literal_column("started_at DESC")],
        unique=False,
        postgresql_include=["run_id", "value"],
    )
    op.create_index(op.f("ix_measurements_run_id"), "measurements", ["run_id"], unique=False)
    op.create_table(
        "metrics",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("better", sa.Text(), nullable=False),
        sa.CheckConstraint("better IN ('lower', 'higher')", name=op.f("ck_metrics_better")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metrics")),
        sa.UniqueConstraint("name", "unit", "better", name=op.f("uq_metrics_name_unit_better")),
    )
    op.create_table(
        "repositories",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_repositories")),
        sa.UniqueConstraint("name", name=op.f("uq_repositories_name")),
    )
    op.create_table(
        "samples",
        sa.Column("series_id", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("process", sa.SmallInteger(), nullable=False),
        sa.Column("values", sa.ARRAY(sa.REAL()), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "series_id", "process", "started_at", name=op.f("pk_samples")),
        postgresql_partition_by="RANGE (started_at)",
    )
    op.create_table(
        "suites",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suites")),
        sa.UniqueConstraint("name", name=op.f("uq_suites_name")),
    )
    op.create_table(
        "benchmarks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("module", sa.Text(), nullable=False),
        sa.Column("is_control", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["repository_id"], ["repositories.id"], name=op.f("fk_benchmarks_repository_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_benchmarks")),
        sa.UniqueConstraint("repository_id", "name", name=op.f("uq_benchmarks_repository_id_name")),
    )
    op.create_table(
        "commits",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("sha", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=True),
        sa.Column("parents", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("committed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["repository_id"], ["repositories.id"], name=op.f("fk_commits_repository_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_commits")),
        sa.UniqueConstraint("repository_id", "sha", name=op.f("uq_commits_repository_id_sha")),
    )
    op.create_index(op.f("ix_commits_repository_id_position"), "commits", ["repository_id", "position"], unique=False)
    op.create_table(
        "cases",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("benchmark_id", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("axes", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("flops", sa.Double(), nullable=True),
        sa.Column("bytes_moved", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["benchmark_id"], ["benchmarks.id"], name=op.f("fk_cases_benchmark_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cases")),
        sa.UniqueConstraint("benchmark_id", "digest", name=op.f("uq_cases_benchmark_id_digest")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("commit_id", sa.BigInteger(), nullable=True),
        sa.Column("suite_id", sa.BigInteger(), nullable=False),
        sa.Column("machine_id", sa.BigInteger(), nullable=False),
        sa.Column("gpu_unit_id", sa.BigInteger(), nullable=True),
        sa.Column("hardware_id", sa.BigInteger(), nullable=False),
        sa.Column("environment_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("code_state", sa.Text(), nullable=False),
        sa.Column("difference", sa.Text(), nullable=False),
        sa.Column("branch", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("processes", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("results", sa.Integer(), nullable=False),
        sa.Column("perfdb_version", sa.Text(), nullable=False),
        sa.Column("judged_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("code_state IN ('committed', 'dirty', 'unversioned')", name=op.f("ck_runs_code_state")),
        sa.CheckConstraint("state IN ('complete', 'incomplete')", name=op.f("ck_runs_state")),
        sa.ForeignKeyConstraint(["commit_id"], ["commits.id"], name=op.f("fk_runs_commit_id")),
        sa.ForeignKeyConstraint(["environment_id"], ["environments.id"], name=op.f("fk_runs_environment_id")),
        sa.ForeignKeyConstraint(["gpu_unit_id"], ["gpu_units.id"], name=op.f("fk_runs_gpu_unit_id")),
        sa.ForeignKeyConstraint(["hardware_id"], ["hardware.id"], name=op.f("fk_runs_hardware_id")),
        sa.ForeignKeyConstraint(["machine_id"], ["machines.id"], name=op.f("fk_runs_machine_id")),
        sa.ForeignKeyConstraint(["repository_id"], ["repositories.id"], name=op.f("fk_runs_repository_id")),
        sa.ForeignKeyConstraint(["suite_id"], ["suites.id"], name=op.f("fk_runs_suite_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_commit_id"), "runs", ["commit_id"], unique=False)
    op.create_index(op.f("ix_runs_repository_id_started_at"), "runs", ["repository_id", "started_at"], unique=False)
    op.create_table(
        "outcomes",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("case_id", sa.BigInteger(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("process", sa.SmallInteger(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("first_call_s", sa.Double(), nullable=True),
        sa.CheckConstraint(
            "outcome IN ('measured', 'wrong_result', 'out_of_memory', 'timed_out', 'unsupported', 'failed', 'skipped')",
            name=op.f("ck_outcomes_outcome"),
        ),
        sa.ForeignKeyConstraint(["case_id"], ["cases.id"], name=op.f("fk_outcomes_case_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_outcomes_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "case_id", "provider", "process", name=op.f("pk_outcomes")),
    )
    op.create_index(
        "ix_outcomes_failed", "outcomes", ["run_id"], unique=False, postgresql_where=sa.text("outcome <> 'measured'")
    )
    op.create_table(
        "series",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("key_version", sa.SmallInteger(), nullable=False),
        sa.Column("key", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("case_id", sa.BigInteger(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("protocol", sa.Text(), nullable=False),
        sa.Column("protocol_version", sa.Integer(), nullable=False),
        sa.Column("metric_id", sa.BigInteger(), nullable=False),
        sa.Column("hardware_id", sa.BigInteger(), nullable=False),
        sa.Column("floor", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["case_id"], ["cases.id"], name=op.f("fk_series_case_id")),
        sa.ForeignKeyConstraint(["hardware_id"], ["hardware.id"], name=op.f("fk_series_hardware_id")),
        sa.ForeignKeyConstraint(["metric_id"], ["metrics.id"], name=op.f("fk_series_metric_id")),
        sa.ForeignKeyConstraint(["repository_id"], ["repositories.id"], name=op.f("fk_series_repository_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_series")),
        sa.UniqueConstraint("digest", name=op.f("uq_series_digest")),
    )
    op.create_index(op.f("ix_series_case_id"), "series", ["case_id"], unique=False)
    op.create_index(op.f("ix_series_repository_id"), "series", ["repository_id"], unique=False)
    op.create_table(
        "verdicts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("series_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("is_suspect", sa.Boolean(), nullable=False),
        sa.Column("delta", sa.Double(), nullable=True),
        sa.Column("low", sa.Double(), nullable=True),
        sa.Column("high", sa.Double(), nullable=True),
        sa.Column("smallest_detectable", sa.Double(), nullable=True),
        sa.Column("floor", sa.Double(), nullable=True),
        sa.Column("baseline_level", sa.Double(), nullable=True),
        sa.Column("baseline_noise", sa.Double(), nullable=True),
        sa.Column("baseline_count", sa.Integer(), nullable=True),
        sa.Column("missing", sa.Integer(), nullable=False),
        sa.CheckConstraint("kind IN ('ok', 'regression', 'improvement', 'undecided')", name=op.f("ck_verdicts_kind")),
        sa.CheckConstraint(
            "reason IN ('within_noise', 'suspect', 'short_history', 'machine_too_noisy', 'too_few_processes', "
            "'interval_holds_both', 'below_floor', 'changed', 'not_comparable')",
            name=op.f("ck_verdicts_reason"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_verdicts_run_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_verdicts_series_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_verdicts")),
    )
    op.create_index(
        "ix_verdicts_in_force", "verdicts", ["run_id", "series_id", sa.literal_column("id DESC")], unique=False
    )


def downgrade() -> None:
    op.drop_index("ix_verdicts_in_force", table_name="verdicts")
    op.drop_table("verdicts")
    op.drop_index(op.f("ix_series_repository_id"), table_name="series")
    op.drop_index(op.f("ix_series_case_id"), table_name="series")
    op.drop_table("series")
    op.drop_index("ix_outcomes_failed", table_name="outcomes", postgresql_where=sa.text("outcome <> 'measured'"))
    op.drop_table("outcomes")
    op.drop_index(op.f("ix_runs_repository_id_started_at"), table_name="runs")
    op.drop_index(op.f("ix_runs_commit_id"), table_name="runs")
    op.drop_table("runs")
    op.drop_table("cases")
    op.drop_index(op.f("ix_commits_repository_id_position"), table_name="commits")
    op.drop_table("commits")
    op.drop_table("benchmarks")
    op.drop_table("suites")
    op.drop_table("samples")
    op.drop_table("repositories")
    op.drop_table("metrics")
    op.drop_index(op.f("ix_measurements_run_id"), table_name="measurements")
    op.drop_index("ix_measurements_history", table_name="measurements", postgresql_include=["run_id", "value"])
    op.drop_index("ix_measurements_commit", table_name="measurements", postgresql_using="brin")
    op.drop_table("measurements")
    op.drop_table("machines")
    op.drop_table("hardware")
    op.drop_table("gpu_units")
    op.drop_table("environments")
