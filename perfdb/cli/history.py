"""``perfdb history``: one series over its commits."""

from typing import Annotated

import typer

from perfdb.cli.options import JsonOption, print_json


def history(
    series: Annotated[
        str, typer.Argument(metavar="SERIES", help="A hash of 8 or more digits, or benchmark[axis=value].")
    ],
    limit: Annotated[int, typer.Option(min=1, help="The last so many points.")] = 30,
    as_json: JsonOption = False,
) -> None:
    """Show a series: its values over commits, each with its verdict.

    Hollow points (○) never form a baseline: uncommitted, unversioned, or of a shallow clone.

    Example: perfdb history 'matmul[k=1024,m=256,n=512]'
    """
    from perfdb.cli.screen import console
    from perfdb.database import open_migrated
    from perfdb.reports.encoding import encoded
    from perfdb.reports.terminal import history_table, sparkline
    from perfdb.settings import load_settings
    from perfdb.store.history import find_series, series_history

    with open_migrated(load_settings()) as engine, engine.connect() as connection:
        found = series_history(connection, find_series(connection, series).digest, limit=limit)
    if as_json:
        print_json(encoded(found))
        return
    screen = console()
    named = found.series
    screen.print(f"{named.label}  {named.provider}  {named.metric.name}  {named.hardware_label}", style="bold")
    screen.print(sparkline(found))
    screen.print(history_table(found.points, named.metric.unit))
