"""Finding: one thing that ``perfdb doctor`` looked at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, what was seen, and what to do about it: ``action`` is "" when nothing needs doing.

    Advice makes numbers better; what it asks for keeps nothing from working.
    """

    name: str
    is_ok: bool
    text: str
    action: str = ""
    is_advice: bool = False
