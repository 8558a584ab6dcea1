"""Records: what an encoder wrote is read back equal, and anything else is refused by the field's value."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfdb.decoder import decode_header, decode_result, decode_time
from perfdb.domain.case import Case, Cost, Outcome
from perfdb.domain.commit import Code, CodeState, Commit
from perfdb.domain.environment import Environment
from perfdb.domain.hardware import GpuUnit, Hardware, Machine
from perfdb.domain.metric import LATENCY
from perfdb.domain.run import CaseResult, Protocol, Reading, RunHeader
from perfdb.record import encode_header, encode_result, encode_time

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
COMMIT = Commit("a" * 40, ("b" * 40,), None, NOON, "an ☃")
UNVERSIONED = RunHeader(
    run_id=str(UUID(int=1)),
    suite="smoke",
    started_at=NOON,
    code=Code("perfdb", CodeState.UNVERSIONED, difference="d"),
    machine=Machine("key", "host"),
    hardware=Hardware.of(cpu_model="x", threads=2),
    environment=Environment.of(torch=None),
    protocol=Protocol("cpu", 1),
    processes=3,
    seed=7,
    perfdb_version="0.1.0",
)
COMMITTED = RunHeader(
    run_id=str(UUID(int=2)),
    suite="smoke",
    started_at=NOON,
    code=Code("perfdb", CodeState.COMMITTED, COMMIT, "main"),
    machine=Machine("key", "host", GpuUnit("u", "H200", "96.00")),
    hardware=Hardware.of(gpu="H200", ecc=True),
    environment=Environment.of(torch="2.13.0"),
    protocol=Protocol("burst", 2),
    processes=5,
    seed=2**62,
    perfdb_version="0.1.0",
    commits=(COMMIT,),
)
MEASURED = CaseResult(
    benchmark="matmul",
    case=Case.of(m=1, alpha=0.5, dtype="float32", causal=True),
    provider="eager",
    process=2,
    outcome=Outcome.MEASURED,
    ended_at=NOON,
    readings=(Reading(LATENCY, 1.5, (1.0, 2.0)),),
    cost=Cost(2.0, 3.0),
)


def through_json(record: Any) -> Any:
    return json.loads(json.dumps(record))


@pytest.mark.parametrize("header", [UNVERSIONED, COMMITTED])
def test_a_header_is_read_back_equal(header: RunHeader) -> None:
    assert decode_header(through_json(encode_header(header))) == header


@pytest.mark.parametrize("result", [MEASURED, CaseResult("copy", Case.of(), "eager", 0, Outcome.TIMED_OUT, NOON)])
def test_a_result_is_read_back_equal(result: CaseResult) -> None:
    assert decode_result(through_json(encode_result(result))) == result


def test_an_axis_keeps_its_type() -> None:
    case = Case.of(whole=1, real=1.0, text="1", flag=True)
    result = CaseResult("b", case, "eager", 0, Outcome.FAILED, NOON)
    axes = decode_result(through_json(encode_result(result))).case.axes
    assert [(name, type(value)) for name, value in axes] == [
        ("flag", bool),
        ("real", float),
        ("text", str),
        ("whole", int),
    ]


def test_times_are_written_in_utc_whatever_their_zone() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert encode_time(elsewhere) == "2026-05-01T12:00:00+00:00"
    assert decode_time("2026-05-01T17:30:00+05:30") == NOON


@pytest.mark.parametrize(
    "text", ["2026-05-01T12:00:00", "1969-12-31T23:59:59+00:00", "9999-12-31T00:00:00+00:00", "now"]
)
def test_a_time_that_cannot_be_placed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"without its zone|is not of our age|cannot be read"):
        decode_time(text)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("benchmark", "b" * 201, "length <= 200"),
        ("benchmark", "\ud800", "surrogates not allowed"),
        ("provider", 7, "Expected `str`, got `int`"),
        ("process", -1, "Expected `int` >= 0"),
        ("process", 40_000, "Expected `int` <= 32767"),
        ("process", True, "Expected `int`, got `bool`"),
        ("floor", float("inf"), "Expected `float` <="),
        ("case", {"m": [1]}, r"Expected `bool \| int \| float \| str`, got `array`"),
        ("outcome", "failed", "outcome failed with 1 readings"),
    ],
)
def test_a_result_that_the_store_could_not_hold_is_refused(field: str, value: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        decode_result({**encode_result(MEASURED), field: value})


def test_a_sample_that_32_bits_cannot_hold_is_refused() -> None:
    record = through_json(encode_result(MEASURED))
    record["readings"][0]["samples"] = [1e39]
    with pytest.raises(ValueError, match=r"<= 3\.4e"):
        decode_result(record)


@pytest.mark.parametrize("sha", ["", "abc", "G" * 40, "a" * 41])
def test_what_is_no_sha_is_refused(sha: str) -> None:
    record = through_json(encode_header(COMMITTED))
    record["code"]["commit"]["sha"] = sha
    with pytest.raises(ValueError, match=r"matching regex .* at `\$.code.commit.sha`"):
        decode_header(record)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(field=st.sampled_from(sorted(encode_header(COMMITTED))), value=json_values)
def test_a_header_of_any_values_is_read_or_refused_and_nothing_else(field: str, value: object) -> None:
    record = {**through_json(encode_header(COMMITTED)), field: value}
    try:
        decoded = decode_header(record)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return
    assert decode_header(through_json(encode_header(decoded))) == decoded
