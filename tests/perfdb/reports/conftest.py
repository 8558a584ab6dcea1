"""A comparison that can be checked by hand."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfdb.domain.case import Case
from perfdb.domain.commit import CodeState, Commit
from perfdb.domain.comparison import Comparison, Delta
from perfdb.domain.history import Point, RunSummary, Series
from perfdb.domain.metric import LATENCY
from perfdb.domain.run import RunState
from perfdb.domain.verdict import Reason, Verdict, VerdictKind

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SERIES = Series("5" * 32, "kernels", "ternary_gemm", Case.of(m=256), "triton", "cpu", LATENCY, "h", "one CPU")


def _run(name: str) -> RunSummary:
    commit = Commit(name[0] * 40, (), 1, NOON, "Tile")
    return RunSummary(
        *(f"{name}-run-id", "kernels", "smoke", RunState.COMPLETE, CodeState.COMMITTED, commit, "main", NOON, NOON),
        *("host", "h", "one CPU", "e", {}, {}),
    )


def _delta(series: Series, kind: VerdictKind, reason: Reason, base: float, head: float) -> Delta:
    points = [
        Point("run", NOON, value, (value, value), CodeState.COMMITTED, None, "e", "host") for value in (base, head)
    ]
    change = head / base - 1
    verdict = Verdict(
        kind, reason, delta=change, low=change - 0.01, high=change + 0.01, smallest_detectable=0.03, floor=0.02
    )
    return Delta(series, points[0], points[1], verdict)


@pytest.fixture
def comparison() -> Comparison:
    """One regression of 10 %, one series that is as it was, one that only base has, and another torch."""
    same, gone = replace(SERIES, digest="6" * 32, benchmark="copy"), replace(SERIES, digest="7" * 32, benchmark="a|b")
    return Comparison(
        base=_run("aaaa"),
        head=_run("bbbb"),
        deltas=(
            _delta(SERIES, VerdictKind.REGRESSION, Reason.CHANGED, 100.0, 110.0),
            _delta(same, VerdictKind.OK, Reason.WITHIN_NOISE, 50.0, 50.0),
        ),
        only_base=(gone,),
        environment_changes={"torch": ("2.12.0", None)},
    )
