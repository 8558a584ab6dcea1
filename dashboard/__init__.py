"""Streamlit views over perfdb: what people look at."""
