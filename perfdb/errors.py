"""The errors a person can fix.

```
PerfdbError
├── SpoolError          a spool file that cannot be read or written
│   └── RefusedRunError a run that can be read, and that the store cannot hold
├── StoreError          the database: unreachable, too old, too new, not migrated
│   └── EmbeddedError   the embedded server: no binaries, no port, no folder
├── RepositoryError     the code under test: no git, unknown revision, module outside of it
├── SelectionError      a name or filter that matches nothing
└── MeasureError        measuring cannot start: worker, environment, machine
```

Each message is one sentence that names the thing, followed by the next action. What can happen to a single case is an
``Outcome``, never an exception.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class PerfdbError(Exception):
    """Something a person can fix: the message names the thing and the next action; the command line exits with 1."""


class SpoolError(PerfdbError):
    """A spool file that cannot be read or written."""


class RefusedRunError(SpoolError):
    """The store cannot hold what a run says; whoever knows the run's file puts its name before the message."""


class StoreError(PerfdbError):
    """The database is unreachable, of the wrong version, or not migrated."""


class EmbeddedError(StoreError):
    """The embedded PostgreSQL server cannot be started or stopped."""


class RepositoryError(PerfdbError):
    """The code under test cannot be found, or is not what was asked for."""


class SelectionError(PerfdbError):
    """A name, filter or reference that matches nothing."""

    @classmethod
    def no_match(cls, noun: str, wanted: str, known: Iterable[str], see: str) -> "SelectionError":
        """An error that names the nearest known names and the command ``see`` that lists them all."""
        names = sorted(set(known))
        nearest = get_close_matches(wanted, names, n=3, cutoff=0.4) or names[:3]
        hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
        return cls(f"no {noun} matches {wanted!r}{hint}. See them all with: {see}")


class MeasureError(PerfdbError):
    """Measuring cannot start on this machine."""
