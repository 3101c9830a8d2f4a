"""Which optional part of Slackwater a missing module belongs to, and how a program says so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

EXTRAS = {
    "sim": ("duckdb", "matplotlib", "pyarrow"),
    "cluster": ("aiohttp", "prometheus_client"),
    "operator": ("kopf",),
}


def remedy(module: str) -> str | None:
    """The command that installs the part a module belongs to, or None if it is not one of ours to install."""
    top = module.partition(".")[0]
    extra = next((name for name, modules in EXTRAS.items() if top in modules), None)
    return None if extra is None else command(extra)


def command(extra: str) -> str:
    """What to type to have an optional part."""
    return f"run: pip install 'slackwater[{extra}]'"


@contextmanager
def part(extra: str) -> Iterator[None]:
    """End the program of an optional part with one sentence where what it needs is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if remedy(error.name or "") is None:
            raise
        sys.exit(f"slackwater-{extra}: {error.name} is not installed; {command(extra)}")
