"""``perfdb db backup``: the database in one file, tested by restoring it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfdb.cli.options import JsonOption, print_json

if TYPE_CHECKING:
    from perfdb.store.backup import Backup


def backup(
    file: Annotated[
        Path | None, typer.Argument(help="A new file. Default: in the state folder, named by database and time.")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify/--no-verify", help="Restore it for a test.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Write the database to one file, and test the file by restoring it beside the database.

    It may run while runs arrive: the file holds the moment at which it began. It never overwrites a file.
    """
    from dataclasses import asdict
    from datetime import UTC, datetime

    from perfdb.cli.children import stoppable
    from perfdb.database import database_url
    from perfdb.settings import load_settings
    from perfdb.store.backup import Place, back_up
    from perfdb.store.engine import parse_url

    settings = load_settings()
    with stoppable(), database_url(settings) as url:
        moment = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        target = file or settings.backups / f"{parse_url(url).database}-{moment}.dump"
        done = back_up(url, target.absolute(), Place(settings.home, settings.postgres_bin), verify=verify)
    if as_json:
        print_json(asdict(done))
    else:
        typer.echo(words(done))


def words(done: "Backup") -> str:
    """What was written, and whether it was tested."""
    from perfdb.reports.formatting import counted

    written = f"{done.file}: {done.size_bytes / 2**20:.1f} MiB, revision {done.revision or 'none'}"
    if not done.tested:
        return f"{written}; it was not tested: perfdb db backup without --no-verify restores it for a test"
    held = f"{counted(done.rows or 0, 'row')} of {counted(done.tables or 0, 'table')}"
    return f"{written}; tested: restored into {done.tested}, {held} are the same"
