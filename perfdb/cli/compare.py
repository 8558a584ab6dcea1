"""``perfdb compare``: two runs judged by their processes."""

import subprocess
from enum import StrEnum
from typing import Annotated

import typer

from perfdb.cli.options import JsonOption, RepositoryOption, print_json

REGRESSION_FOUND = 3


class Form(StrEnum):
    """How a comparison is printed."""

    TABLE = "table"
    CSV = "csv"
    MARKDOWN = "markdown"


class FailOn(StrEnum):
    """What makes the command exit with 3."""

    NEVER = "never"
    REGRESSION = "regression"


def compare(  # noqa: PLR0913 - every argument is a flag
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="A revision, branch, run id, latest, or latest~N.")
    ] = "latest~1",
    head: Annotated[str, typer.Argument(metavar="HEAD", help="The same, for the newer side.")] = "latest",
    repository: RepositoryOption = None,
    every: Annotated[bool, typer.Option("--all", help="Also list accuracy that did not change.")] = False,
    fail_on: Annotated[FailOn, typer.Option(help="Exit with 3 when this is found.")] = FailOn.NEVER,
    form: Annotated[Form, typer.Option("--format", help="A table, CSV of every series, or Markdown.")] = Form.TABLE,
    as_json: JsonOption = False,
) -> None:
    """Judge HEAD against BASE: every series both runs measured, by its processes and its floor.

    BASE and HEAD are a revision, the name of a measured branch (its newest run), a run id, latest, or latest~N, which
    counts runs of HEAD's suite on HEAD's hardware. Values are geometric means over processes.

    Example: perfdb compare latest~1 latest --fail-on regression
    """
    from perfdb.cli.screen import console
    from perfdb.database import open_migrated
    from perfdb.detect import compare_runs
    from perfdb.domain.verdict import VerdictKind
    from perfdb.reports.csv_export import comparison_csv
    from perfdb.reports.encoding import encoded
    from perfdb.reports.markdown import comparison_markdown
    from perfdb.reports.sentences import code_of, headline
    from perfdb.reports.terminal import comparison_table, is_news, missing_lines
    from perfdb.settings import load_settings

    with open_migrated(load_settings()) as engine, engine.connect() as connection:
        comparison = compare_runs(connection, revision(base), revision(head), repository=repository)
    if as_json:
        print_json({"headline": headline(comparison), **encoded(comparison)})
    elif form is not Form.TABLE:
        typer.echo(comparison_csv(comparison) if form is Form.CSV else comparison_markdown(comparison), nl=False)
    else:
        screen = console()
        screen.print(headline(comparison), style="bold")
        for side, run in (("base", comparison.base), ("head", comparison.head)):
            screen.print(f"{side}: run {run.run_id[:8]}, {run.suite} of {run.repository} at {code_of(run)}")
        shown = [delta for delta in comparison.deltas if every or is_news(delta)]
        screen.print(comparison_table(shown))
        if len(shown) < len(comparison.deltas):
            screen.print(f"{len(comparison.deltas) - len(shown)} more did not change in accuracy; list them with --all")
        for line in missing_lines(comparison):
            screen.print(line)
    if fail_on is FailOn.REGRESSION and comparison.count(VerdictKind.REGRESSION):
        raise typer.Exit(REGRESSION_FOUND)


def revision(wanted: str) -> str:
    """The SHA that git knows ``wanted`` by in the working folder, else ``wanted`` itself (a run id, ``latest``)."""
    if wanted.startswith(("latest", "-")):
        return wanted
    asked = ["git", "rev-parse", "--verify", "--quiet", f"{wanted}^{{commit}}"]
    try:
        found = subprocess.run(asked, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return wanted
    return found.stdout.strip() if found.returncode == 0 else wanted
