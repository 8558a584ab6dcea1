"""The identity of a series: what is in it, what is not, and what never changes."""

from dataclasses import replace

from perfdb.domain.case import Case
from perfdb.domain.series import SeriesKey

KEY = SeriesKey("perfdb", "matmul", Case.of(m=256, k=1024), "eager", "cpu", 1, "latency", "171aba020986b3b4")


def test_the_digest_of_a_key_is_the_same_for_ever() -> None:
    assert KEY.digest == "748c564f28188f4d381ae97bd97951d9"


def test_a_field_at_its_default_is_left_out_of_the_hash() -> None:
    assert "cache" not in KEY.named_fields()
    assert replace(KEY, cache="warm").digest == KEY.digest
    assert replace(KEY, cache="flushed").digest != KEY.digest


def test_the_order_in_which_axes_are_written_does_not_matter() -> None:
    assert replace(KEY, case=Case.of(k=1024, m=256)).digest == KEY.digest


def test_every_named_field_tells_series_apart() -> None:
    others = [
        replace(KEY, repository="other"),
        replace(KEY, benchmark="copy"),
        replace(KEY, case=Case.of(m=257, k=1024)),
        replace(KEY, provider="compiled"),
        replace(KEY, protocol="burst"),
        replace(KEY, protocol_version=2),
        replace(KEY, metric="relative_error"),
        replace(KEY, hardware="0" * 16),
    ]
    assert len({other.digest for other in others} | {KEY.digest}) == len(others) + 1


def test_a_series_is_written_as_on_the_command_line() -> None:
    assert KEY.label == "matmul[k=1024,m=256]"
