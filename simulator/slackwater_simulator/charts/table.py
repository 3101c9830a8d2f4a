"""One table for terminal, page and Markdown: the same rows and words everywhere."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, NamedTuple

from rich import table as rich
from rich.box import HEAVY_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text


class Styled(NamedTuple):
    """A cell that stands out: its words and the class of its colour."""

    words: str
    css: str


Cell = str | Styled
# What a class of the style sheet is in a terminal.
COLOURS = {"fails": "bold red", "holds": "green"}


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings; the first `left` and the last `right` columns are text, the others numbers."""

    kind: ClassVar[str] = "table"
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    left: int = 1
    right: int = 0
    caption: str = ""  # how to read it, on a page
    groups: Sequence[tuple[str, int]] = ()  # headings above the headings, with the columns they span
    rules: Collection[int] = ()  # rows after which a rule is drawn in a terminal
    alarms: Collection[int] = ()  # rows that are bad news
    prose: bool = False  # cells are sentences and may wrap

    def textual(self, column: int) -> bool:
        """Whether a column holds text, which begins at its left."""
        return column < self.left or column >= len(self.heads) - self.right


def words(cell: Cell) -> str:
    """What a cell says."""
    return cell.words if isinstance(cell, Styled) else cell


def terminal(made: Table, *, boxed: bool = False) -> rich.Table:
    """For a terminal: plain columns, or a frame where rows belong together in groups."""
    grid = rich.Table(
        title=Text(made.title if boxed else f"\n{made.title}", style="bold"),  # names in it are no markup
        title_justify="left",
        box=HEAVY_HEAD if boxed else None,
        pad_edge=boxed,
        padding=(0, 1) if boxed else (0, 2, 0, 0),
        header_style="bold" if boxed else "dim",
    )
    for at, name in enumerate(_heads(made)):
        grid.add_column(Head(name), justify="left" if made.textual(at) else "right", overflow="fold")
    for at, row in enumerate(made.rows):
        style = "bold red" if at in made.alarms else None
        grid.add_row(*map(_coloured, row), end_section=at in made.rules, style=style)
    return grid


class Head:
    """A heading that is broken where its words are joined, `small-first-` and `backfill`, before anywhere else."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pieces = re.findall(r"[^\s\-?&/]*(?:[\-?&/]|\s+|$)", name)

    def __str__(self) -> str:
        """The heading."""
        return self.name

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """As wide as its longest piece at least, as the whole at most."""
        return Measurement(max(cell_len(piece.rstrip()) for piece in self.pieces), cell_len(self.name))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As many pieces on a line as fit."""
        lines = [""]
        for piece in self.pieces:
            if lines[-1] and cell_len((lines[-1] + piece).rstrip()) > options.max_width:
                lines.append("")
            lines[-1] += piece
        yield Text("\n".join(line.rstrip() for line in lines), overflow="fold")


def _heads(made: Table) -> Iterator[str]:
    """A terminal has one line of headings: the first column of a group carries its name."""
    starts = accumulate((span for _, span in made.groups), initial=0)
    names = dict(zip(starts, (name for name, _ in made.groups), strict=False))
    for at, head in enumerate(made.heads):
        yield f"{names[at]} {head}" if names.get(at) else head


def _coloured(cell: Cell) -> Text:
    return Text(words(cell), style=COLOURS.get(cell.css, "") if isinstance(cell, Styled) else "")


def markdown(made: Table) -> Iterator[str]:
    """For the documentation, line by line; what stands out is bold."""
    yield _line(made.heads)
    yield "|" + "---|" * len(made.heads)
    for row in made.rows:
        yield _line(
            [f"**{cell.words}**" if isinstance(cell, Styled) and cell.css == "fails" else words(cell) for cell in row]
        )


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
