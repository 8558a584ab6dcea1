from dataclasses import replace

import pytest

from dashboard.sentences import detectable, headline, undecided_note, verdict_words
from perfdb.domain.history import Series
from perfdb.domain.metric import Better, Metric
from perfdb.domain.verdict import Reason, Verdict, VerdictKind


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ((25, 0, 0, 0), "Nothing changed and nothing failed in the latest 25 runs."),
        ((25, 2, 1, 3), "2 series changed, 1 is suspect and 3 cases failed in the latest 25 runs."),
        ((1, 0, 2, 0), "2 series are suspect in the latest run."),
        ((10, 0, 1, 1), "1 series is suspect and 1 case failed in the latest 10 runs."),
    ],
)
def test_the_headline_counts_what_changed_is_suspect_and_failed(
    counts: tuple[int, int, int, int], sentence: str
) -> None:
    assert headline(*counts) == sentence


def test_a_verdict_says_slower_for_time_and_worse_for_the_rest(series: Series, suspect: Verdict) -> None:
    throughput = replace(series, metric=Metric("throughput", "GB/s", Better.HIGHER))
    assert verdict_words(suspect, series) == "suspect: 20.0 % slower"
    assert verdict_words(replace(suspect, delta=-0.2), series) == "suspect: 20.0 % faster"
    assert verdict_words(suspect, throughput) == "suspect: 20.0 % worse"


def test_a_quiet_series_says_what_it_would_have_seen(ok: Verdict) -> None:
    seen = "A change of 4.1 % or more would have been seen; changes below the floor of 2.0 % do not count."
    assert detectable(ok) == seen


def test_a_short_series_says_how_many_results_are_missing() -> None:
    short = Verdict(VerdictKind.UNDECIDED, Reason.SHORT_HISTORY, missing=7)
    assert detectable(short) == "Needs 7 more results before it can speak."
    assert detectable(replace(short, missing=1)) == "Needs 1 more result before it can speak."


def test_what_was_not_judged_says_so() -> None:
    assert detectable(None).startswith("Not judged yet")


def test_undecided_measurements_are_mentioned_only_where_there_are_some() -> None:
    assert undecided_note(0, 12) == ""
    assert undecided_note(3, 12) == "3 of 12 measurements of the newest run cannot be decided yet."
