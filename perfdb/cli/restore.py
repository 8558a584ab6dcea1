"""``perfdb db restore``: the database filled from a backup."""

from pathlib import Path
from typing import Annotated

import typer

from perfdb.cli.asking import YesOption, confirm
from perfdb.cli.options import JsonOption, print_json


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `perfdb db backup` made.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace a database that holds rows.")] = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fill the database from a backup, and bring it to the revision of this perfdb.

    A new database is filled first and takes the old one's place at the end: a restore that fails or is killed leaves
    the old one as it was.
    """
    from dataclasses import asdict

    from perfdb.cli.children import stoppable
    from perfdb.database import database_url
    from perfdb.reports.formatting import counted
    from perfdb.settings import load_settings
    from perfdb.store import restore as restoring
    from perfdb.store.backup import Place
    from perfdb.store.engine import address

    settings = load_settings()
    with stoppable(), database_url(settings) as url:
        held = restoring.rows_in(url) if replace else 0
        question = f"Replace the database at {address(url)} and its {counted(held, 'row')} by {file}?"
        if held and not confirm(question, yes=yes):
            raise typer.Exit(1)
        done = restoring.restore(url, file.absolute(), Place(settings.home, settings.postgres_bin), replace=replace)
    if as_json:
        print_json(asdict(done))
    else:
        replaced = f"; {counted(done.replaced_rows, 'row')} were replaced" if done.replaced_rows else ""
        typer.echo(f"{done.database}: {counted(done.rows, 'row')} restored, revision {done.revision}{replaced}")
