"""Options that several verbs share."""

import json
from typing import Annotated, Any

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output.")]
RepositoryOption = Annotated[
    str | None,
    typer.Option("--repository", metavar="NAME", help="Only this repository, as `perfdb list runs` names it."),
]


def print_json(value: Any) -> None:  # noqa: ANN401 - anything encodable
    """One JSON object on standard output."""
    typer.echo(json.dumps(value, default=str, allow_nan=False))
