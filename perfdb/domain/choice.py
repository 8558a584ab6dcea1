"""Choice: what people pick a run or a series by, without what it says."""

from dataclasses import dataclass
from datetime import datetime

from perfdb.domain.case import Case


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A run as a list offers it. ``sha`` is None for unversioned code; ``branch`` is "" on a detached HEAD."""

    run_id: str
    repository: str
    suite: str
    branch: str
    sha: str | None
    hostname: str
    started_at: datetime


@dataclass(frozen=True, slots=True)
class RunFacets:
    """What runs can be filtered by: every value that the store has of each."""

    repository: tuple[str, ...] = ()
    suite: tuple[str, ...] = ()
    hostname: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SeriesChoice:
    """The fields of a series that people narrow a catalogue by."""

    digest: str
    repository: str
    hardware: str
    hardware_label: str
    protocol: str
    benchmark: str
    case: Case
    provider: str
    metric: str
    is_control: bool
