"""The browser that photographs and tests pages: Debian's Chromium, where it is."""

from __future__ import annotations

import shutil

FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking"]
# The one without windows first: the same pages for less than half of the time.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """Debian's Chromium, or the Chrome that machines of GitHub bring."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)
