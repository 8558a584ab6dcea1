"""SeriesKey: what makes two measurements comparable, hashed over named fields."""

import hashlib
import json
from dataclasses import dataclass, fields

from perfdb.domain.case import Case

#: Raise it only when an existing field changes its meaning: that starts every series anew.
SERIES_KEY_VERSION = 1


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """Identity of a series. A field at its default is left out of the hash, so a later field splits no history.

    ``hardware`` is the digest of the ``Hardware`` facts that decide comparability.
    """

    repository: str
    benchmark: str
    case: Case
    provider: str
    protocol: str
    protocol_version: int
    metric: str
    hardware: str
    cache: str = "warm"
    autotune: str = "none"

    def named_fields(self) -> dict[str, object]:
        """The fields that are hashed, by name; defaults left out."""
        named: dict[str, object] = {"version": SERIES_KEY_VERSION}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                named[field.name] = dict(value.axes) if isinstance(value, Case) else value
        return named

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of ``named_fields``, 32 hexadecimal digits."""
        canonical = json.dumps(self.named_fields(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:32]

    @property
    def label(self) -> str:
        """``benchmark[axis=value,...]`` as SERIES is written on the command line."""
        return self.case.of_benchmark(self.benchmark)
