"""SeriesKey: what makes two measurements comparable, hashed over named fields."""

import hashlib
import json
from dataclasses import dataclass, fields
from functools import lru_cache

from perfdb.domain.case import AxisValue, Case

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
    def canonical(self) -> str:
        """``named_fields`` as JSON, keys sorted, nothing but ASCII: what ``json.dumps`` gives, put together faster."""
        case = ",".join([_member(name, value) for name, value in self.case.axes])
        members = [
            None if self.autotune == "none" else _member("autotune", self.autotune),
            _member("benchmark", self.benchmark),
            None if self.cache == "warm" else _member("cache", self.cache),
            f'"case":{{{case}}}',
            _member("hardware", self.hardware),
            _member("metric", self.metric),
            _member("protocol", self.protocol),
            _member("protocol_version", self.protocol_version),
            _member("provider", self.provider),
            _member("repository", self.repository),
            _VERSION,
        ]
        return f"{{{','.join(filter(None, members))}}}"

    @property
    def identity(self) -> bytes:
        """The first 16 bytes of the SHA-256 of ``canonical``."""
        return hashlib.sha256(self.canonical.encode()).digest()[:16]

    @property
    def digest(self) -> str:
        """``identity`` as 32 hexadecimal digits."""
        return self.identity.hex()

    @property
    def label(self) -> str:
        """``benchmark[axis=value,...]`` as SERIES is written on the command line."""
        return self.case.of_benchmark(self.benchmark)


@lru_cache(maxsize=8192, typed=True)  # typed: 1, 1.0 and True are different JSON
def _member(name: str, value: AxisValue) -> str:
    return f"{json.dumps(name)}:{json.dumps(value)}"


_VERSION = _member("version", SERIES_KEY_VERSION)
