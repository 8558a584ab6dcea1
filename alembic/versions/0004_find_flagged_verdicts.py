"""Find flagged verdicts by an index that holds them alone: one in a thousand is, and pages ask for them first."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

NAME = "ix_verdicts_flagged"
FLAGGED = "is_suspect OR kind IN ('regression', 'improvement')"


def upgrade() -> None:
    """Make the index."""
    op.execute(f"CREATE INDEX {NAME} ON verdicts (run_id) WHERE {FLAGGED}")


def downgrade() -> None:
    """Drop it."""
    op.drop_index(NAME, "verdicts")
