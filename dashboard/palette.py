"""Palette: colours that colour-blind readers tell apart, for light and dark pages, after Okabe and Ito (2008)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours by meaning, as ``#rrggbb``. Shape always says the same as colour."""

    line: str
    suspect: str
    worse: str
    better: str
    environment: str
    muted: str
    paper: str
    text: str
    grid: str

    def veil(self, opacity: float) -> str:
        """The line's colour as ``rgba()``, for bands."""
        red, green, blue = (int(self.line[at : at + 2], 16) for at in (1, 3, 5))
        return f"rgba({red},{green},{blue},{opacity})"


LIGHT = Palette(
    line="#0072B2",
    suspect="#E69F00",
    worse="#D55E00",
    better="#009E73",
    environment="#A8508A",
    muted="#5E6874",
    paper="#FFFFFF",
    text="#1B2027",
    grid="#E8EBEF",
)
DARK = Palette(
    line="#56B4E9",
    suspect="#F0B13C",
    worse="#FF8A50",
    better="#3CCB9F",
    environment="#E09AC4",
    muted="#98A2AE",
    paper="#101418",
    text="#E4E8EC",
    grid="#232A32",
)


def palette(theme: str | None) -> Palette:
    """The palette of a page's theme, ``dark`` or anything else."""
    return DARK if theme == "dark" else LIGHT
