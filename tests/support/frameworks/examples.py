"""Examples as they stand in the pages for users."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from support.frameworks.playground import Object

PAGES = Path(__file__).resolve().parents[3] / "docs" / "users"


def example(page: str, kind: str, namespace: str) -> Object:
    """The one object of this kind that a page shows whole; only the namespace is put in."""
    [found] = [
        body
        for block in re.findall(r"```yaml\n(.*?)```", (PAGES / f"{page}.md").read_text(), re.DOTALL)
        for body in yaml.safe_load_all(block)
        if body.get("kind") == kind
    ]
    found["metadata"]["namespace"] = namespace
    shown: Object = found
    return shown
