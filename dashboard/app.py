"""The dashboard: `streamlit run dashboard/app.py`, from a checkout or an installation, in any working folder."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Streamlit puts this script's folder first on the path; what is imported as `dashboard` must be the package it lies in.
if sys.path[0] != str(HERE.parent):
    sys.path.insert(0, str(HERE.parent))

import streamlit as st  # noqa: E402 (the path comes first)

from dashboard.views import compare, machines, overview, run, series  # noqa: E402

LOGO = str(HERE / "logo.svg")

st.set_page_config(page_title="perfdb", page_icon=LOGO, layout="wide")
st.logo(LOGO, link=None)
st.navigation(
    [
        st.Page(overview.show, title="Overview", default=True),
        st.Page(series.show, title="Series", url_path="series"),
        st.Page(run.show, title="Runs", url_path="run"),
        st.Page(compare.show, title="Compare", url_path="compare"),
        st.Page(machines.show, title="Machines", url_path="machines"),
    ],
    position="top",
).run()
