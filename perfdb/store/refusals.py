"""Refusals: what PostgreSQL says against the rows of a run, as one sentence about the run."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DBAPIError

from perfdb.domain.text import printable
from perfdb.errors import RefusedRunError

#: Classes of SQLSTATE that blame the data, not the server: data exception, integrity, program limit.
#: https://www.postgresql.org/docs/18/errcodes-appendix.html
BLAMES_DATA = ("22", "23", "54")


@contextmanager
def refused(run_id: str) -> Iterator[None]:
    """Turn a refusal of the data of a run into ``RefusedRunError``; other errors pass.

    The decoder refuses, line by line, what it knows the store cannot hold. This stands for what it does not know: the
    file is refused whole, and the next one is not held up.
    """
    try:
        yield
    except (DBAPIError, psycopg.Error) as error:  # the latter from COPY, which SQLAlchemy never sees
        said = error.orig if isinstance(error, DBAPIError) else error
        if not isinstance(said, psycopg.Error) or not (said.sqlstate or "").startswith(BLAMES_DATA):
            raise
        raise RefusedRunError(
            f"the store refuses run {run_id}: {_in_short(said)}; move the file aside, and report this"
        ) from error


def _in_short(error: psycopg.Error) -> str:
    """The server's first words, without what a hostile file could write to a terminal."""
    first = (error.diag.message_primary or str(error) or "no reason given").splitlines()[0]
    return printable(first[:180])
