"""The demo: the same for the same seed, labelled as generated, and with something to see on every page."""

from sqlalchemy import Engine

from perfdb.demo import PLOTS, REPOSITORY, demo_runs, load_demo
from perfdb.domain.case import Outcome
from perfdb.domain.commit import CodeState
from perfdb.domain.run import RunState
from perfdb.store.history import catalogue, flagged_measurements
from perfdb.store.outcomes import failures
from perfdb.store.runs import recent_runs


def test_the_same_seed_makes_the_same_history() -> None:
    assert list(demo_runs(3)) == list(demo_runs(3))
    assert list(demo_runs(3)) != list(demo_runs(4))


def test_every_run_says_that_it_is_generated() -> None:
    for run in demo_runs():
        head = run.header
        assert "generated" in head.code.repository
        assert (head.suite, head.protocol.name, head.perfdb_version) == ("generated", "generated", "generated")
        assert dict(head.environment.facts)["source"] == "generated"
        assert "generated" in head.machine.hostname
        assert "generated" in head.hardware.label


def test_it_holds_one_of_everything(engine: Engine) -> None:
    assert load_demo(engine) == 122
    assert load_demo(engine) == 0
    with engine.connect() as connection:
        runs = recent_runs(connection, limit=200)
        assert {run.state for run in runs} == set(RunState)
        assert {CodeState.COMMITTED, CodeState.DIRTY} <= {run.code_state for run in runs}
        assert len({run.environment for run in runs}) == 2
        assert len(catalogue(connection, repository=REPOSITORY)) == 2 * len(PLOTS)
        ids = [run.run_id for run in runs]
        newest = flagged_measurements(connection, ids)
        assert (newest[0].series.benchmark, newest[0].series.provider) == ("fake_quant", "triton")
        failed = {failure.outcome for failure in failures(connection, ids)}
        assert failed == {Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY, Outcome.WRONG_RESULT}
