"""``perfdb ingest``: spool files into the store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfdb.cli.options import JsonOption, print_json
from perfdb.domain.text import printable

if TYPE_CHECKING:
    from perfdb.detect import FileReport


def ingest(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILES]", help="Default: all that waits.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Store and judge runs from spool files; the same run twice changes nothing.

    A line that cannot be read is named with its number; the rest of its file is stored. Exits with 1 if anything was
    refused.

    Example: perfdb ingest
    """
    from perfdb.database import open_migrated
    from perfdb.detect import ingest_files, ingest_folder
    from perfdb.reports.encoding import encoded
    from perfdb.settings import load_settings

    settings = load_settings()
    with open_migrated(settings) as engine:
        reports = ingest_files(engine, files) if files else ingest_folder(engine, settings.spool, settings.ingested)
    if as_json:
        print_json({"files": encoded(reports)})
    else:
        for line in lines_of(reports):
            typer.echo(line)
    if any(report.refusal or report.rejections for report in reports):
        raise typer.Exit(1)


def lines_of(reports: "list[FileReport]") -> list[str]:
    """What became of each file, and of each line that was rejected."""
    if not reports:
        return ["Nothing waits in the spool."]
    lines = []
    for report in reports:
        lines.append(report.refusal or _fate(report))
        lines += [f"{report.path} line {each.line} {each.reason}; the line was left out" for each in report.rejections]
    return [printable(line) for line in lines]  # a name of a file may hold anything


def _fate(report: "FileReport") -> str:
    done = report.report
    if done is None:
        return f"{report.path}: not read"
    if not done.is_changed:
        return f"run {done.run_id[:8]} ({done.state}) was stored before"
    twice = f"; {done.repeated} said twice were left out" if done.repeated else ""
    stored = f"{done.measurements} measurements of {done.outcomes} results"
    return f"run {done.run_id[:8]} ({done.state}) stored: {stored}{twice}"
