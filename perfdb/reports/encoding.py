"""Encoding: domain values as JSON objects for ``--json``; times are ISO 8601 in UTC."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from perfdb.domain.case import Case


def encoded(value: Any) -> Any:  # noqa: ANN401 - any domain value
    """A dataclass by its fields, a case by its axes, an enum by its value, a mapping by its keys."""
    if isinstance(value, Case):
        return dict(value.axes)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Mapping):
        return {str(encoded(key)): encoded(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [encoded(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encoded(getattr(value, field.name)) for field in fields(value)}
    return value
