"""Ingest: hand spool files to the store, and ask it which commits it already has."""

from perfdb.database import open_migrated
from perfdb.detect import ingest_folder
from perfdb.errors import StoreError
from perfdb.settings import Settings
from perfdb.spool import SUFFIX
from perfdb.store.runs import complete_shas


def store_spool(settings: Settings, run_id: str) -> tuple[str, ...]:
    """Ingest and judge everything that waits in the spool; gives what is wrong with files of other runs.

    Raises ``StoreError`` when the database is down or refuses this run; its file stays where it is.
    """
    try:
        with open_migrated(settings) as engine:
            reports = ingest_folder(engine, settings.spool, settings.ingested)
    except StoreError as error:
        raise _kept(settings, str(error)) from error
    own = f"{run_id}{SUFFIX}"
    refused = {report.path.name: report.refusal for report in reports if report.refusal}
    if own in refused:
        raise _kept(settings, refused[own])
    return tuple(f"{settings.spool / name} was not stored: {why}" for name, why in refused.items())


def _kept(settings: Settings, why: str) -> StoreError:
    return StoreError(f"{why}. The run is kept in {settings.spool}; store it later with: perfdb ingest")


def measured_commits(settings: Settings, repository: str, suite: str, hardware: str) -> frozenset[str]:
    """SHAs that have a complete run of this suite on this hardware."""
    with open_migrated(settings) as engine, engine.connect() as connection:
        return frozenset(complete_shas(connection, repository, suite, hardware))
