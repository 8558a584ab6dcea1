"""``perfdb db upgrade``: the embedded data folder brought to the PostgreSQL at hand."""

from typing import TYPE_CHECKING

import typer

from perfdb.cli.options import JsonOption, print_json

if TYPE_CHECKING:
    from perfdb.store.upgrade import Upgraded


def upgrade(as_json: JsonOption = False) -> None:
    """Bring the embedded database to the major version of the PostgreSQL programs at hand; fine when it is there.

    The old data folder is kept under another name, so it needs the space of a second one. Killed at any moment, run it
    again: it completes. An external server is upgraded by whoever runs it.
    """
    from dataclasses import asdict

    from perfdb.cli.children import stoppable
    from perfdb.errors import StoreError
    from perfdb.settings import load_settings
    from perfdb.store.binaries import find_binaries
    from perfdb.store.old_programs import old_programs
    from perfdb.store.upgrade import upgrade as bring_over

    settings = load_settings()
    if settings.database_url:
        raise StoreError(
            "the database is a server of your own, whose version perfdb does not change; upgrade it as any PostgreSQL, "
            "or unset PERFDB_DATABASE_URL to upgrade the embedded one"
        )
    home = settings.home.absolute()
    binaries = find_binaries(home, settings.postgres_bin)
    with stoppable():
        done = bring_over(
            home, binaries, lambda major: old_programs(home, major), lambda step: typer.echo(step, err=True)
        )
    if as_json:
        print_json({"major": binaries.major, "upgrade": asdict(done) if done else None})
    else:
        typer.echo(words(done) if done else f"nothing to upgrade: {home} is at PostgreSQL {binaries.major}")


def words(done: "Upgraded") -> str:
    """What was brought over, and what to do with the old folder."""
    from perfdb.reports.formatting import counted

    rows = f": {', '.join(done.databases)}, {counted(done.rows, 'row')} are the same" if done.rows is not None else ""
    return (
        f"PostgreSQL {done.old_major} to {done.major}{rows}\n"
        f"the old data folder is kept as {done.kept}; when you no longer need it: rm -r {done.kept}"
    )
