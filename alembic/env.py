"""Runs migrations on the connection that perfdb hands over, or on the configured database."""

from alembic import context
from sqlalchemy import Connection

from perfdb.database import open_database
from perfdb.settings import load_settings
from perfdb.store.schema import metadata


def run(connection: Connection) -> None:
    """Apply the scripts inside the caller's transaction."""
    context.configure(connection=connection, target_metadata=metadata, compare_type=True)
    with context.begin_transaction():
        context.run_migrations()


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    with open_database(load_settings(), migrate=False) as engine, engine.begin() as connection:
        run(connection)
