"""Worker: the process that measures. It loads the benchmarks of one tree, then surveys them or visits cases."""

import ctypes
import inspect
import os
import signal
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from perfdb.domain.case import Case
from perfdb.record import encode_result
from runners.measure.facts import software_facts
from runners.measure.guarded import Ending, guarded
from runners.measure.messages import CASE_MARK, REFUSED, CaseKey, Plan, Speaker, encode_key, read_plan
from runners.measure.visit import Visitor
from suites.registry import Benchmark, discover, load_file

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Declared:
    """A benchmark and the file it is declared in."""

    benchmark: Benchmark
    file: Path


def main(plan_file: str, descriptor: str) -> None:
    """Carry out a plan and say what happens on the pipe ``descriptor``."""
    die_with_parent()
    plan, speaker = read_plan(Path(plan_file)), Speaker(int(descriptor))
    sys.path[:] = import_order(sys.path, plan.path)
    loaded = guarded(partial(load, plan), Path(plan.tree))
    if isinstance(loaded, Ending):
        refuse(speaker, f"the benchmarks of {plan.tree} cannot be loaded: {loaded.detail}")
    outside = [declared for declared in loaded if not declared.file.is_relative_to(plan.tree)]
    if outside:
        refuse(speaker, outside_of(plan.tree, outside[0]))
    if plan.visits is None:
        tell_declarations(speaker, loaded)
    else:
        fix_threads(plan.threads)
        visit_all(speaker, plan, plan.visits, [declared.benchmark for declared in loaded])
    speaker.say("end")
    # a thread that a benchmark left behind would keep the interpreter from ending
    os._exit(0)


def load(plan: Plan) -> tuple[Declared, ...]:
    """Every benchmark that the plan's modules or file declare."""
    found = load_file(Path(plan.file)) if plan.file else discover(plan.modules)
    return tuple(Declared(benchmark, declared_in(benchmark)) for benchmark in found)


def declared_in(benchmark: Benchmark) -> Path:
    """The file that holds the benchmark's own function, links followed."""
    return Path(inspect.unwrap(benchmark.function).__code__.co_filename).resolve()


def outside_of(tree: str, declared: Declared) -> str:
    """Why a benchmark is refused."""
    return (
        f"benchmark {declared.benchmark.name} is declared in {declared.file}, outside of the code under test {tree}; "
        "name its own repository with --repo, or list modules of this one in [tool.perfdb]"
    )


def refuse(speaker: Speaker, reason: str) -> NoReturn:
    """Say why nothing is measured, and end."""
    speaker.say("refused", reason=reason)
    os._exit(REFUSED)


def tell_declarations(speaker: Speaker, loaded: Sequence[Declared]) -> None:
    """Say the facts of this environment and every case, in declaration order."""
    speaker.say("facts", facts=software_facts())
    for declared in loaded:
        for case in declared.benchmark.cases:
            tell_declaration(speaker, declared, case)


def tell_declaration(speaker: Speaker, declared: Declared, case: Case) -> None:
    """Say one case and what is known of it without running it."""
    benchmark = declared.benchmark
    speaker.say(
        "declared",
        key=encode_key(CaseKey(benchmark.name, benchmark.provider, case)),
        suites=list(benchmark.suites),
        module=benchmark.module,
        file=str(declared.file),
        floor=benchmark.floor,
        tolerance=benchmark.tolerance,
        is_control=benchmark.is_control,
        formerly=list(benchmark.formerly),
    )


def visit_all(speaker: Speaker, plan: Plan, visits: Sequence[CaseKey], benchmarks: Sequence[Benchmark]) -> None:
    """Announce each case, visit it, and send its result."""
    known = {(benchmark.name, benchmark.provider): benchmark for benchmark in benchmarks}
    visitor = Visitor(plan.process, Path(plan.tree))
    for key in visits:
        mark_output()
        speaker.say("visit")
        result = visitor.visit(
            known[key.benchmark, key.provider], key.case, lambda part: speaker.say("part", part=part)
        )
        speaker.say("result", result=encode_result(result))


def mark_output() -> None:
    """What is printed from here on belongs to the next case."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        os.write(1, CASE_MARK)


def import_order(path: Sequence[str], own: Sequence[str]) -> list[str]:
    """Our packages, the standard library, the code under test, then what is installed.

    A ``queue.py`` in a benchmark's folder breaks nothing, and an installed copy of the code under test does not win.
    """
    packages, *rest = path
    library = sysconfig.get_path("stdlib")
    standard = [entry for entry in rest if is_standard(entry, library)]
    installed = [entry for entry in rest if entry not in standard and entry]
    return [packages, *standard, *own, *installed]


def is_standard(entry: str, library: str) -> bool:
    """Whether an import folder belongs to Python itself."""
    is_archive = Path(entry).name == f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    is_below = entry == library or entry.startswith(library + os.sep)
    return is_archive or (is_below and Path(entry).name not in ("site-packages", "dist-packages"))


def fix_threads(threads: int) -> None:
    """Use exactly this many threads; torch reads the environment only for some of its pools."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(threads)


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies, even by SIGKILL."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
