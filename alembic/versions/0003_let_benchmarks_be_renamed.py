"""Let benchmarks be renamed: every name that one has or had, and the one that its series are hashed with."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Every benchmark starts with the one name that it has."""
    op.add_column("benchmarks", sa.Column("identity", sa.Text(), nullable=True))
    op.execute("UPDATE benchmarks SET identity = name")
    op.alter_column("benchmarks", "identity", nullable=False)
    op.create_table(
        "benchmark_names",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("benchmark_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["repository_id"], ["repositories.id"], name=op.f("fk_benchmark_names_repository_id")),
        sa.ForeignKeyConstraint(["benchmark_id"], ["benchmarks.id"], name=op.f("fk_benchmark_names_benchmark_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_benchmark_names")),
        sa.UniqueConstraint("repository_id", "name", name=op.f("uq_benchmark_names_repository_id_name")),
    )
    op.create_index(op.f("ix_benchmark_names_benchmark_id"), "benchmark_names", ["benchmark_id"])
    op.execute(
        "INSERT INTO benchmark_names (repository_id, name, benchmark_id) SELECT repository_id, name, id FROM benchmarks"
    )


def downgrade() -> None:
    """Former names are lost; series keep the histories they were given."""
    op.drop_table("benchmark_names")
    op.drop_column("benchmarks", "identity")
