"""Text that every store takes: no NUL, no lone surrogates, and one line where people read it."""

LONGEST_LINE = 300


def storable(text: str) -> str:
    """The text without NUL and with ``?`` for bytes that were no UTF-8."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def one_line(text: str) -> str:
    """The first words of a text on one line."""
    line = storable(" ".join(text.replace("\0", " ").split()))
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"
