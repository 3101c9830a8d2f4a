"""Which optional part of Slackwater a missing module belongs to, and how a program says so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TREE = Path(__file__).parents[2]  # of a clone; of an installed package a folder without these files
CLONED = all((TREE / name).is_file() for name in ("pyproject.toml", "constraints.txt"))
LAB = "slackwater_lab"  # in the source tree alone
EXTRAS = {
    "sim": ("duckdb", "matplotlib", "pyarrow"),
    "cluster": ("aiohttp", "prometheus_client"),
    "operator": ("kopf",),
    "dask": ("dask", "distributed"),
    "ray": ("ray",),
}


def remedy(module: str) -> str | None:
    """The command that installs the part a module belongs to, or None if it is not one of ours to install."""
    top = module.partition(".")[0]
    if top == LAB:
        return lab()
    extra = next((name for name, modules in EXTRAS.items() if top in modules), None)
    return None if extra is None else command(extra)


def command(extra: str, *, cloned: bool = CLONED) -> str:
    """What to type to have an optional part; a clone is extended, not replaced by a package of its name."""
    if cloned:
        return f"run: {sys.executable} -m pip install -c {TREE}/constraints.txt -e '{TREE}[{extra}]'"
    return f"run: pip install 'slackwater[{extra}]'"


def lab(*, cloned: bool = CLONED) -> str:
    """What to type to have the lab, and all that it needs."""
    return f"run: make -C {TREE} install" if cloned else "it is part of the source tree: clone that, run: make install"


@contextmanager
def part(extra: str) -> Iterator[None]:
    """End the program of an optional part with one sentence where what it needs is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if remedy(error.name or "") is None:
            raise
        package = (error.name or "").partition(".")[0]
        sys.exit(f"slackwater-{extra}: {package} is not installed; {command(extra)}")
