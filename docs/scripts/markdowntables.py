"""Tables of the docs that scripts write: as Markdown, each between two comments with its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def renew(page: Path, made: Mapping[str, str]) -> None:
    """Write the page with these tables in place of those it has; the sentences around them stay."""
    page.write_text(renewed(page.read_text(encoding="utf-8"), made, page.name), encoding="utf-8")


def renewed(text: str, made: Mapping[str, str], name: str) -> str:
    """The text of a page with its tables replaced."""
    for title, new in made.items():
        parts = re.split(rf"(<!-- /?{re.escape(title)} -->)", text)
        if len(parts) != 5:
            raise SystemExit(f"{name} has no place for the table {title}")
        text = "".join([*parts[:2], f"\n{new}\n", *parts[3:]])
    return text
