"""How every command prints: a table, a wide table, or in a form for programs, which holds every field."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from enum import Enum, StrEnum
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any, Generic, TypeVar

import typer
from rich.console import Console, JustifyMethod, OverflowMethod, RenderableType
from rich.table import Table
from rich.text import Text

Row = TypeVar("Row")


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"
    MARKDOWN = "markdown"


FOR_PEOPLE = (Format.TABLE, Format.WIDE)
WIDEST = 10_000  # characters of a line
_FORMS = "table or wide for people; json, yaml, csv or markdown for programs."
Output = Annotated[Format, typer.Option("--output", "-o", metavar="<form>", help=_FORMS)]


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column: its head, its text, whether it is a number, whether only the wide table has it, where it is cut."""

    head: str
    text: Callable[[Row], str]
    number: bool = False
    wide: bool = False
    most: int = 0  # characters in the narrow table; 0: all of them

    def cut(self, text: str, *, wide: bool) -> str:
        """The text as one line of a narrow table has room for it."""
        return f"{text[: self.most - 1]}…" if self.most and not wide and len(text) > self.most else text


def show(rows: Sequence[Row], columns: Sequence[Column[Row]], output: Format, empty: str) -> None:
    """Print rows as asked for; `empty` is the sentence where there are none, if that was not told yet."""
    if data([jsonable(row) for row in rows], output):
        return
    if not rows and empty:
        tell(empty, stderr=True)
    if rows:
        wide = output is Format.WIDE
        put(table(rows, columns, wide=wide), wide=wide)


def put(shown: RenderableType, *, wide: bool) -> None:
    """Print for people: as wide as the terminal is, or as wide as it takes.

    A number that is cut off is worse than a line that the terminal breaks, and in a pipe nothing breaks it.
    """
    console(width=WIDEST if wide else None).print(shown)  # no table of ours expands


def console(*, stderr: bool = False, width: int | None = None) -> Console:
    """Where every command prints. Brackets and colons of names are shown as they are; colour comes by style or Text."""
    return Console(stderr=stderr, width=width, markup=False, emoji=False)


def tell(sentence: str, *, style: str | None = None, stderr: bool = False) -> None:
    """Print a sentence: a terminal gets it broken between words, a pipe whole, however narrow it claims to be.

    What people copy as it stands, such as a command or YAML, is printed with `soft_wrap` instead.
    """
    out = console(stderr=stderr)
    out.print(sentence, style=style, highlight=False, soft_wrap=not out.is_terminal)


def written(path: Path) -> None:
    """Say beside the results where the page of a report is."""
    tell(f"report: {path}", stderr=True)


def table(rows: Sequence[Row], columns: Sequence[Column[Row]], *, wide: bool = False, title: str = "") -> Table:
    """Rows as a table for the terminal."""
    shown = [column for column in columns if wide or not column.wide]
    made = Table(box=None, pad_edge=False, header_style="bold", title=title or None, title_justify="left")
    for column in shown:
        # Where the terminal is narrow, texts that may be cut give way first; a number is never cut.
        overflow: OverflowMethod = "ellipsis" if column.most else "fold"
        justify: JustifyMethod = "right" if column.number else "left"
        head = column.head if wide or not column.number else _narrow(column, rows)
        made.add_column(head, justify=justify, overflow=overflow, no_wrap=column.number)
    for row in rows:
        made.add_row(*(Text(column.cut(column.text(row), wide=wide)) for column in shown))
    return made


def _narrow(column: Column[Row], rows: Sequence[Row]) -> str:
    """The head over as many lines as keep it no wider than its numbers: room for texts, which a terminal may break."""
    words = column.head.split()
    width = max(*(len(column.text(row)) for row in rows), *map(len, words), 1)
    return "\n".join(wrap(column.head, width, break_long_words=False, break_on_hyphens=False))


def data(found: object, output: Format) -> bool:
    """Print plain values in a form for programs; False, and nothing printed, where a table for people is wanted."""
    if output in FOR_PEOPLE:
        return False
    found = jsonable(found)
    if output is Format.YAML:
        import yaml

        typer.echo(yaml.safe_dump(found, sort_keys=False, allow_unicode=True).rstrip())
    elif output is Format.JSON:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        rows = [flat(row) for row in _rows(found)]
        if rows:  # without one, nobody knows the columns
            typer.echo((_csv if output is Format.CSV else _markdown)(rows).rstrip("\n"))
    return True


def _rows(found: object) -> list[Mapping[str, object]]:
    """A list as its members; one object as a row for each of its fields."""
    if isinstance(found, Mapping):
        return [{"field": name, "value": value} for name, value in flat(found).items()]
    members = found if isinstance(found, list) else [found]
    return [each if isinstance(each, Mapping) else {"value": each} for each in members]


def flat(row: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested fields by their path, `declared.cpu`; lists of plain values joined, others as JSON."""
    made: dict[str, object] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            made |= flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            nested = any(isinstance(each, list | dict) for each in value)
            made[prefix + name] = json.dumps(value, ensure_ascii=False) if nested else _joined(value)
        else:
            made[prefix + name] = value
    return made


def _joined(values: Sequence[object]) -> str:
    """Plain values in one cell; one that is not known is empty there, as in a cell of its own."""
    return "; ".join("" if each is None else str(each) for each in values)


def _columns(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Every column of any row, in the order in which they first appear."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _csv(rows: Sequence[Mapping[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=_columns(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _cell(value: object) -> str:
    """A value within one line, as cells of Markdown are."""
    return "" if value is None else "<br>".join(str(value).replace("|", "\\|").splitlines())


def _markdown(rows: Sequence[Mapping[str, object]]) -> str:
    names = _columns(rows)
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [names, ["---"] * len(names), *cells])


def jsonable(value: Any) -> Any:
    """Dataclasses, mappings, tuples and enumerations as what forms for programs know; null for what is no number."""
    if is_dataclass(value) and not isinstance(value, type):
        return {key: jsonable(each) for key, each in asdict(value).items()}
    if isinstance(value, Mapping):
        return {str(key): jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.value if isinstance(value, Enum) else value
