"""``perfdb db``: the database itself."""

from typing import Annotated

import typer

from perfdb.cli.backup import backup
from perfdb.cli.options import JsonOption, print_json
from perfdb.cli.prune import prune
from perfdb.cli.restore import restore
from perfdb.cli.upgrade import upgrade

commands = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="The database: bring it to this version, or print its address.",
    epilog="Example: perfdb db migrate",
)


@commands.command(epilog="Example: perfdb db migrate")
def migrate(as_json: JsonOption = False) -> None:
    """Bring the database to the revision of this perfdb; fine when it is there already."""
    from perfdb.database import database_address, open_database
    from perfdb.settings import load_settings
    from perfdb.store.migrations import revision

    settings = load_settings()
    with open_database(settings, migrate=True) as engine, engine.connect() as connection:
        now = revision(connection)
    if as_json:
        print_json({"database": database_address(settings), "revision": now})
    else:
        typer.echo(f"{database_address(settings)} is at revision {now}")


@commands.command(epilog="Example: perfdb db url --show-password")
def url(
    show_password: Annotated[bool, typer.Option("--show-password", help="Print the password too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the database's address, as psql and PERFDB_DATABASE_URL take it.

    The embedded server only runs while a perfdb command uses it: keep `perfdb up` open to connect with something else.
    """
    from sqlalchemy import make_url

    from perfdb.database import database_url
    from perfdb.settings import load_settings
    from perfdb.store.engine import rendered

    with database_url(load_settings()) as address:
        shown = rendered(make_url(address).set(drivername="postgresql"), hide_password=not show_password)
    if as_json:
        print_json({"url": shown})
    else:
        typer.echo(shown)


commands.command(epilog="Example: perfdb db backup")(backup)
commands.command(epilog="Example: perfdb db restore perfdb.dump --replace")(restore)
commands.command(epilog="Example: perfdb db upgrade")(upgrade)
commands.command(epilog="Example: perfdb db prune --keep-months 12 --dry-run")(prune)
