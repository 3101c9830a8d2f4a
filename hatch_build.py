"""What the package index shows: README.md with links that lead somewhere from there, and where the project lives.

The address comes from SLACKWATER_REPOSITORY_URL (the release workflow sets it), so that a fork's package points at the
fork. Without it no address is claimed: relative links become plain words, and pictures are left out.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = r"\((?!https?:|#)([^)\s]+)\)"  # a target inside the project
WITHIN = r"(?<!!)\[([^\]]+)\]\(#[^)\s]+\)"  # a heading of the page: the index gives headings other names
PICTURE = re.compile(rf"!\[([^\]]*)\]{RELATIVE}\n*")
LINK = re.compile(rf"(?<!!)\[([^\]]+)\]{RELATIVE}")


def description(readme: str, address: str, tag: str) -> str:
    """README.md as the index may show it: absolute links into one version, or none."""
    text = re.sub(WITHIN, r"\1", readme)
    if not address:
        return LINK.sub(r"\1", PICTURE.sub("", text))
    text = LINK.sub(rf"[\1]({address}/blob/{tag}/\2)", text)
    return PICTURE.sub(rf"![\1]({address}/raw/{tag}/\2)\n\n", text)


class Description(MetadataHookInterface):
    """Hatchling asks this for the fields that pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in description and addresses."""
        root, address = Path(self.root), os.environ.get("SLACKWATER_REPOSITORY_URL", "").rstrip("/")
        version = re.search(r'^__version__ = "(.+)"', (root / "core/slackwater/__init__.py").read_text(), re.MULTILINE)
        tag = f"v{version[1] if version else ''}"
        text = description((root / "README.md").read_text(encoding="utf-8"), address, tag)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        if address:
            pages = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md", "Security": "SECURITY.md"}
            metadata["urls"] = {
                "Source": address,
                "Issues": f"{address}/issues",
                **{name: f"{address}/blob/{tag}/{page}" for name, page in pages.items()},
            }
