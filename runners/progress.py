"""Progress: what a person sees while a run is measured: a bar in a terminal, a few quiet lines elsewhere."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from perfdb.domain.case import Outcome
from perfdb.domain.run import CaseResult
from runners.measure.messages import CaseKey
from runners.measure.visit_parts import FIRST_CALL
from runners.visits import COMPILING

#: Columns of a table that goes to a file or a log.
NOBODYS_WIDTH = 160


class Display:
    """Says on standard error what happens; standard output stays free for the result."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or wide_console()
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            # a thread that redraws would take time from what is measured; the bar moves between the parts of a visit
            auto_refresh=False,
            disable=not self.console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, visible=False)
        self._compiled: set[CaseKey] = set()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def say(self, text: str, style: str = "") -> None:
        """One line, above the bar where there is one."""
        self.console.print(text, style=style or None, markup=False)

    def show(self, table: Table) -> None:
        """A table."""
        self.console.print(table, soft_wrap=False)

    def warn(self, text: str) -> None:
        """One line that a person should read."""
        self.say(f"warning: {text}", "yellow")

    def expect(self, visits: int) -> None:
        """How many visits the run will make in all, as far as is known."""
        self._bar.reset(self._task, total=visits, visible=True)

    def expect_less(self, visits: int) -> None:
        """Visits that fall away, because a case that failed is not tried again."""
        total = self._bar.tasks[0].total
        self._bar.update(self._task, total=None if total is None else total - visits)

    def begin_process(self, process: int, processes: int, visits: int) -> None:
        """A fresh process starts."""
        if not self.console.is_terminal:
            self.say(f"process {process + 1} of {processes}: {visits} cases")

    def at(self, key: CaseKey, part: str) -> None:
        """A part of a visit begins; compiling has a line of its own, once a case."""
        self._bar.update(self._task, description=f"{key.label} {key.provider}: {part}", refresh=True)
        if part == FIRST_CALL and key.provider in COMPILING and key not in self._compiled:
            self._compiled.add(key)
            self.say(f"compiling {key.label} {key.provider}: takes a while the first time only")

    def finish(self, result: CaseResult) -> None:
        """A case has its result; one without numbers is named at once."""
        self._bar.advance(self._task)
        if result.outcome is not Outcome.MEASURED:
            style = "dim" if result.outcome is Outcome.UNSUPPORTED else "red"
            outcome = result.outcome.replace("_", " ")
            self.say(f"{result.label} {result.provider}: {outcome}: {result.detail}", style)


def wide_console(*, stderr: bool = True) -> Console:
    """Standard error or output; where it is no terminal, nothing is cut to a width that nobody looks at."""
    console = Console(stderr=stderr, soft_wrap=True, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, NOBODYS_WIDTH)
    return console
