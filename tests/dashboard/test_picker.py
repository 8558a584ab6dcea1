from dataclasses import replace

from dashboard.picker import opening, options, pick, shown_fields
from perfdb.domain.case import Case
from perfdb.domain.history import Series
from perfdb.domain.metric import RELATIVE_ERROR


def catalogue(gemm: Series) -> list[Series]:
    return [
        gemm,
        replace(gemm, digest="1" * 32, case=Case.of(m=512)),
        replace(gemm, digest="2" * 32, provider="eager"),
        replace(gemm, digest="3" * 32, metric=RELATIVE_ERROR),
        replace(gemm, digest="4" * 32, benchmark="attention", case=Case.of(m=512)),
    ]


def test_a_field_offers_what_exists_under_the_fields_before_it(series: Series) -> None:
    assert options(catalogue(series), series, "Benchmark") == ["attention", "gemm"]
    assert options(catalogue(series), series, "Provider") == ["eager", "triton"]


def test_a_pick_keeps_what_it_can_of_the_series_before(series: Series) -> None:
    known = catalogue(series)
    assert pick(known, series, "Provider", "eager") is known[2]
    assert pick(known, known[1], "Benchmark", "attention") is known[4]


def test_a_value_that_is_gone_moves_nowhere(series: Series) -> None:
    assert pick(catalogue(series), series, "Provider", "gone") is series


def test_only_what_differs_gets_a_control_beside_the_four_names(series: Series) -> None:
    two_machines = [series, replace(series, digest="9" * 32, hardware="other", hardware_label="other")]
    assert shown_fields([series]) == ["Benchmark", "Case", "Provider", "Metric"]
    assert shown_fields(two_machines) == ["Hardware", "Benchmark", "Case", "Provider", "Metric"]


def test_the_page_opens_on_a_latency_that_is_no_control(series: Series) -> None:
    control = replace(series, digest="0" * 32, benchmark="a copy", is_control=True)
    error = replace(series, digest="1" * 32, benchmark="a error", metric=RELATIVE_ERROR)
    assert opening([control, error, series]) is series
