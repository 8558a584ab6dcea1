"""Points and series that can be checked by hand."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from dashboard.palette import LIGHT
from dashboard.traces import Look
from perfdb.domain.case import Case
from perfdb.domain.commit import CodeState, Commit
from perfdb.domain.history import Point, Series
from perfdb.domain.metric import LATENCY
from perfdb.domain.verdict import Baseline, Reason, Verdict, VerdictKind

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PointMaker = Callable[..., Point]


@pytest.fixture
def series() -> Series:
    case = Case.of(m=256, dtype="float32")
    return Series("d" * 32, "kernels", "gemm", case, "triton", "cpu v1", LATENCY, "h" * 16, "generated CPU")


@pytest.fixture
def look() -> Look:
    return Look(LIGHT, UTC)


@pytest.fixture
def make_point() -> PointMaker:
    """A point a day; position 7 is measured on the seventh day of March."""

    def make(
        value: float = 100.0,
        position: int | None = 1,
        *,
        state: CodeState = CodeState.COMMITTED,
        environment: str = "old",
        hostname: str = "host-a",
        verdict: Verdict | None = None,
        subject: str = "Tile the inner loop",
    ) -> Point:
        when = START + timedelta(days=position or 400)
        commit = Commit(f"{position:040x}", (), position, when, subject) if position is not None else None
        return Point(
            f"run-{position}", when, value, (value, value * 1.01), state, commit, environment, hostname, verdict
        )

    return make


@pytest.fixture
def ok() -> Verdict:
    return Verdict(
        VerdictKind.OK,
        Reason.WITHIN_NOISE,
        delta=0.004,
        low=-0.01,
        high=0.02,
        smallest_detectable=0.041,
        floor=0.02,
        baseline=Baseline(100.0, 0.01, 20),
    )


@pytest.fixture
def suspect() -> Verdict:
    return Verdict(
        VerdictKind.UNDECIDED,
        Reason.SUSPECT,
        is_suspect=True,
        delta=0.2,
        low=0.15,
        high=0.25,
        smallest_detectable=0.04,
        floor=0.02,
        baseline=Baseline(100.0, 0.01, 30),
    )
