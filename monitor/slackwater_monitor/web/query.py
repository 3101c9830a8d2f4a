"""What stands in a page's address: filters, order and range. What a reader chose is there, to be kept and sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from slackwater_monitor.sources.views import App

Row = TypeVar("Row")
RANGES = {"15m": ("15 min", 900.0), "1h": ("1 h", 3600.0), "6h": ("6 h", 21600.0), "all": ("all", float("inf"))}
STAYS = ("scene", "t")  # what goes along from page to page


@dataclass(frozen=True, slots=True)
class Query:
    """One page's address: its path and what follows it."""

    path: str
    asked: Mapping[str, str]

    def get(self, name: str) -> str:
        """What was asked for; empty where nothing was."""
        return self.asked.get(name, "").strip()

    def link(self, path: str, **more: object) -> str:
        """Another page, with the scene and the moment that are shown here."""
        kept = {name: self.asked[name] for name in STAYS if self.asked.get(name)}
        return _address(path, {**kept, **more})

    def here(self, **changes: object) -> str:
        """This page with something else chosen; None takes a choice away."""
        return _address(self.path, {**self.asked, **changes})

    def kept(self, *names: str) -> list[tuple[str, str]]:
        """What a form must send along: all but the fields it has itself."""
        return [(name, value) for name, value in self.asked.items() if name not in names and value]

    @property
    def range(self) -> str:
        """How far back charts go."""
        return self.get("range") if self.get("range") in RANGES else "all"

    def since(self, now: float) -> float:
        """The first moment that charts show."""
        return now - RANGES[self.range][1]

    def ranges(self) -> list[tuple[str, str, bool]]:
        """The range picker: words, address, and whether it is chosen."""
        return [(words, self.here(range=name), name == self.range) for name, (words, _) in RANGES.items()]

    def ordered(self, rows: Sequence[Row], by: Mapping[str, Callable[[Row], Any]]) -> list[Row]:
        """Rows in the order that was asked for (`sort=name` or `sort=-name`), else as they are."""
        name, falling = self.get("sort").lstrip("-"), self.get("sort").startswith("-")
        return sorted(rows, key=by[name], reverse=falling) if name in by else list(rows)

    def column(self, name: str) -> tuple[str, str]:
        """The link of a column's head, and how it is sorted now: largest first, then smallest first, then as before."""
        now = self.get("sort")
        following = {f"-{name}": name, name: None}.get(now, f"-{name}")
        state = {f"-{name}": "descending", name: "ascending"}.get(now, "none")
        return self.here(sort=following), state


def _address(path: str, asked: Mapping[str, object]) -> str:
    found = {name: value for name, value in asked.items() if value not in (None, "")}
    return f"{path}?{urlencode(found)}" if found else path


def narrowed(apps: Sequence[App], query: Query) -> list[App]:
    """Apps by the text in their names, their namespace, queue and phase."""
    fields = {name: query.get(name) for name in ("namespace", "queue", "phase")}
    return [
        app
        for app in apps
        if app.matches(query.get("find"))
        and all(not value or getattr(app, name) == value for name, value in fields.items())
    ]


def choices(apps: Sequence[App], query: Query, *names: str) -> list[tuple[str, list[str], str]]:
    """The select fields of a form: name, values that occur, and the one that is chosen."""
    found = [(name, sorted({getattr(app, name) for app in apps} - {""}), query.get(name)) for name in names]
    return [(name, sorted({*values, chosen} - {""}), chosen) for name, values, chosen in found]
