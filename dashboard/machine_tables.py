"""Machine tables: controls, hardware over time and software over time, as markup. Pure."""

from collections.abc import Mapping, Sequence

from dashboard.control_sentences import controls_sentence, moved, software_words
from dashboard.machine_charts import changed_facts, predecessor
from dashboard.machine_picker import SHORT
from dashboard.markup import Column, Html, block, definitions, joined, link, span, table
from dashboard.pieces import GLYPHS, verdict_pill
from dashboard.sentences import direction, verdict_words
from dashboard.timeline import verdict_mark
from dashboard.traces import Look
from perfdb.domain.environment import Environment
from perfdb.domain.hardware import Fact, GpuUnit
from perfdb.domain.machine_record import Control, EnvironmentSpan, HardwareSpan, MachineNoise
from perfdb.reports.formatting import NOTHING, counted, day, exact, percent

#: Rows drawn of a table; the others are counted.
DRAWN = 50
#: Changed facts told of one change of software; the others are counted.
FACTS_TOLD = 6
#: How the words of facts' names are written.
ACRONYMS = {word: word.upper() for word in ("cpu", "cuda", "ecc", "gpu", "mig", "mps", "vbios")}
UNITS = {"gib": "GiB", "mhz": "MHz", "w": "W"}
CONTROLS = (
    Column("Control"),
    Column("Last verdict"),
    Column("Change", is_number=True, is_extra=True),
    Column("Suspects", is_number=True),
    Column("Largest move"),
)
HARDWARE = (
    Column("Hardware"),
    Column("GPU unit", is_extra=True),
    Column("From"),
    Column("To"),
    Column("Runs", is_number=True),
    Column("Noise", is_number=True, is_extra=True),
    Column("Smallest detectable", is_number=True, is_extra=True),
    Column("Unlike the one below"),
)
SOFTWARE = (
    Column("Repository", is_extra=True),
    Column("From"),
    Column("To"),
    Column("Runs", is_number=True),
    Column("Changed"),
    Column("Identity", is_extra=True),
)


def noise_cells(noise: MachineNoise | None) -> list[str]:
    """Median and 90th percentile of the noise, and the median smallest detectable change."""
    if noise is None:
        return [NOTHING] * 3
    return [percent(share, signed=False) for share in (noise.median, noise.high, noise.detectable)]


def control_table(controls: Sequence[Control], known: Mapping[str, Environment], look: Look) -> Html:
    """What the controls say, those that moved first; ``known`` holds the software at the onset of each move."""
    first = moved(controls)
    still = [control for control in controls if not control.moves]
    rest = sorted(still, key=lambda control: control.newest.started_at, reverse=True)
    several = len({control.series.hardware for control in controls}) > 1
    rows = [_control_row(control, known, look, several=several) for control in [*first, *rest][:DRAWN]]
    said = block(controls_sentence(controls, look.zone), "lead" if first else "muted lead")
    return joined([said, table(CONTROLS, rows, "Controls"), cut(len(controls), "control", "are not drawn")])


def onset_environments(controls: Sequence[Control]) -> tuple[str, ...]:
    """Digests of the software before and at the onset of each control's largest move."""
    onsets = [control.onset for control in controls]
    return tuple(sorted({d for onset in onsets if onset for d in (onset.environment, onset.before) if d}))


def cut(total: int, noun: str, state: str) -> Html:
    """How many rows are not drawn."""
    hidden = total - DRAWN
    return block(f"{counted(hidden, f'more {noun}')} {state}.", "muted lead") if hidden > 0 else Html("")


def _control_row(control: Control, known: Mapping[str, Environment], look: Look, *, several: bool) -> list[str]:
    series, newest = control.series, control.newest
    hardware = f" · {series.hardware_label} {series.hardware[:SHORT]}" if several else ""
    what = f"{series.provider} · {series.metric.name.replace('_', ' ')}{hardware}"
    said = verdict_words(newest.verdict, series)
    return [
        joined([link(series.label, "series", series=series.digest), span(what, "stack muted")]),
        joined([span(verdict_pill(newest.verdict), "", said), span(day(newest.started_at, look.zone), "subject")]),
        percent(newest.verdict.delta),
        f"{len(control.flagged)} of {control.results}",
        _largest(control, known, look),
    ]


def _largest(control: Control, known: Mapping[str, Environment], look: Look) -> Html:
    largest, onset = control.largest, control.onset
    if largest is None or onset is None:
        return span("none", "muted")
    delta = largest.verdict.delta or 0.0
    size = f"{percent(abs(delta), signed=False)} {direction(delta, control.series)}"
    kind = verdict_mark(largest.verdict)
    when = link(span(day(onset.started_at, look.zone), "nowrap"), "run", run=onset.run_id)
    if not control.moves:
        return joined([span(f"{size}, a single suspect on ", "muted"), when])
    moving = span(f"{GLYPHS[kind]} {size}", f"nowrap {kind.value}")
    return joined([joined([moving, " from ", when, " on"]), span(software_words(onset, known), "stack muted")])


def hardware_table(spans: Sequence[HardwareSpan], look: Look) -> Html:
    """The facts of the hardware in use last, and what it was before."""
    facts = {plain(fact): _fact(value) for fact, value in spans[0].hardware.facts}
    unit = {"GPU unit": _unit(spans[0].gpu)} if spans[0].gpu else {}
    told = definitions(facts | unit) if facts else block("Nothing is recorded.", "muted")
    if len(spans) < 2:
        return told
    older: list[HardwareSpan | None] = [*spans[1:], None]
    rows = [_hardware_row(span, before, look) for span, before in zip(spans, older, strict=True)]
    drawn = table(HARDWARE, rows[:DRAWN], "Hardware over time")
    return joined([drawn, cut(len(rows), "hardware", "are older"), block("In use last:", "muted lead"), told])


def _hardware_row(here: HardwareSpan, before: HardwareSpan | None, look: Look) -> list[str]:
    median, _, detectable = noise_cells(here.noise)
    return [
        joined([here.label, span(here.digest, "sha stack muted")]),
        _unit(here.gpu),
        _date(here, look, is_end=False),
        _date(here, look, is_end=True),
        f"{here.runs:,}",
        median,
        detectable,
        _hardware_changes(here, before),
    ]


def _hardware_changes(here: HardwareSpan, before: HardwareSpan | None) -> Html:
    if before is None:
        return span("the first recorded", "muted")
    changes = before.hardware.changes_to(here.hardware)
    told = [f"{plain(fact)} {_fact(old)} → {_fact(new)}" for fact, (old, new) in changes.items()]
    if before.gpu != here.gpu:
        told.append(f"GPU unit {_unit(before.gpu)} → {_unit(here.gpu)}")
    return _listed(told)


def _unit(gpu: GpuUnit | None) -> str:
    if gpu is None:
        return "none"
    return f"{gpu.name}, {gpu.uuid_digest[:SHORT]}" + (f", VBIOS {gpu.vbios}" if gpu.vbios else "")


def plain(fact: str) -> str:
    """The name of a fact as people write it: ``power limit (W)`` for ``power_limit_w``."""
    *words, last = fact.split("_")
    spelled = [ACRONYMS.get(word, word) for word in words]
    return " ".join([*spelled, f"({UNITS[last]})" if words and last in UNITS else ACRONYMS.get(last, last)])


def _fact(value: Fact) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "not told" if value is None else str(value)


def software_table(spans: Sequence[EnvironmentSpan], look: Look) -> Html:
    """What software ran from when to when, what changed each time, and the facts of the newest."""
    several = len({span.repository for span in spans}) > 1
    columns = SOFTWARE if several else SOFTWARE[1:]
    rows = [_software_row(span, spans, look)[0 if several else 1 :] for span in spans[:DRAWN]]
    facts = {fact: value or "none" for fact, value in spans[0].environment.facts}  # the one in use last comes first
    told = definitions(facts) if facts else block("Nothing is recorded.", "muted")
    drawn = table(columns, rows, "Software over time")
    return joined([drawn, cut(len(spans), "change", "are older"), block("In use last:", "muted lead"), told])


def _software_row(here: EnvironmentSpan, spans: Sequence[EnvironmentSpan], look: Look) -> list[str]:
    before = predecessor(spans, here)
    changed = _listed(changed_facts(before, here)) if before else span("the first recorded", "muted")
    return [
        here.repository,
        _date(here, look, is_end=False),
        _date(here, look, is_end=True),
        f"{here.runs:,}",
        changed,
        span(here.digest, "sha"),
    ]


def _date(here: HardwareSpan | EnvironmentSpan, look: Look, *, is_end: bool) -> Html:
    when = here.last if is_end else here.first
    return span(day(when, look.zone), "nowrap", exact(when))


def _listed(facts: Sequence[str]) -> Html:
    """A line each, as many as a row holds."""
    more = len(facts) - FACTS_TOLD
    rest = [span(f"and {more} more", "stack muted", "; ".join(facts[FACTS_TOLD:]))] if more > 0 else []
    return joined([*(span(fact, "stack") for fact in facts[:FACTS_TOLD]), *rest])
