"""Cases: labels, seeds and filters."""

from perfdb.domain.case import Case


def test_a_case_is_the_same_however_its_axes_are_given() -> None:
    assert Case.of({"m": 2}, k=1) == Case.of(k=1, m=2)
    assert Case.of(k=1, m=2).label == "k=1,m=2"


def test_an_integer_and_its_text_are_different_cases() -> None:
    assert Case.of(m=1).digest != Case.of(m="1").digest


def test_the_seed_follows_from_the_axes_alone() -> None:
    assert Case.of(m=1, k=2).seed == Case.of(k=2, m=1).seed
    assert Case.of(m=1, k=2).seed != Case.of(m=2, k=2).seed
    assert 0 <= Case.of(m=1).seed < 2**32


def test_a_filter_takes_globs_and_every_axis_must_match() -> None:
    case = Case.of(m=256, dtype="float32")
    assert case.matches({"dtype": "float*"})
    assert case.matches({"dtype": "float*", "m": "256"})
    assert not case.matches({"dtype": "float*", "m": "512"})


def test_a_filter_on_an_axis_that_the_case_lacks_does_not_match() -> None:
    assert not Case.of(m=1).matches({"n": "*"})


def test_a_case_without_axes_is_its_benchmark() -> None:
    assert Case.of().of_benchmark("copy") == "copy"
    assert Case.of(m=1).of_benchmark("copy") == "copy[m=1]"
