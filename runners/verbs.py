"""Verbs: ``perfdb run`` and ``perfdb list suites|benchmarks|cases``."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfdb.errors import MeasureError

if TYPE_CHECKING:
    from runners.campaign import Campaign
    from runners.session import Request

_Repo = Annotated[
    Path | None,
    typer.Option(
        "--repo", metavar="DIR", help="The code to measure. Default: this repository if it has [tool.perfdb]."
    ),
]
_Filter = Annotated[
    str | None,
    typer.Option("--filter", metavar="FILTER", help="Only cases where axis=value,... hold; globs are fine."),
]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output.")]
_Source = Annotated[str, typer.Argument(metavar="[SUITE|FILE.py]", help="A suite, or one file with a @benchmark.")]


def run(  # noqa: PLR0913 - each argument is an option of the command line
    source: _Source = "smoke",
    repo: _Repo = None,
    only: _Filter = None,
    commits: Annotated[
        str | None, typer.Option(metavar="A..B", help="Measure each of these commits in a worktree, oldest first.")
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="With --commits: only every n-th one.")] = 1,
    again: Annotated[bool, typer.Option("--again", help="With --commits: also those with a complete run.")] = False,
    processes: Annotated[int, typer.Option(min=1, max=100, help="Fresh processes: the unit of evidence.")] = 3,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one case; compiling has 600 more.")] = 60.0,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the order of cases. Default: a new one.")] = None,
    as_json: _Json = False,
) -> None:
    """Measure a suite or a file on this machine, then store the run and judge it.

    Example: perfdb run smoke --filter 'dtype=float32'
    """
    from dataclasses import replace

    from perfdb.settings import load_settings
    from runners.campaign import Campaign
    from runners.progress import Display
    from runners.visits import Limits

    request = _request(source, repo, only)
    request = replace(request, processes=processes, limits=Limits(case_s=timeout))
    if seed is not None:
        request = replace(request, seed=seed)
    campaign = Campaign(request, load_settings(), Display())
    try:
        _carry_out(campaign, commits, every, again=again)
    finally:
        # a run that was measured is told even when the database is down
        if as_json:
            typer.echo(json.dumps(campaign.told()))


def list_declared(
    noun: Annotated[str, typer.Argument(metavar="suites|benchmarks|cases", help="What to list.")],
    source: Annotated[str | None, typer.Argument(metavar="[SUITE|FILE.py]", help="Only of this suite or file.")] = None,
    repo: _Repo = None,
    only: _Filter = None,
    as_json: _Json = False,
) -> None:
    """List what the code under test declares.

    Example: perfdb list cases smoke --filter 'provider=compiled'
    """
    from perfdb.settings import load_settings
    from runners.declared import listed, table_of_rows
    from runners.progress import wide_console
    from runners.session import surveyed_declarations

    declarations = surveyed_declarations(_request(source, repo, only), load_settings())
    rows = listed(noun, declarations)
    if as_json:
        typer.echo(json.dumps({noun: list(rows)}))
    else:
        wide_console(stderr=False).print(table_of_rows(rows), soft_wrap=False)


def _request(source: str | None, repo: Path | None, only: str | None) -> "Request":
    if find_spec("psutil") is None:
        raise MeasureError(
            "psutil is not installed, and measuring needs it; install it with: pip install 'perfdb[runner]'"
        )

    from runners.selection import parse_filter
    from runners.session import Request
    from runners.target import find_target

    file = Path(source) if source and source.endswith(".py") else None
    target = find_target(repo, file, Path.cwd())
    return Request(target, None if file else source, parse_filter(only))


def _carry_out(campaign: "Campaign", commits: str | None, every: int, *, again: bool) -> None:
    from runners.campaign import interruptible

    try:
        with interruptible():
            if commits:
                campaign.measure_commits(commits, every, again=again)
            else:
                campaign.measure_tree()
    except KeyboardInterrupt:
        campaign.keep_interrupted()
        raise typer.Exit(130) from None
