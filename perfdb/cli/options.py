"""Options that several verbs share."""

import json
from typing import Annotated, Any

import typer

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object to standard output.")]
RepositoryOption = Annotated[
    str | None,
    typer.Option("--repository", metavar="NAME", help="Only this repository, as `perfdb list runs` names it."),
]

PortOption = Annotated[
    int | None, typer.Option(min=1, max=65535, help="The dashboard's port. Default: the first free one from 8501.")
]


def print_json(value: Any) -> None:  # noqa: ANN401 - anything encodable
    """One JSON object on standard output."""
    typer.echo(json.dumps(value, default=str, allow_nan=False))
