"""Packing: many rows of one shape at once as PostgreSQL's binary COPY format, without a step a row.

Format: https://www.postgresql.org/docs/18/sql-copy.html, "Binary Format"; arrays as ``array_send`` writes them.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
NULL = -1
#: Object identifiers of the element types of arrays.
FLOAT4, FLOAT8 = 700, 701
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

#: One column of ``n`` rows: n values, 1 value that they share, or None for NULL in every row.
Column = NDArray[Any] | None


def packed(count: int, columns: Sequence[Column]) -> bytes:
    """``count`` rows of ``columns``; every value of a column takes the same number of bytes."""
    shape: list[tuple[Any, ...]] = [("columns", ">i2")]
    for number, column in enumerate(columns):
        shape.append((f"length{number}", ">i4"))
        if column is not None:
            shape.append((f"value{number}", column.dtype, column.shape[1:]))
    rows = np.empty(count, np.dtype(shape))
    rows["columns"] = len(columns)
    for number, column in enumerate(columns):
        if column is None:
            rows[f"length{number}"] = NULL
        else:
            rows[f"length{number}"] = column.itemsize * int(np.prod(column.shape[1:], dtype=np.int64))
            rows[f"value{number}"] = column
    return rows.tobytes()


def integers(values: Any, size: int = 8) -> NDArray[Any]:  # noqa: ANN401 - what numpy takes
    """``int2``, ``int4``, ``int8`` by their ``size`` in bytes."""
    return np.atleast_1d(np.asarray(values, f">i{size}"))


def doubles(values: Any) -> NDArray[Any]:  # noqa: ANN401 - what numpy takes
    """``float8``."""
    return np.atleast_1d(np.asarray(values, ">f8"))


def octets(value: bytes) -> NDArray[Any]:
    """The bytes of one ``uuid`` or ``text``, shared by all rows."""
    return np.frombuffer(value, "u1").reshape(1, len(value))


def times(microseconds: Any) -> NDArray[Any]:  # noqa: ANN401 - what numpy takes
    """``timestamptz`` from ``microseconds_of``."""
    return integers(microseconds)


def microseconds_of(moment: datetime) -> int:
    """Since 2000-01-01 UTC, as PostgreSQL counts."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def arrays(values: NDArray[Any], element: int) -> NDArray[Any]:
    """``float4[]`` or ``float8[]`` from a matrix of rows by elements; ``element`` is FLOAT4 or FLOAT8."""
    rows, length = values.shape
    size = 4 if element == FLOAT4 else 8
    fields = np.dtype([("length", ">i4"), ("value", f">f{size}")])
    head = [(name, ">i4") for name in ("dimensions", "nulls", "type", "length", "first")]
    packed_arrays = np.empty(rows, np.dtype([*head, ("elements", fields, (length,))]))
    for name, value in zip(("dimensions", "nulls", "type", "length", "first"), (1, 0, element, length, 1), strict=True):
        packed_arrays[name] = value
    packed_arrays["elements"]["length"] = size
    packed_arrays["elements"]["value"] = values
    return packed_arrays
