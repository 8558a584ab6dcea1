"""``perfdb db prune``: old months of samples dropped."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from perfdb.cli.asking import YesOption, confirm
from perfdb.cli.options import JsonOption, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfdb.store.retention import Partition

MONTHS_HELP = "Keep the current month and so many before it."


def prune(
    keep_months: Annotated[int | None, typer.Option(min=0, metavar="N", help=MONTHS_HELP)] = None,
    before: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="DATE", help="Drop months that end by then.")
    ] = None,
    measurements: Annotated[bool, typer.Option("--measurements", help="Drop their measurements too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Drop old months of samples: the single timings, which take most of the space.

    Measurements stay unless asked for; runs, verdicts and outcomes always stay, and so does the current month. Give one
    of --keep-months and --before.
    """
    from datetime import UTC

    from perfdb.database import open_migrated
    from perfdb.settings import load_settings
    from perfdb.store import retention

    if (keep_months is None) == (before is None):
        raise typer.BadParameter("give one of --keep-months N and --before DATE")
    now = datetime.now(UTC)
    if keep_months is not None:
        cutoff = retention.cutoff_keeping(keep_months, now)
    else:
        cutoff = retention.cutoff_before((before or now).date(), now)
    with open_migrated(load_settings()) as engine:
        with engine.connect() as connection:
            found = retention.partitions_before(connection, cutoff, measurements=measurements)
        if found and not dry_run:
            typer.echo("\n".join(lines_of(found)), err=True)
            if not confirm("Drop them?", yes=yes):
                raise typer.Exit(1)
            found = retention.prune(engine, cutoff, measurements=measurements)
    _tell(found, dry_run=dry_run, as_json=as_json)


def lines_of(found: "Sequence[Partition]") -> list[str]:
    """Each month with its rows and its size, and their sum."""
    from perfdb.reports.formatting import counted

    lines = [
        f"{each.label}  {each.owner:<12}  {counted(each.rows, 'row'):>16}  {each.size_bytes / 2**20:10,.1f} MiB"
        for each in found
    ]
    return [*lines, f"{counted(len(found), 'partition')}, {_sum(found)}"]


def _sum(found: "Sequence[Partition]") -> str:
    from perfdb.reports.formatting import counted

    size = sum(each.size_bytes for each in found) / 2**20
    return f"{counted(sum(each.rows for each in found), 'row')}, {size:,.1f} MiB"


def _tell(found: "Sequence[Partition]", *, dry_run: bool, as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        listed = [asdict(each) | {"month": each.label} for each in found]
        print_json({"partitions": listed, "dropped": not dry_run})
    elif not found:
        typer.echo("nothing to prune: no month is that old")
    elif dry_run:
        typer.echo("\n".join(lines_of(found)) + " would go")
    else:
        typer.echo(f"dropped: {_sum(found)}; runs, verdicts and outcomes are kept")
