from dataclasses import replace

import pytest

from dashboard.picker import choice_of, opening, options, pick, shown_fields
from perfdb.domain.case import Case
from perfdb.domain.choice import SeriesChoice
from perfdb.domain.history import Series


@pytest.fixture
def gemm(series: Series) -> SeriesChoice:
    return choice_of(series)


def catalogue(gemm: SeriesChoice) -> list[SeriesChoice]:
    return [
        gemm,
        replace(gemm, digest="1" * 32, case=Case.of(m=512)),
        replace(gemm, digest="2" * 32, provider="eager"),
        replace(gemm, digest="3" * 32, metric="relative_error"),
        replace(gemm, digest="4" * 32, benchmark="attention", case=Case.of(m=512)),
    ]


def test_a_field_offers_what_exists_under_the_fields_before_it(gemm: SeriesChoice) -> None:
    assert options(catalogue(gemm), gemm, "Benchmark") == ["attention", "gemm"]
    assert options(catalogue(gemm), gemm, "Provider") == ["eager", "triton"]


def test_a_pick_keeps_what_it_can_of_the_series_before(gemm: SeriesChoice) -> None:
    known = catalogue(gemm)
    assert pick(known, gemm, "Provider", "eager") is known[2]
    assert pick(known, known[1], "Benchmark", "attention") is known[4]


def test_a_value_that_is_gone_moves_nowhere(gemm: SeriesChoice) -> None:
    assert pick(catalogue(gemm), gemm, "Provider", "gone") is gemm


def test_only_what_differs_gets_a_control_beside_the_four_names(gemm: SeriesChoice) -> None:
    two_machines = [gemm, replace(gemm, digest="9" * 32, hardware="other", hardware_label="other")]
    assert shown_fields([gemm]) == ["Benchmark", "Case", "Provider", "Metric"]
    assert shown_fields(two_machines) == ["Hardware", "Benchmark", "Case", "Provider", "Metric"]


def test_the_page_opens_on_a_latency_that_is_no_control(gemm: SeriesChoice) -> None:
    control = replace(gemm, digest="0" * 32, benchmark="a copy", is_control=True)
    error = replace(gemm, digest="1" * 32, benchmark="a error", metric="relative_error")
    assert opening([control, error, gemm]) is gemm
