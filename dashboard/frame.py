"""Frame: what every page shares: style, the demo banner, the viewer's zone and theme, and trouble in one sentence."""

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import streamlit as st

from dashboard.markup import Html, empty, link, markup
from dashboard.palette import DARK, Palette, palette
from dashboard.traces import Look
from perfdb.errors import PerfdbError
from perfdb.reports.formatting import zone

STYLE = Path(__file__).with_name("style.css")


def page(body: Callable[[], None]) -> Callable[[], None]:
    """A view in the frame: what a person can fix is one sentence with the next action, never a traceback."""

    @wraps(body)
    def show() -> None:
        st.html(f"<style>{_variables(look().palette)}{STYLE.read_text()}</style>")
        if os.environ.get("PERFDB_DEMO") == "1":
            st.html(
                '<div class="banner">Every number on this page is <strong>generated</strong>: this is the demo.</div>'
            )
        try:
            body()
        except PerfdbError as error:
            sentence = str(error)
            write(empty("This page cannot be shown", sentence[:1].upper() + sentence[1:]), link("Overview", "./"))

    return show


def asked(name: str) -> str | None:
    """What the address says for ``name``, without characters that no name holds; None where it says nothing."""
    said = "".join(letter for letter in st.query_params.get(name, "") if letter.isprintable()).strip()
    return said or None


def look() -> Look:
    """The viewer's colours and time zone, as the browser tells them."""
    return Look(palette=palette(st.context.theme.type), zone=zone(st.context.timezone))


def write(*parts: str) -> None:
    """Put markup on the page; plain text is escaped."""
    st.html(Html("".join(markup(part) for part in parts)))


def offer_file(label: str, content: Callable[[], str], name: str, mime: str) -> None:
    """A button that gives a file, made when it is asked for."""
    st.download_button(label, data=content, file_name=name, mime=mime, on_click="ignore", width="stretch")


def _variables(colours: Palette) -> str:
    is_dark = colours is DARK
    named = {
        "muted": colours.muted,
        "paper": colours.paper,
        "suspect": colours.suspect if is_dark else "#9A5B00",
        "worse": colours.worse if is_dark else "#B84A00",
        "better": colours.better if is_dark else "#00795A",
        "link": "#7CC4F2" if is_dark else "#0066A6",
        "edge": "#2D343D" if is_dark else "#DFE3E8",
        "raised": "#171C22" if is_dark else "#F7F9FA",
        "mono": '"Source Code Pro", monospace',
    }
    return ":root{" + "".join(f"--pdb-{name}:{value};" for name, value in named.items()) + "}"
