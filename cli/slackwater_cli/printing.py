"""How commands print: a table, a wide table, JSON or YAML; the last two hold every field."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from enum import Enum, StrEnum
from typing import Annotated, Any, Generic, TypeVar

import typer
import yaml
from rich.console import Console
from rich.markup import escape
from rich.table import Table

Row = TypeVar("Row")


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


Output = Annotated[Format, typer.Option("--output", "-o", help="Print a table, a wide table, JSON or YAML.")]


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
    """Print rows as asked for; `empty` is the sentence where there are none."""
    if output in (Format.JSON, Format.YAML):
        data([plain(row) for row in rows], output)
    elif not rows:
        typer.echo(empty, err=True)
    else:
        Console(soft_wrap=output is Format.WIDE).print(table(rows, columns, wide=output is Format.WIDE))


def table(rows: Sequence[Row], columns: Sequence[Column[Row]], *, wide: bool = False, title: str = "") -> Table:
    """Rows as a table for the terminal."""
    shown = [column for column in columns if wide or not column.wide]
    made = Table(box=None, pad_edge=False, header_style="bold", title=title or None, title_justify="left")
    for column in shown:
        made.add_column(column.head, justify="right" if column.number else "left", overflow="fold")
    for row in rows:
        made.add_row(*(escape(column.cut(column.text(row), wide=wide)) for column in shown))
    return made


def data(found: object, output: Format) -> None:
    """Print plain values as JSON or YAML."""
    if output is Format.YAML:
        typer.echo(yaml.safe_dump(found, sort_keys=False, allow_unicode=True).rstrip())
    else:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))


def plain(value: Any) -> Any:
    """Dataclasses, mappings, tuples and enumerations as what JSON and YAML know."""
    if is_dataclass(value) and not isinstance(value, type):
        return {key: plain(each) for key, each in asdict(value).items()}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value.value if isinstance(value, Enum) else value
