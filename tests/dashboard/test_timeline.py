from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dashboard.timeline import Axis, Mark, environment_changes, mark, ordered, positions, thinned
from perfdb.domain.commit import CodeState
from perfdb.domain.environment import Environment
from perfdb.domain.history import Point
from perfdb.domain.verdict import Reason, Verdict, VerdictKind

OLD, NEW = Environment.of(torch="2.11", python="3.11"), Environment.of(torch="2.13", python="3.11")


def test_points_lie_at_their_commit_and_unplaced_ones_behind_the_last(make_point: Callable[..., Point]) -> None:
    points = [make_point(position=3), make_point(position=7), make_point(position=None), make_point(position=None)]
    assert positions(points) == [3, 7, 8, 9]


def test_time_orders_by_when_it_was_measured(make_point: Callable[..., Point]) -> None:
    late = replace(make_point(position=1), started_at=make_point(position=9).started_at)
    assert ordered([late, make_point(position=2)], Axis.TIME)[1] is late
    assert ordered([late, make_point(position=2)], Axis.COMMIT)[0] is late


def test_a_suspect_is_marked_until_it_is_decided(make_point: Callable[..., Point], suspect: Verdict) -> None:
    decided = Verdict(VerdictKind.REGRESSION, Reason.CHANGED, delta=0.2)
    assert mark(make_point(verdict=suspect)) is Mark.SUSPECT
    assert mark(make_point(verdict=decided)) is Mark.WORSE
    assert mark(make_point(verdict=replace(decided, kind=VerdictKind.IMPROVEMENT))) is Mark.BETTER
    assert mark(make_point()) is Mark.PLAIN


def test_a_software_change_says_what_changed(make_point: Callable[..., Point]) -> None:
    points = [
        make_point(position=1),
        make_point(position=2, environment="new"),
        make_point(position=3, environment="new"),
    ]
    (change,) = environment_changes(points, {"old": OLD, "new": NEW})
    assert (change.index, dict(change.facts)) == (1, {"torch": ("2.11", "2.13")})
    assert change.label == "torch 2.11 → 2.13"


def test_hosts_that_take_turns_are_no_software_change(make_point: Callable[..., Point]) -> None:
    turns = [make_point(position=i, environment=e, hostname=e) for i, e in enumerate(["old", "new", "old", "new"], 1)]
    assert environment_changes(turns, {"old": OLD, "new": NEW}) == ()


def test_thinning_keeps_every_suspect_the_extremes_and_what_it_is_told(
    make_point: Callable[..., Point], suspect: Verdict
) -> None:
    points = [make_point(100.0 + i % 7, position=i) for i in range(1, 10_001)]
    points[5000] = replace(points[5000], value=900.0)
    for index in (17, 18, 19, 7777):
        points[index] = replace(points[index], verdict=suspect)
    drawn = thinned(points, keep=[42])
    assert {17, 18, 19, 7777, 42, 5000, 9999} <= set(drawn.tolist())
    assert len(drawn) <= 1510
    assert np.all(np.diff(drawn) > 0)


def test_a_short_series_is_not_thinned(make_point: Callable[..., Point]) -> None:
    points = [make_point(position=i, state=CodeState.DIRTY) for i in range(1, 31)]
    assert thinned(points, keep=[]).tolist() == list(range(30))
