from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from perfdb.reports.formatting import (
    MINUS,
    NOTHING,
    counted,
    duration,
    exact,
    interval,
    moment,
    percent,
    quantity,
    significant,
    zone,
)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12.34, "us", "12.3 µs"),
        (999.9, "us", "1.00 ms"),
        (1234.0, "us", "1.23 ms"),
        (2_500_000.0, "us", "2.50 s"),
        (0.25, "us", "250 ns"),
        (0.0, "us", "0 ns"),
        (2048.0, "bytes", "2.00 KiB"),
        (3.2e-7, "1", "3.20 \N{MULTIPLICATION SIGN} 10⁻⁷"),
        (12.0, "tokens/s", "12.0 tokens/s"),
    ],
)
def test_a_quantity_takes_the_unit_that_fits_and_three_digits(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(9.999, "10.0"), (0.00123, "0.00123"), (-4.5, f"{MINUS}4.50"), (123456.0, "123,000"), (float("nan"), "nan")],
)
def test_three_digits_are_significant(value: float, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.042, "+4.2 %"), (-0.5, f"{MINUS}50.0 %"), (0.0004, "+0.04 %"), (2.0, "+200 %"), (None, NOTHING)],
)
def test_a_change_carries_its_sign(share: float | None, text: str) -> None:
    assert percent(share) == text


def test_an_interval_names_its_unit_once() -> None:
    assert interval(0.012, 0.06) == "+1.2 … +6.0 %"
    assert interval(None, 0.06) == NOTHING


def test_times_are_shown_in_the_viewers_zone_and_exactly_in_utc() -> None:
    when = datetime(2026, 12, 1, 23, 30, 5, tzinfo=UTC)
    assert moment(when, ZoneInfo("Asia/Tokyo")) == "2 Dec 2026, 08:30"
    assert exact(when) == "2026-12-01 23:30:05 UTC"


@pytest.mark.parametrize("name", [None, "", "Nowhere/Land", "../etc/passwd"])
def test_an_unknown_zone_is_utc(name: str | None) -> None:
    assert zone(name) == ZoneInfo("UTC")


def test_counts_agree_with_their_noun() -> None:
    assert [counted(1, "run"), counted(2, "run"), counted(1200, "series", "series")] == [
        "1 run",
        "2 runs",
        "1,200 series",
    ]


@pytest.mark.parametrize(("seconds", "text"), [(48, "48 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")])
def test_a_duration_has_two_units_at_most(seconds: float, text: str) -> None:
    assert duration(seconds) == text
