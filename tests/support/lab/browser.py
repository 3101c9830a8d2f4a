"""Photographs of pages by Debian's Chromium, where it is."""

from __future__ import annotations

from pathlib import Path

from slackwater_lab.programs.browser import FLAGS, chromium


def picture(address: str, path: Path) -> bool:
    """Write what a browser shows; False where there is no browser."""
    program = chromium()
    if program is None:
        return False
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where there is a browser

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        shown = browser.new_page(viewport={"width": 1280, "height": 900})
        shown.goto(address)
        shown.screenshot(path=path, full_page=True)
        browser.close()
    return path.stat().st_size > 10_000
