"""Migrations: the Alembic scripts found and applied; a database newer than the code is refused."""

from pathlib import Path

import alembic.command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from perfdb.errors import StoreError
from perfdb.store.locks import PATIENCE_S, impatient

#: Any constant serves: two migrations of one database wait for each other on it.
MIGRATION_LOCK = 0x70657266_6462


def scripts_folder() -> Path:
    """``perfdb/alembic`` of an installed wheel, else ``alembic`` of the checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "alembic", package.parent / "alembic"):
        if (folder / "env.py").is_file():
            return folder
    raise StoreError(f"the migration scripts are missing beside {package}; install perfdb again")


def migrate(engine: Engine, scripts: Path | None = None, *, patience_s: float = PATIENCE_S) -> None:
    """Bring the database to the newest revision of this code, or of ``scripts``; waits while another process migrates.

    All of it is one transaction, and what writes meanwhile waits for it. Raises ``StoreError`` when the database is
    newer, or when someone holds a table for longer than ``patience_s``.
    """
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
        if revision(connection) == newest_revision(scripts):
            return
        _refuse_newer(connection, scripts)
        with impatient(engine, connection, "the migration", patience_s):
            alembic.command.upgrade(alembic_config(connection, scripts), "head")


def check_migrated(engine: Engine) -> None:
    """Raise ``StoreError`` unless the database is at this code's revision."""
    with engine.connect() as connection:
        _refuse_newer(connection)
        if revision(connection) != newest_revision():
            raise StoreError(
                f"the database is at revision {revision(connection) or 'none'}, this perfdb needs {newest_revision()}; "
                "run: perfdb db migrate"
            )


def revision(connection: Connection) -> str | None:
    """The revision the database is at; None before the first migration."""
    return MigrationContext.configure(connection).get_current_revision()


def newest_revision(scripts: Path | None = None) -> str:
    """The revision of this code, or of other ``scripts``."""
    head = _scripts(scripts).get_current_head()
    if head is None:
        raise StoreError(f"{scripts or scripts_folder()} holds no migration; install perfdb again")
    return head


def alembic_config(connection: Connection, scripts: Path | None = None) -> Config:
    """Alembic's settings for one open connection."""
    config = Config()
    config.set_main_option("script_location", str(scripts or scripts_folder()).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _scripts(scripts: Path | None = None) -> ScriptDirectory:
    return ScriptDirectory(str(scripts or scripts_folder()))


def knows_revision(wanted: str, scripts: Path | None = None) -> bool:
    """Whether this code has a revision, so that it can migrate from there."""
    return wanted in {script.revision for script in _scripts(scripts).walk_revisions()}


def _refuse_newer(connection: Connection, scripts: Path | None = None) -> None:
    current = revision(connection)
    if current is not None and not knows_revision(current, scripts):
        raise StoreError(
            f"the database is at revision {current}, which this perfdb does not know: a newer perfdb migrated it; "
            "upgrade perfdb on this machine"
        )
