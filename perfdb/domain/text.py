"""Text: what is safe to show where people read it."""


def printable(text: str) -> str:
    """The text with ``?`` for what moves a cursor, and for bytes that are no text."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
