"""Markdown of a comparison: what changed is a table, the rest is counted, names are no markup."""

from dataclasses import replace

from perfdb.domain.comparison import Comparison
from perfdb.reports import markdown
from perfdb.reports.markdown import comparison_markdown


def test_what_changed_is_a_table_and_the_rest_is_counted(comparison: Comparison) -> None:
    text = comparison_markdown(comparison)
    assert text.startswith("**1 regression.**\n")
    assert "| ternary\\_gemm\\[m=256\\] | triton | latency | 100 µs | 110 µs | +10.0 % |" in text
    assert "copy" not in text
    assert "1 series without a change." in text
    assert "- environment: torch 2.12.0 → none" in text


def test_what_one_run_lacks_is_listed_and_its_name_is_no_markup(comparison: Comparison) -> None:
    text = comparison_markdown(comparison)
    assert "1 series only in base:\n\n- a\\|b\\[m=256\\] triton latency; the other run did not measure it" in text


def test_a_long_table_says_what_it_leaves_out(comparison: Comparison) -> None:
    many = replace(comparison, deltas=comparison.deltas[:1] * (markdown.MOST_ROWS + 2))
    text = comparison_markdown(many)
    assert text.count("ternary") == markdown.MOST_ROWS
    assert "2 more rows not shown." in text
