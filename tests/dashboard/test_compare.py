"""The compare page and its chart, drawn from a real store."""

from collections.abc import Callable, Iterator

import pytest
import streamlit as st
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from dashboard.distribution_chart import distribution_figure
from dashboard.palette import LIGHT
from dashboard.traces import Look
from perfdb.detect import compare_runs
from perfdb.domain.run import Run
from perfdb.reports.formatting import zone
from perfdb.store.history import catalogue, series_samples
from perfdb.store.ingest import ingest_run

Make = Callable[..., Run]
Show = Callable[..., AppTest]


@pytest.fixture
def runs(engine: Engine, make_run: Make) -> list[Run]:
    """A base, a head that is 30 % slower and has another torch, and a run of a benchmark of its own."""
    made = [
        make_run([100.0, 100.5, 99.5], position=1),
        make_run([130.0, 130.5, 129.5], position=2, torch="2.14.0"),
        make_run(5.0, position=3, benchmark="softmax"),
    ]
    with engine.begin() as connection:
        for run in made:
            ingest_run(connection, run)
    return made


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch, database_url: str) -> Iterator[Show]:
    """Draws the page as a browser with this address would see it."""

    def draw(**parameters: str) -> AppTest:
        monkeypatch.setenv("PERFDB_DATABASE_URL", database_url)
        test = AppTest.from_string("from dashboard.views import compare\ncompare.show()", default_timeout=30)
        for name, value in parameters.items():
            test.query_params[name] = value
        return test.run()

    yield draw
    st.cache_resource.clear()


def written(page: AppTest) -> str:
    pieces = [str(piece.proto.body) for piece in page.get("html")]
    return " ".join(text for text in pieces if not text.startswith("<style"))


def test_two_commits_are_compared_and_their_software_told(show: Show, runs: list[Run]) -> None:
    page = show(base="0" * 39 + "1", head="0" * 39 + "2")
    text = written(page)
    assert not page.exception
    assert "1 regression." in text
    assert "▲ regression" in text
    assert "2.13.0 → 2.14.0" in text
    assert "Both runs measured the same series." in text


def test_what_each_side_lacks_is_listed(show: Show, runs: list[Run]) -> None:
    text = written(show(base=runs[0].header.run_id, head="main"))
    assert "The two runs share no series" in text
    assert "matmul[m=1]" in text
    assert "softmax[m=1]" in text
    assert text.count("the other run did not measure it") == 2


def test_a_row_in_the_address_shows_its_samples(show: Show, engine: Engine, runs: list[Run]) -> None:
    with engine.connect() as connection:
        (series,) = (s for s in catalogue(connection) if s.benchmark == "matmul")
    page = show(base=runs[0].header.run_id, head=runs[1].header.run_id, row=series.digest)
    assert len(page.get("plotly_chart")) == 1


def test_a_run_against_itself_is_one_sentence(show: Show, runs: list[Run]) -> None:
    text = written(show(base="main", head="latest"))
    assert "are the same run" in text


def test_one_run_alone_asks_for_another(show: Show, engine: Engine, make_run: Make) -> None:
    with engine.begin() as connection:
        ingest_run(connection, make_run())
    assert "There is only one run" in written(show())


def test_the_chart_has_a_box_a_process_and_the_means_that_are_compared(engine: Engine, runs: list[Run]) -> None:
    base, head = (run.header.run_id for run in runs[:2])
    with engine.connect() as connection:
        (delta,) = compare_runs(connection, base, head).deltas
        samples = [series_samples(connection, delta.series.digest, run) for run in (base, head)]
    figure = distribution_figure(delta, samples[0], samples[1], Look(LIGHT, zone("UTC")))
    boxes = [trace for trace in figure.data if trace.type == "box"]
    assert [box.name for box in boxes] == ["base 1", "base 2", "base 3", "head 1", "head 2", "head 3"]
    assert list(boxes[3].y) == [130.0, 130.0]
    assert [trace.name for trace in figure.data if trace.type == "scatter"] == ["base: 100 µs", "head: 130 µs"]
