"""Which optional part of Slackwater a missing module belongs to."""

from __future__ import annotations

EXTRAS = {
    "sim": ("duckdb", "matplotlib", "pyarrow"),
    "cluster": ("aiohttp", "prometheus_client"),
    "extender": ("flask", "gunicorn"),
    "operator": ("kopf",),
}


def remedy(module: str) -> str | None:
    """The command that installs the part a module belongs to, or None if it is not one of ours to install."""
    top = module.partition(".")[0]
    extra = next((name for name, modules in EXTRAS.items() if top in modules), None)
    return None if extra is None else f"run: pip install 'slackwater[{extra}]'"
