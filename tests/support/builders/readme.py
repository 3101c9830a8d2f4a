"""The commands that README.md tells a reader to type, so that a test types the same."""

from __future__ import annotations

import re

from support.lab.chart import ROOT

SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
BLOCK = re.compile(r"^```sh\n(.+?)^```$", re.MULTILINE | re.DOTALL)


def sections() -> dict[str, str]:
    """The text under each heading."""
    _, *parts = SECTION.split((ROOT / "README.md").read_text(encoding="utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def commands(section: str) -> list[str]:
    """The shell blocks under a heading, in the order in which they are read."""
    return [block.strip() for block in BLOCK.findall(sections()[section])]
