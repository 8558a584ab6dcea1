"""Machines: who measures, on what hardware and software, how noisily, and whether frozen code moved there."""

from collections.abc import Mapping, Sequence

import streamlit as st

from dashboard import cached, charts, frame, machine_charts
from dashboard.control_sentences import moved
from dashboard.machine_picker import SHORT, find_machine, name
from dashboard.machine_tables import (
    DRAWN,
    control_table,
    cut,
    hardware_table,
    noise_cells,
    onset_environments,
    software_table,
)
from dashboard.markup import Column, Html, block, empty, heading, joined, link, span, table, tiles, title
from dashboard.traces import Look
from perfdb.analysis.baseline import FEWEST_RESULTS
from perfdb.domain.machine_record import Control, EnvironmentSpan, HardwareSpan, MachineNoise, MachineRecord
from perfdb.reports.formatting import NOTHING, counted, day, exact, moment, percent

MACHINES = (
    Column("Machine"),
    Column("Hardware"),
    Column("Runs", is_number=True),
    Column("Last measured", is_extra=True),
    Column("Noise", is_number=True),
    Column("90th percentile", is_number=True, is_extra=True),
    Column("Smallest detectable", is_number=True, is_extra=True),
)


@frame.page
def show() -> None:
    """Draw the page."""
    url = cached.database_url()
    records = cached.machines(url)
    if not records:
        action = "Measure this machine with the smoke suite; it appears here."
        frame.write(empty("No machine has measured yet", action, "perfdb run smoke"))
        return
    current = _current(records)
    look = frame.look()
    frame.write(title(_headline(records)), block(_lead(records, look), "muted lead"), _fleet(records, current, look))
    _pick(records, current)
    _draw(url, current, look, name(current, records))


def _headline(records: Sequence[MachineRecord]) -> str:
    return f"{counted(len(records), 'machine')} {'has' if len(records) == 1 else 'have'} measured"


def _lead(records: Sequence[MachineRecord], look: Look) -> str:
    runs = counted(sum(record.runs for record in records), "run")
    return f"{runs} · newest {moment(records[0].newest, look.zone)}"


def _current(records: Sequence[MachineRecord]) -> MachineRecord:
    """The machine that the address names; without one, the last that measured, which the address names from then on."""
    wanted = frame.asked("machine")
    if wanted is not None:
        return find_machine(records, wanted)
    st.query_params["machine"] = records[0].machine.key
    return records[0]


def _pick(records: Sequence[MachineRecord], current: MachineRecord) -> None:
    """The machine to show; the address alone says which, so the control shows what it says."""
    if len(records) < 2:
        return
    labels = {record.machine.key: name(record, records) for record in records}
    st.session_state["pick machine"] = current.machine.key
    st.selectbox(
        "Machine", list(labels), format_func=lambda key: labels[key], key="pick machine", on_change=_move, width=480
    )


def _move() -> None:
    st.query_params["machine"] = st.session_state["pick machine"]


def _fleet(records: Sequence[MachineRecord], current: MachineRecord, look: Look) -> Html:
    """All of them, for one to be told from another; nothing to tell where there is one."""
    if len(records) < 2:
        return Html("")
    rows = [_fleet_row(record, records, is_current=record is current, look=look) for record in records[:DRAWN]]
    return joined([table(MACHINES, rows, "Machines"), cut(len(records), "machine", "are in the list below")])


def _fleet_row(record: MachineRecord, records: Sequence[MachineRecord], *, is_current: bool, look: Look) -> list[str]:
    shown = link(name(record, records), "machines", machine=record.machine.key)
    here = span("shown", "pill", "This page shows it") if is_current else ""
    return [
        joined([shown, here], " "),
        record.hardware_label,
        f"{record.runs:,}",
        span(moment(record.newest, look.zone), "nowrap", exact(record.newest)),
        *noise_cells(record.noise),
    ]


def _draw(url: str, record: MachineRecord, look: Look, called: str) -> None:
    key = record.machine.key
    hardware, software = cached.hardware_spans(url, key), cached.environment_spans(url, key)
    controls = cached.controls(url, key, record.newest)
    noise = hardware[0].noise
    frame.write(heading(called, f"key {key}"), _tiles(record, noise, controls, look), _sharing(hardware[0]))
    _draw_noise(url, key, hardware, software, look)
    frame.write(heading("Controls"), _controls(url, controls, look))
    frame.write(heading("Hardware", _identity(hardware[0])), hardware_table(hardware, look))
    frame.write(heading("Software", _lasting(software, look)), software_table(software, look))


def _tiles(record: MachineRecord, noise: MachineNoise | None, controls: Sequence[Control], look: Look) -> Html:
    never_closed = f"{record.incomplete:,} never closed" if record.incomplete else "all closed"
    median, high, detectable = noise_cells(noise)
    speaking = f"{high} at the 90th percentile of {counted(noise.series, 'series', 'series')}" if noise else ""
    silent = f"{counted(noise.silent, 'series', 'series')} cannot speak yet" if noise and noise.silent else ""
    when = span(moment(record.newest, look.zone), "", exact(record.newest))
    return tiles(
        [
            ("Last measured", when, f"first {day(record.first, look.zone)}"),
            ("Runs", f"{record.runs:,}", never_closed),
            ("Noise", median, speaking if noise and noise.series else "no baseline speaks yet"),
            ("Smallest detectable", detectable, silent or "median over series"),
            ("Newest results", percent(noise.shift if noise else None), "median change from their baselines"),
            ("Controls", f"{len(moved(controls))} of {len(controls)}" if controls else NOTHING, "moved in 90 days"),
        ]
    )


def _sharing(hardware: HardwareSpan) -> Html:
    if not hardware.others:
        return Html("")
    others = counted(hardware.others, "other machine")
    return block(f"{others} with the same hardware: they share its series, and so their noise.", "muted lead")


def _draw_noise(
    url: str, key: str, hardware: Sequence[HardwareSpan], software: Sequence[EnvironmentSpan], look: Look
) -> None:
    trend = cached.noise_trend(url, key)
    spoken = sum(point.noise.median is not None for point in trend)
    frame.write(heading("Noise of its latencies", "spread of the baselines in force, run by run" if spoken else ""))
    if not spoken:
        frame.write(empty("No baseline speaks yet", f"Each series needs {FEWEST_RESULTS} results. Measure again."))
        return
    figure = machine_charts.noise_figure(trend, machine_charts.software_marks(software), look)
    st.plotly_chart(figure, config=charts.CONFIG, key="noise", alt="the noise of this machine over time")
    drawn = f"{counted(spoken, 'run')} drawn, evenly spread over those that were judged."
    frame.write(block(f"{drawn} {_dash_words(machine_charts.dashes(trend), hardware)}", "muted"))


def _dash_words(dashes: Mapping[str, str], hardware: Sequence[HardwareSpan]) -> str:
    """Which lines belong to which hardware, where there are several."""
    labels = {span.digest: f"{span.label} {span.digest[:SHORT]}" for span in hardware}
    words = [f"{dash}: {labels.get(digest, digest)}" for digest, dash in dashes.items()]
    return f"Lines: {'; '.join(words)}." if len(words) > 1 else ""


def _controls(url: str, controls: Sequence[Control], look: Look) -> Html:
    if not controls:
        action = "A control is a benchmark of frozen code, declared with control=True: it tells machine from code."
        return empty("No control was judged here in 90 days", action)
    return control_table(controls, cached.environments(url, onset_environments(controls)), look)


def _identity(hardware: HardwareSpan) -> str:
    return f"{hardware.label} · identity {hardware.digest}"


def _lasting(spans: Sequence[EnvironmentSpan], look: Look) -> str:
    return f"unchanged since {day(spans[0].first, look.zone)}" if spans else ""
