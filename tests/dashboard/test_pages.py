"""Every page as a person meets it: empty, full, with a broken address, without a database."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import streamlit as st
from sqlalchemy import Engine
from streamlit.testing.v1 import AppTest

from dashboard import cached
from perfdb.demo import load_demo
from perfdb.domain.case import Outcome
from perfdb.domain.commit import CodeState
from perfdb.domain.environment import Environment
from perfdb.domain.hardware import GpuUnit, Hardware, Machine
from perfdb.domain.run import Run
from perfdb.domain.verdict import Baseline, Reason, Verdict, VerdictKind
from perfdb.store import history, retention
from perfdb.store.ingest import ingest_run
from perfdb.store.verdicts import mark_judged, save_verdicts

APP = Path(cached.__file__).with_name("app.py")
PAGES = ("overview", "series", "run", "machines", "compare")
#: What an address calls the thing that a page shows.
NAMED = {"series": "series", "run": "run", "machines": "machine"}
Show = Callable[..., AppTest]
Make = Callable[..., Run]


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Iterator[Show]:
    """Draws one page of a database as a browser with this address would see it."""

    def draw(page: str, url: str | None, **parameters: str) -> AppTest:
        if url is None:
            monkeypatch.delenv("PERFDB_DATABASE_URL", raising=False)
        else:
            monkeypatch.setenv("PERFDB_DATABASE_URL", url)
        test = AppTest.from_string(f"from dashboard.views import {page}\n{page}.show()", default_timeout=30)
        for name, value in parameters.items():
            test.query_params[name] = value
        return test.run()

    yield draw
    st.cache_resource.clear()


@pytest.fixture
def story(engine: Engine, make_run: Make) -> Engine:
    """Twenty quiet runs, a slow one that is suspect and whose torch is newer, a failing case, a dirty run."""
    runs = [make_run(100.0 + i % 3, position=i) for i in range(1, 21)]
    runs.append(make_run(130.0, position=21, torch="2.14.0", outcomes={"attention": Outcome.FAILED}))
    runs.append(make_run(101.0, position=21, number=99, state=CodeState.DIRTY, hours=22))
    with engine.begin() as connection:
        for run in runs:
            ingest_run(connection, run)
        (series,) = history.catalogue(connection)
        base = Baseline(100.9, 0.01, 20)
        verdict = Verdict(VerdictKind.UNDECIDED, Reason.SUSPECT, True, 0.29, 0.25, 0.33, 0.04, 0.02, base)
        save_verdicts(connection, runs[20].header.run_id, {series.digest: verdict})
    return engine


def written(page: AppTest) -> str:
    """What a page says, without its style."""
    pieces = [str(piece.proto.body) for piece in page.get("html")]
    return " ".join(text for text in pieces if not text.startswith("<style"))


def only_series(engine: Engine) -> str:
    with engine.connect() as connection:
        return history.catalogue(connection)[0].digest


@pytest.mark.parametrize("page", PAGES)
def test_an_empty_database_names_the_next_command(show: Show, database_url: str, page: str) -> None:
    drawn = show(page, database_url)
    assert not drawn.exception
    assert "perfdb run smoke" in written(drawn)


@pytest.mark.parametrize("page", PAGES)
def test_a_database_that_is_down_is_one_sentence(show: Show, page: str) -> None:
    drawn = show(page, "postgresql://127.0.0.1:9/perfdb")
    assert not drawn.exception
    assert "127.0.0.1:9/perfdb" in written(drawn)


def test_a_dashboard_without_a_database_says_how_to_start_it(show: Show) -> None:
    assert "perfdb up" in written(show("overview", None))


def test_the_overview_says_what_is_suspect_and_what_failed(show: Show, story: Engine, database_url: str) -> None:
    text = written(show("overview", database_url))
    assert "1 series is suspect and 1 case failed in the latest 22 runs." in text
    assert "◆ 29.0 % slower" in text
    assert "+25.0 … +33.0 %" in text
    assert "attention ended as failed" in text
    assert f"series?series={only_series(story)}" in text
    assert "dirty" in text


def test_a_filter_in_the_address_is_the_filter_on_the_page(show: Show, story: Engine, database_url: str) -> None:
    drawn = show("overview", database_url, runs="10")
    assert "in the latest 10 runs" in written(drawn)
    assert drawn.segmented_control(key="runs").value == 10


def test_what_the_filters_hide_is_not_counted(show: Show, story: Engine, make_run: Make, database_url: str) -> None:
    with story.begin() as connection:
        ingest_run(connection, make_run(5.0, number=500, repository="other"))
    drawn = show("overview", database_url, repository="other")
    assert "Nothing changed and nothing failed in the latest run." in written(drawn)


def test_a_renamed_series_that_is_no_longer_measured_says_both(
    show: Show, engine: Engine, make_run: Make, database_url: str
) -> None:
    named = make_run(position=2, benchmark="matmul")
    named = replace(named, results=tuple(replace(result, formerly=("gemm",)) for result in named.results))
    others = [make_run(position=position, benchmark="another") for position in (3, 4, 5)]
    with engine.begin() as connection:
        for run in (make_run(position=1, benchmark="gemm"), named, *others):
            ingest_run(connection, run)
        digest = history.find_series(connection, "matmul").digest
    text = written(show("series", database_url, series=digest))
    assert "formerly gemm" in text
    assert "Not measured since 1 Jan 2026: 3 runs of its suite came after." in text


def test_results_of_another_branch_are_hollow_and_say_why(
    show: Show, engine: Engine, make_run: Make, database_url: str
) -> None:
    """Two commits at the same place, of which only one is on the main line."""
    main, other = make_run(1.0, position=2), make_run(9.0, position=2, number=8)
    code = other.header.code
    assert code.commit is not None
    fork = replace(code.commit, sha="b" * 40)
    header = replace(other.header, code=replace(code, commit=fork, branch="feature"), commits=(fork,))
    with engine.begin() as connection:
        for run in (make_run(2.0, position=1), replace(other, header=header), main):
            ingest_run(connection, run)
    page = show("series", database_url, series=only_series(engine))
    assert "1 never a baseline" in written(page)
    codes = list(page.dataframe[0].value["code"])
    assert codes.count("another line of commits: a branch, or this one before it was rewritten") == 1


def test_a_series_address_reproduces_the_page(show: Show, story: Engine, database_url: str) -> None:
    digest = only_series(story)
    drawn = show("series", database_url, series=digest, along="time", last="100", processes="true")
    assert not drawn.exception
    assert drawn.segmented_control(key="along").value == "time"
    assert drawn.toggle(key="processes").value is True
    assert "matmul[m=1]" in written(drawn)
    assert "22 points of 22 drawn." in written(drawn)
    assert len(drawn.get("plotly_chart")) == 1
    assert len(drawn.dataframe[0].value) == 22


def test_samples_are_drawn_only_when_asked_for(show: Show, story: Engine, database_url: str) -> None:
    asked = show("series", database_url, with_samples="true")
    assert len(asked.get("plotly_chart")) == 2
    assert "6 samples in 3 processes" in written(asked)


def test_samples_that_were_pruned_are_said_to_be(show: Show, story: Engine, database_url: str) -> None:
    retention.prune(story, datetime(2026, 2, 1, tzinfo=UTC))
    assert "The samples of January 2026 were pruned" in written(show("series", database_url, with_samples="true"))


def test_the_newest_result_of_a_series_speaks_for_its_branch(show: Show, story: Engine, database_url: str) -> None:
    text = written(show("series", database_url))
    assert "suspect" in text
    assert "A change of 4.0 % or more would have been seen" in text


def test_picking_another_provider_moves_the_address(
    show: Show, story: Engine, make_run: Make, database_url: str
) -> None:
    with story.begin() as connection:
        ingest_run(connection, make_run(7.0, number=300, position=21, benchmark="attention"))
    drawn = show("series", database_url, series=only_series(story))
    benchmark = next(box for box in drawn.selectbox if box.label == "Benchmark")
    benchmark.set_value("matmul" if benchmark.value == "attention" else "attention").run()
    assert drawn.query_params["series"] != only_series(story)
    assert not drawn.exception


def test_a_run_shows_its_facts_and_links_its_series(
    show: Show, story: Engine, make_run: Make, database_url: str
) -> None:
    text = written(show("run", database_url, run=make_run(position=21).header.run_id))
    assert "130 µs" in text
    assert "2.14.0" in text
    assert "attention ended as failed" in text
    assert f"series?series={only_series(story)}" in text


def test_without_an_address_the_newest_run_is_shown_and_named(
    show: Show, story: Engine, make_run: Make, database_url: str
) -> None:
    drawn = show("run", database_url)
    assert "dirty" in written(drawn)
    assert drawn.query_params["run"] == make_run(number=99).header.run_id


def test_without_an_address_a_series_is_shown_and_named(show: Show, story: Engine, database_url: str) -> None:
    assert show("series", database_url).query_params["series"] == only_series(story)


@pytest.mark.parametrize("page", NAMED)
@pytest.mark.parametrize("wanted", ["ffffffffffffffff", "x", "';--", "<script>alert(1)</script>", "%00", "no\x00thing"])
def test_an_unknown_id_is_one_sentence_with_the_next_action(
    show: Show, story: Engine, database_url: str, page: str, wanted: str
) -> None:
    drawn = show(page, database_url, **{NAMED[page]: wanted})
    assert not drawn.exception
    assert "This page cannot be shown" in written(drawn)
    assert "<script" not in written(drawn)


def test_a_machine_shows_its_software_over_time_and_that_no_baseline_speaks(
    show: Show, story: Engine, database_url: str
) -> None:
    drawn = show("machines", database_url)
    text = written(drawn)
    assert drawn.query_params["machine"] == "key"
    assert "1 machine has measured" in text
    assert "torch 2.13.0 → 2.14.0" in text
    assert "the first recorded" in text
    assert "No control was judged here in 90 days" in text
    assert not drawn.selectbox  # there is nothing to choose


def test_picking_another_machine_moves_the_address(
    show: Show, story: Engine, make_run: Make, database_url: str
) -> None:
    run = make_run(position=22)
    gpu = GpuUnit("f00d" * 4, "GPU", None)
    moved = replace(run.header, machine=Machine("another", "host", gpu), environment=Environment(()))
    with story.begin() as connection:
        ingest_run(connection, replace(run, header=replace(moved, hardware=Hardware(()))))
    drawn = show("machines", database_url)
    assert "2 machines have measured" in written(drawn)
    assert "host · GPU f00df0" in written(drawn)
    assert written(drawn).count("Nothing is recorded.") == 2
    assert "No baseline speaks yet" in written(drawn)
    drawn.selectbox[0].set_value("key").run()
    assert drawn.query_params["machine"] == "key"
    assert not drawn.exception


def test_a_control_that_moved_is_said_before_everything_else(
    show: Show, engine: Engine, make_run: Make, database_url: str
) -> None:
    base = Baseline(100.0, 0.01, 20)
    quiet = Verdict(VerdictKind.OK, Reason.WITHIN_NOISE, smallest_detectable=0.05, baseline=base)
    suspect = replace(quiet, kind=VerdictKind.UNDECIDED, reason=Reason.SUSPECT, is_suspect=True, delta=0.07)
    with engine.begin() as connection:
        for position in range(1, 7):
            run = make_run(position=position, torch="2.13.0" if position < 5 else "2.14.0")
            run = replace(run, results=tuple(replace(result, is_control=True) for result in run.results))
            ingest_run(connection, run)
            (series,) = history.catalogue(connection)
            save_verdicts(connection, run.header.run_id, {series.digest: suspect if position > 4 else quiet})
            mark_judged(connection, run.header.run_id)
    drawn = show("machines", database_url, machine="host")
    text = written(drawn)
    assert "1 of 1 control moved, the last time from 1 Jan 2026 on." in text
    assert "suspect the machine or its software before the code" in text
    assert "7.0 % slower" in text
    assert "with torch 2.13.0 → 2.14.0" in text
    assert "2 of 6" in text
    assert f"series?series={series.digest}" in text
    assert len(drawn.get("plotly_chart")) == 1


def test_a_run_leads_to_its_machine(show: Show, story: Engine, database_url: str) -> None:
    assert "machines?machine=key" in written(show("run", database_url))


def test_a_lost_database_is_one_sentence(show: Show, story: Engine, database_url: str) -> None:
    show("overview", database_url)
    st.cache_resource.clear()
    drawn = show("overview", database_url.replace("/test_", "/gone_"))
    assert not drawn.exception
    assert "This page cannot be shown" in written(drawn)


def test_the_demo_says_on_every_page_that_it_is_generated(
    show: Show, story: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "generated" not in written(show("overview", database_url))
    monkeypatch.setenv("PERFDB_DEMO", "1")
    assert all("<strong>generated</strong>" in written(show(page, database_url)) for page in PAGES)


def test_the_app_opens_on_the_overview(
    story: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch, show: Show
) -> None:
    monkeypatch.setenv("PERFDB_DATABASE_URL", database_url)
    app = AppTest.from_file(str(APP), default_timeout=30).run()
    assert not app.exception
    assert "is suspect" in written(app)


@pytest.mark.slow
def test_every_series_and_the_other_pages_of_the_demo_are_drawn(show: Show, engine: Engine, database_url: str) -> None:
    load_demo(engine)
    with engine.connect() as connection:
        digests = [series.digest for series in history.catalogue(connection)]
    for digest in digests:
        drawn = show("series", database_url, series=digest)
        assert not drawn.exception
        assert len(drawn.get("plotly_chart")) == 1
    assert " suspect" in written(show("overview", database_url, runs="200"))
    assert "Measurements" in written(show("run", database_url, run="latest"))
    machine = show("machines", database_url)
    assert "No control moved in 360 judged results." in written(machine)
    assert len(machine.get("plotly_chart")) == 1
