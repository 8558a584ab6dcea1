"""Numbers with units, relative changes and times, as people read them: three significant digits, the fitting unit."""

from dataclasses import dataclass
from datetime import datetime, tzinfo
from math import floor, isfinite, log10
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

#: Factors from a base unit, smallest first, and the name people read.
LADDERS: dict[str, tuple[tuple[float, str], ...]] = {
    "us": ((1e-3, "ns"), (1.0, "µs"), (1e3, "ms"), (1e6, "s")),
    "s": ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")),
    "bytes": ((1.0, "B"), (1024.0, "KiB"), (1024.0**2, "MiB"), (1024.0**3, "GiB")),
}
#: Stands for a number that is not there.
NOTHING = "\N{EN DASH}"
#: As wide as a digit, so that columns of numbers stand under each other.
MINUS = "\N{MINUS SIGN}"
TIMES = "\N{MULTIPLICATION SIGN}"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit to show values in: ``shown = stored / factor``."""

    factor: float
    unit: str

    def text(self, value: float) -> str:
        """The value in this unit: ``12.3 µs``."""
        return f"{significant(value / self.factor)} {self.unit}".strip()


def scale(unit: str, value: float) -> Scale:
    """The largest unit in which ``value``, rounded as it is shown, is at least 1; the smallest one below that."""
    ladder = LADDERS.get(unit, ((1.0, "" if unit == "1" else unit),))
    fitting = [step for step in ladder if abs(rounded(value)) >= step[0]]
    return Scale(*(fitting[-1] if fitting else ladder[0]))


def quantity(value: float, unit: str) -> str:
    """A value in the unit that fits it: ``12.3 µs`` for 12.34 us, ``1.23 ms`` for 1234 us."""
    return scale(unit, value).text(value)


def significant(value: float) -> str:
    """Three significant digits: plain from 0.001 up to 10 million, as a power of ten elsewhere."""
    if not isfinite(value) or value == 0:
        return f"{value:g}"
    value = rounded(value)
    magnitude = floor(log10(abs(value)))
    if not -4 < magnitude < 7:
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        return f"{mantissa} {TIMES} 10{str(int(exponent)).translate(SUPERSCRIPTS)}".replace("-", MINUS)
    return f"{value:,.{max(2 - magnitude, 0)}f}".replace("-", MINUS)


def rounded(value: float) -> float:
    """``value`` to three significant digits."""
    return float(f"{value:.2e}")


def percent(share: float | None, *, signed: bool = True) -> str:
    """A relative change: ``+4.2 %``; a dash for None. Two decimals below 1 %, none from 100 % on."""
    if share is None:
        return NOTHING
    value = share * 100
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 1 else 2
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    return f"{text} %".replace("-", MINUS)


def interval(low: float | None, high: float | None) -> str:
    """A 95 % interval of relative changes: ``+1.2 … +6.0 %``."""
    if low is None or high is None:
        return NOTHING
    return f"{percent(low).removesuffix(' %')} … {percent(high)}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 run``, ``2 runs``, ``12,000 series``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def zone(name: str | None) -> tzinfo:
    """A browser's time zone; UTC where it tells none or an unknown one."""
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def moment(when: datetime, where: tzinfo) -> str:
    """A time in the viewer's zone: ``1 Dec 2026, 14:08``."""
    local = when.astimezone(where)
    return f"{local.day} {local:%b %Y, %H:%M}"


def day(when: datetime, where: tzinfo) -> str:
    """A date in the viewer's zone: ``1 Dec 2026``."""
    local = when.astimezone(where)
    return f"{local.day} {local:%b %Y}"


def exact(when: datetime) -> str:
    """A time for a tooltip, in UTC: ``2026-12-01 14:08:03 UTC``."""
    return f"{when.astimezone(ZoneInfo('UTC')):%Y-%m-%d %H:%M:%S} UTC"


def duration(seconds: float) -> str:
    """A duration: ``48 s``, ``3 min 20 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
