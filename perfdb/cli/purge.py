"""``perfdb purge``: everything that perfdb keeps on this machine, removed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfdb.cli.asking import YesOption, confirm
from perfdb.cli.options import JsonOption, print_json

if TYPE_CHECKING:
    from perfdb.settings import Settings
    from perfdb.state_folder import Part


def purge(
    yes: YesOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove what perfdb made in its state folder: the embedded database, the spool, logs, backups.

    It lists all of it and asks first, and refuses while something runs. What it did not make stays, your perfdb.toml
    and an external database too.

    Example: perfdb purge --dry-run
    """
    from perfdb.settings import load_settings
    from perfdb.state_folder import parts, remove, unused

    settings = load_settings()
    home = settings.home.absolute()
    with unused(home):
        found = parts(home)
        if found and not dry_run:
            typer.echo("\n".join(lines_of(found, settings)), err=True)
            if not confirm("Remove all of this for good?", yes=yes):
                raise typer.Exit(1)
            remove(found, home)
    left = sorted(str(path) for path in home.iterdir()) if home.is_dir() and not dry_run else []
    if as_json:
        listed = [{"path": str(part.path), "what": part.what, "size_bytes": part.size_bytes} for part in found]
        print_json({"parts": listed, "removed": not dry_run, "left": left})
    elif not found:
        typer.echo(f"nothing to remove in {home}")
    elif dry_run:
        typer.echo("\n".join(lines_of(found, settings)))
    else:
        typer.echo(_gone(home, left))


def lines_of(found: "list[Part]", settings: "Settings") -> list[str]:
    """Each part with its size, the runs that no database has yet, and what is not touched."""
    from perfdb.database import database_address
    from perfdb.reports.formatting import counted
    from perfdb.state_folder import waiting_runs

    waiting = waiting_runs(settings.spool)
    lines = [f"{part.size_bytes / 2**20:10,.1f} MiB  {part.what:<12}  {part.path}" for part in found]
    if waiting:
        lines.append(f"{counted(waiting, 'run')} in the spool, stored in no database yet (perfdb ingest stores it)")
    if settings.database_url:
        lines.append(f"the database at {database_address(settings)} is not touched")
    return lines


def _gone(home: Path, left: list[str]) -> str:
    kept = f"; kept, for perfdb did not make it: {', '.join(left)}" if left else ""
    return f"removed what perfdb kept in {home}{kept}"
