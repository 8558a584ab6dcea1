"""SeriesKey: what makes two measurements comparable, hashed over named fields."""

import hashlib
import json
from collections.abc import Callable
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
        before = _before(self.autotune, self.benchmark, self.cache)
        after = _after(self.hardware, self.metric, self.protocol, self.protocol_version, self.provider, self.repository)
        return f'{before}"case":{{{_members(self.case)}}},{after}'

    @property
    def identity(self) -> bytes:
        """The first 16 bytes of the SHA-256 of ``canonical``."""
        return _identity(self.canonical)

    @property
    def digest(self) -> str:
        """``identity`` as 32 hexadecimal digits."""
        return self.identity.hex()

    @property
    def label(self) -> str:
        """``benchmark[axis=value,...]`` as SERIES is written on the command line."""
        return self.case.of_benchmark(self.benchmark)


def identities_in(key: SeriesKey) -> Callable[[str, Case, str, str], bytes]:
    """``identity`` of keys that differ from ``key`` in benchmark, case, provider and metric, without making them."""

    def identity(benchmark: str, case: Case, provider: str, metric: str) -> bytes:
        before = _before(key.autotune, benchmark, key.cache)
        after = _after(key.hardware, metric, key.protocol, key.protocol_version, provider, key.repository)
        return _identity(f'{before}"case":{{{_members(case)}}},{after}')

    return identity


def _identity(canonical: str) -> bytes:
    return hashlib.sha256(canonical.encode()).digest()[:16]


def _members(case: Case) -> str:
    return ",".join([_member(name, value) for name, value in case.axes])


@lru_cache(maxsize=1024)
def _before(autotune: str, benchmark: str, cache: str) -> str:
    """Whatever sorts before ``case``."""
    members = [_member("benchmark", benchmark)]
    if autotune != "none":
        members.insert(0, _member("autotune", autotune))
    if cache != "warm":
        members.append(_member("cache", cache))
    return "{" + "".join(f"{member}," for member in members)


@lru_cache(maxsize=1024)
def _after(hardware: str, metric: str, protocol: str, protocol_version: int, provider: str, repository: str) -> str:
    members = [
        _member("hardware", hardware),
        _member("metric", metric),
        _member("protocol", protocol),
        _member("protocol_version", protocol_version),
        _member("provider", provider),
        _member("repository", repository),
        _member("version", SERIES_KEY_VERSION),
    ]
    return ",".join(members) + "}"


@lru_cache(maxsize=8192, typed=True)  # typed: 1, 1.0 and True are different JSON
def _member(name: str, value: AxisValue) -> str:
    return f"{json.dumps(name)}:{json.dumps(value)}"
