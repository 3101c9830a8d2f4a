"""Self-contained pages of cards, figures, tables and words: no script, no other file. Templates alone make HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import ClassVar

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from slackwater_simulator.charts.table import Table

# The style sheet of every page, and the templates: `page.html`, and `blocks.html` for pages that are built otherwise.
STYLE = files("slackwater_simulator.charts").joinpath("page.css").read_text(encoding="utf-8")
LOADER = PackageLoader("slackwater_simulator.charts")
Legend = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Card:
    """One big number with a few beside it."""

    title: str
    css: str
    big: str
    small: str
    rows: Sequence[tuple[str, str]] = ()
    fine: Sequence[str] = ()
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing and the words around it. The legend pairs a colour class with its meaning."""

    title: str
    caption: str
    svg: Markup | str
    legend: Legend = ()
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures side by side."""

    kind: ClassVar[str] = "figures"
    drawn: Sequence[Figure]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading below that of the section."""

    kind: ClassVar[str] = "heading"
    words: str
    css: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence or two."""

    kind: ClassVar[str] = "paragraph"
    words: str
    css: str = ""


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list."""

    kind: ClassVar[str] = "bullets"
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Details:
    """A table that opens on demand."""

    kind: ClassVar[str] = "details"
    summary: str
    table: Table


Block = Table | Figures | Heading | Paragraph | Bullets | Details


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page; one without blocks is left out. `link` is its name at the top of the page."""

    id: str
    title: str
    blocks: Sequence[Block]
    link: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """Everything a page shows."""

    title: str
    brand: str
    heading: str
    sections: Sequence[Section]
    facts: Sequence[str] = ()
    cards: Sequence[Card] = ()
    lead: str = ""
    modelled: str = ""  # what was not measured
    wide: bool = False


def figures(drawn: Iterable[Figure]) -> list[Block]:
    """Figures as a block, or no block where there is none."""
    found = tuple(drawn)
    return [Figures(found)] if found else []


def render(page: Page) -> str:
    """The page as text."""
    templates = Environment(loader=LOADER, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return templates.get_template("page.html").render(page=page, style=Markup(STYLE))  # noqa: S704 - our own file
