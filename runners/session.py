"""Session: one run of a suite, from the declarations of the code under test to a spool file."""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from uuid import uuid4

from perfdb.domain.case import Outcome
from perfdb.domain.environment import Environment
from perfdb.domain.hardware import Hardware, Machine
from perfdb.domain.run import CaseResult, Run, RunHeader
from perfdb.settings import Settings
from perfdb.spool import SpoolWriter, read_spool
from runners.cores import physical_cores
from runners.isolate import Launcher
from runners.links import link_target
from runners.measure.messages import CaseKey, Plan
from runners.measure.protocol import CPU
from runners.measure.text import storable
from runners.probe import this_hardware, this_machine
from runners.progress import Display
from runners.selection import choose, visiting_order
from runners.target import Target
from runners.visits import Declaration, Limits, Survey, launcher_of, survey, visit_cases
from runners.workspace import Workspace, inspect

PROCESSES = 3


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asked to measure. ``suite`` is None for a single file."""

    target: Target
    suite: str | None
    patterns: Mapping[str, str] = field(default_factory=dict)
    processes: int = PROCESSES
    seed: int = field(default_factory=lambda: secrets.randbits(32))
    limits: Limits = field(default_factory=Limits)

    @property
    def name(self) -> str:
        """What the run is filed under: the suite, or the file's path in its repository."""
        if self.target.file is not None:
            return storable(self.target.file.relative_to(self.target.tree).as_posix())
        return self.suite or "all"

    @property
    def see(self) -> str:
        """The command that lists what could have been asked for."""
        return f"perfdb list cases {self.target.file or ''}".rstrip()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request whose code, machine and declarations are known, and of which nothing is measured yet."""

    request: Request
    launcher: Launcher
    plan: Plan
    surveyed: Survey
    workspace: Workspace
    machine: Machine
    hardware: Hardware

    def chosen(self) -> tuple[Declaration, ...]:
        """What is going to be measured. Raises ``SelectionError`` when nothing matches."""
        request = self.request
        return choose(self.surveyed.declarations, request.suite, request.patterns, request.see)

    def header(self) -> RunHeader:
        """The run line of a new run."""
        return RunHeader(
            run_id=str(uuid4()),
            suite=self.request.name,
            started_at=datetime.now(UTC),
            code=self.workspace.code,
            machine=self.machine,
            hardware=self.hardware,
            environment=Environment.of(**self.surveyed.facts),
            protocol=CPU,
            processes=self.request.processes,
            seed=self.request.seed,
            perfdb_version=_own_version(),
            commits=self.workspace.commits,
        )


def surveyed_declarations(request: Request, settings: Settings) -> tuple[Declaration, ...]:
    """What the code under test declares and the request means, without measuring it."""
    launcher, plan = _plan(request, settings, physical_cores())
    found = survey(launcher, plan, request.limits)
    return choose(found.declarations, request.suite, request.patterns, request.see)


def prepare(request: Request, settings: Settings) -> Prepared:
    """Find out all there is to know before the first case.

    Raises ``MeasureError`` when the benchmarks cannot be loaded or lie outside of the code under test.
    """
    machine = this_machine()
    hardware = this_hardware(machine)
    launcher, plan = _plan(request, settings, int(dict(hardware.facts)["threads"] or 1))
    surveyed = survey(launcher, plan, request.limits)
    workspace = _workspace(request.target, surveyed)
    return Prepared(request, launcher, plan, surveyed, workspace, machine, hardware)


def measure(prepared: Prepared, header: RunHeader, settings: Settings, display: Display) -> Run:
    """Measure into a new spool file. The run stays INCOMPLETE when the code changed meanwhile.

    Raises ``SpoolError`` when it cannot be written.
    """
    with SpoolWriter(settings.spool, header) as spool:
        for result in _results(prepared, display):
            spool.add(result)
        # numbers of two states of the code belong to neither
        if _workspace(prepared.request.target, prepared.surveyed).code == prepared.workspace.code:
            spool.close_run(datetime.now(UTC))
    return read_spool(spool.path).run


def _plan(request: Request, settings: Settings, threads: int) -> tuple[Launcher, Plan]:
    paths = link_target(request.target, settings.home)
    plan = Plan(
        tree=str(request.target.tree),
        path=tuple(map(str, paths.path)),
        modules=request.target.modules,
        file=str(paths.file) if paths.file else None,
        threads=threads,
    )
    return launcher_of(paths, threads), plan


def _results(prepared: Prepared, display: Display) -> Iterator[CaseResult]:
    """Process after process, every case in random order; a case that failed is not tried again."""
    request, chosen = prepared.request, prepared.chosen()
    declared = {declaration.key: declaration for declaration in chosen}
    failed: set[CaseKey] = set()
    display.expect(len(chosen) * request.processes)
    for process in range(request.processes):
        order = visiting_order(chosen, request.seed, process)
        visits = tuple(declaration.key for declaration in order if declaration.key not in failed)
        plan = replace(prepared.plan, process=process, visits=visits)
        display.begin_process(process, request.processes, len(visits))
        for result in visit_cases(prepared.launcher, plan, declared, request.limits, display.at):
            yield result
            display.finish(result)
            if result.outcome is not Outcome.MEASURED:
                display.expect_less(request.processes - process - 1)
                failed.add(CaseKey(result.benchmark, result.provider, result.case))


def _workspace(target: Target, surveyed: Survey) -> Workspace:
    files = {Path(declaration.file) for declaration in surveyed.declarations}
    return inspect(target.tree, name=target.name, files=files | ({target.file} if target.file else set()))


def _own_version() -> str:
    try:
        return version("perfdb")
    except PackageNotFoundError:
        return "unknown"
