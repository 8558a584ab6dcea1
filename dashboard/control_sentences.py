"""Control sentences: what frozen code says about a machine and its software, in plain words. Pure."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo

from perfdb.domain.environment import Environment
from perfdb.domain.machine_record import Control, ControlResult
from perfdb.reports.formatting import counted, day
from perfdb.reports.sentences import fact_changes

SAME_SOFTWARE = "on the same software as the result before it: suspect the machine"


def moved(controls: Sequence[Control]) -> list[Control]:
    """Those that moved, the one whose move began last first."""
    found = [control for control in controls if control.moves]
    return sorted(found, key=lambda control: (_onset(control).started_at, control.series.label), reverse=True)


def controls_sentence(controls: Sequence[Control], where: tzinfo) -> str:
    """Whether a control moved, and then whom to suspect."""
    results = counted(sum(control.results for control in controls), "judged result")
    moving = moved(controls)
    if moving:
        when = f"the last time from {day(_onset(moving[0]).started_at, where)} on"
        return (
            f"{len(moving)} of {counted(len(controls), 'control')} moved, {when}. No commit changes their code: "
            "suspect the machine or its software before the code."
        )
    single = sum(len(control.flagged) for control in controls)
    chance = f" {counted(single, 'suspect')} stood alone, which chance brings too." if single else ""
    return f"No control moved in {results}.{chance}"


def software_words(onset: ControlResult, environments: Mapping[str, Environment]) -> str:
    """Whether the software changed where a move began, and what of it."""
    if onset.before is None:
        return "the first result that was looked at"
    if not onset.is_new_software:
        return SAME_SOFTWARE
    before, after = environments.get(onset.before), environments.get(onset.environment)
    if before is None or after is None:
        return "on other software than the result before it"
    return "with " + ", ".join(fact_changes(before.changes_to(after)))


def _onset(control: Control) -> ControlResult:
    return control.onset or control.newest
