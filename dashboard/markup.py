"""Markup: the pieces of HTML that pages are made of; everything that is not ``Html`` is escaped."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import urlencode

from dashboard.palette import Palette
from dashboard.timeline import Mark


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its title, whether it holds numbers, and whether narrow screens leave it out."""

    title: str
    is_number: bool = False
    is_extra: bool = False

    @property
    def style(self) -> str:
        """Its CSS classes."""
        return " ".join(name for name, on in (("number", self.is_number), ("extra", self.is_extra)) if on)


def markup(content: str) -> Html:
    """``content`` escaped, unless it is markup already."""
    return content if isinstance(content, Html) else Html(escape(content))


def joined(parts: Iterable[str], separator: str = "") -> Html:
    """Parts in a row; each is escaped unless it is markup."""
    return Html(separator.join(markup(part) for part in parts))


def span(content: str, style: str, title: str = "") -> Html:
    """A piece of text with CSS classes and, on hover, ``title``."""
    hint = f' title="{escape(title)}"' if title else ""
    return Html(f'<span class="{escape(style)}"{hint}>{markup(content)}</span>')


def block(content: str, style: str) -> Html:
    """A block with CSS classes."""
    return Html(f'<div class="{escape(style)}">{markup(content)}</div>')


def link(content: str, page: str, **parameters: str) -> Html:
    """A permalink to a page of the dashboard, relative, so that it holds behind any base path."""
    query = f"?{urlencode(parameters)}" if parameters else ""
    return Html(f'<a href="{escape(page + query)}">{markup(content)}</a>')


def title(text: str) -> Html:
    """The title of a page."""
    return Html(f"<h1>{markup(text)}</h1>")


def heading(text: str, note: str = "") -> Html:
    """The title of a section, with a muted note beside it."""
    aside = span(note, "muted note") if note else ""
    return Html(f"<h2>{markup(text)}{aside}</h2>")


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], label: str) -> Html:
    """A table that scrolls sideways where it must; ``label`` names it for screen readers."""
    head = "".join(f'<th scope="col" class="{column.style}">{escape(column.title)}</th>' for column in columns)
    body = "".join(_row(columns, row) for row in rows)
    return Html(
        f'<div class="pdb-scroll"><table class="pdb" aria-label="{escape(label)}">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def tiles(facts: Iterable[tuple[str, str, str]]) -> Html:
    """Figures in a row: label, value, and a muted note under it."""
    inner = "".join(
        f'<div class="tile"><div class="label">{markup(label)}</div><div class="value">{markup(value)}</div>'
        f'<div class="muted">{markup(note)}</div></div>'
        for label, value, note in facts
    )
    return block(Html(inner), "tiles")


def definitions(facts: Mapping[str, str]) -> Html:
    """Names and their values, in two columns."""
    inner = "".join(f"<dt>{markup(name)}</dt><dd>{markup(value)}</dd>" for name, value in facts.items())
    return Html(f'<dl class="facts">{inner}</dl>')


def empty(title: str, action: str, command: str = "") -> Html:
    """A page or section with nothing in it: what that means and the command that changes it."""
    shown = f"<code>{escape(command)}</code>" if command else ""
    return Html(f'<div class="empty"><strong>{markup(title)}</strong><p>{markup(action)}</p>{shown}</div>')


def sparkline(values: Sequence[float], marks: Sequence[Mark], colours: Palette) -> Html:
    """A small line of values with its marked points, as an image of 320 by 56."""
    width, height, edge = 320, 56, 7
    low, high = min(values), max(values)
    rise = (height - 2 * edge) / (high - low or 1.0)
    step = (width - 2 * edge) / max(len(values) - 1, 1)
    places = [(edge + i * step, height - edge - (value - low) * rise) for i, value in enumerate(values)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(_dot(x, y, colours, m) for (x, y), m in zip(places, marks, strict=True) if m is not Mark.PLAIN)
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
        f'<polyline points="{path}" fill="none" stroke="{colours.line}" stroke-width="1.5"/>{dots}</svg>'
    )
    source = b64encode(picture.encode()).decode()
    return Html(f'<img class="spark" alt="the latest {len(values)} results" src="data:image/svg+xml;base64,{source}">')


def _dot(x: float, y: float, colours: Palette, kind: Mark) -> str:
    shapes = {
        Mark.SUSPECT: ("0,-5 5,0 0,5 -5,0", colours.suspect),
        Mark.WORSE: ("0,-5 5,4 -5,4", colours.worse),
        Mark.BETTER: ("0,5 5,-4 -5,-4", colours.better),
    }
    corners, colour = shapes[kind]
    return f'<polygon points="{corners}" transform="translate({x:.1f} {y:.1f})" fill="{colour}"/>'


def _row(columns: Sequence[Column], row: Sequence[str]) -> str:
    cells = (f'<td class="{c.style}">{markup(cell)}</td>' for c, cell in zip(columns, row, strict=True))
    return f"<tr>{''.join(cells)}</tr>"
