"""One view per file; each draws one page from cached reads."""
