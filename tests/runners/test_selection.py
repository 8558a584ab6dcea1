import subprocess
import sys

import pytest

from perfdb.domain.case import Case
from perfdb.errors import SelectionError
from runners.measure.messages import CaseKey
from runners.selection import choose, parse_filter, visiting_order
from runners.visits import Declaration

SEE = "perfdb list cases"


def declaration(name: str, provider: str = "eager", *, is_control: bool = False, **axes: str | int) -> Declaration:
    key = CaseKey(name, provider, Case.of(axes))
    return Declaration(key, ("smoke",), "suites.x", "/x.py", None, 1e-5, is_control)


MANY = tuple(declaration("linear", m=m, dtype=dtype) for m in (256, 512, 1024) for dtype in ("float32", "bfloat16"))
CONTROLS = (declaration("copy", is_control=True, n=1), declaration("matmul", is_control=True, n=2))


def test_a_filter_is_pairs_of_axis_and_glob() -> None:
    assert parse_filter("m=256, dtype=float*") == {"m": "256", "dtype": "float*"}
    assert parse_filter(None) == {}


@pytest.mark.parametrize("text", ["m", "m=", "=256", "m:256"])
def test_a_filter_that_is_no_pair_is_explained(text: str) -> None:
    with pytest.raises(SelectionError, match="is not axis=value"):
        parse_filter(text)


def test_a_filter_takes_axes_benchmark_and_provider() -> None:
    chosen = choose([*MANY, *CONTROLS], "smoke", {"benchmark": "lin*", "provider": "eager", "m": "256"}, SEE)
    assert [d.key.label for d in chosen] == ["linear[dtype=float32,m=256]", "linear[dtype=bfloat16,m=256]"]


def test_an_unknown_suite_names_the_nearest() -> None:
    with pytest.raises(SelectionError, match=r"no suite matches 'smok'; nearest: smoke.*perfdb list cases"):
        choose(MANY, "smok", {}, SEE)


def test_an_unknown_axis_names_the_nearest() -> None:
    with pytest.raises(SelectionError, match=r"no axis matches 'dtyp'; nearest: dtype"):
        choose(MANY, "smoke", {"dtyp": "float32"}, SEE)


def test_an_unknown_value_names_the_nearest() -> None:
    with pytest.raises(SelectionError, match=r"no dtype matches 'float23'; nearest: float32"):
        choose(MANY, "smoke", {"dtype": "float23"}, SEE)


def test_values_that_never_meet_name_cases() -> None:
    with pytest.raises(SelectionError, match="no case matches"):
        choose([*MANY, *CONTROLS], "smoke", {"m": "256", "n": "1"}, SEE)


def test_a_tree_that_declares_nothing_is_explained() -> None:
    with pytest.raises(SelectionError, match="no benchmark is declared"):
        choose([], "smoke", {}, SEE)


def test_controls_come_first_and_every_case_once() -> None:
    order = visiting_order([*MANY, *CONTROLS], seed=1, process=0)
    assert {d.key for d in order[:2]} == {d.key for d in CONTROLS}
    assert sorted(order, key=str) == sorted([*MANY, *CONTROLS], key=str)


def test_the_order_depends_on_the_seed_and_the_process_only() -> None:
    order = visiting_order(MANY, seed=7, process=1)
    assert visiting_order(tuple(reversed(MANY)), seed=7, process=1) == order
    others = [visiting_order(MANY, seed=seed, process=process) for seed, process in ((7, 0), (7, 2), (8, 1))]
    assert all(other != order for other in others)


def test_the_order_is_the_same_in_another_process() -> None:
    program = "import random; c = random.Random('7 1'); x = list(range(6)); c.shuffle(x); print(x)"
    told = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1
