"""Free outcomes of foreign keys: checking two a row took as long as all the rest of an ingest."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KEYS = {"fk_outcomes_run_id": ("runs", "run_id", "CASCADE"), "fk_outcomes_case_id": ("cases", "case_id", None)}


def upgrade() -> None:
    """Drop both keys."""
    for name in KEYS:
        op.drop_constraint(name, "outcomes", type_="foreignkey")


def downgrade() -> None:
    """Make them again; fails where rows point to nothing."""
    for name, (target, column, ondelete) in KEYS.items():
        op.create_foreign_key(name, "outcomes", target, [column], ["id"], ondelete=ondelete)
