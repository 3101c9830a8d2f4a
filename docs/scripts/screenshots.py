"""Makes the pictures of README and docs: `python docs/scripts/screenshots.py` (needs Chromium, takes a minute).

The demo is really run: what it prints becomes demo.svg, the hour on its dashboard dashboard.png. Same seed, same
pictures, but for the moment at which the dashboard is looked at.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.text import Text

TARGET = Path(__file__).parents[1] / "pictures"
PORT = int(os.environ.get("SLACKWATER_DEMO_PORT", "8587"))
COLUMNS = 100
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking"]
FOREIGN_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
PACE, PERIOD = 0.25, 20  # seconds from line to line of the moving terminal, and for one round of it
MOMENT = 25  # seconds of looking: a minute of the hour each


@contextmanager
def demo(folder: Path) -> Iterator[str]:
    """The demo with its dashboard; yields what it printed, colours included."""
    command = [
        str(Path(sys.executable).with_name("slackwater")),
        "demo",
        "--serve",
        f"--port={PORT}",
        "--report=report",
    ]
    settings = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(  # noqa: S603 - our own program
        command, cwd=folder, env=settings, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            lines = []
            for line in process.stdout or ():
                if "Dashboard:" in line:
                    break
                lines.append(line)
            yield "".join(lines)
        finally:
            process.terminate()


def terminal(printed: str) -> str:
    """A picture of the terminal; progress bars leave carriage returns and empty lines that nobody would see."""
    text = "\n".join(line.rsplit("\r", maxsplit=1)[-1].rstrip() for line in printed.splitlines())
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(re.sub(r"\x1b\[\??\d*[A-KJhl]", "", text).strip("\n")))
    made = console.export_svg(title="make demo", unique_id="demo")
    return moving(FOREIGN_FONTS.sub("", made).replace("Fira Code", "ui-monospace"))


def moving(picture: str) -> str:
    """The same picture, its lines appearing one after another, over and over; whole at once for who wants no motion."""
    lines = sorted({int(number) for number in re.findall(r"#demo-line-(\d+)\)", picture)})
    delays = "".join(
        f'.demo-matrix text[clip-path="url(#demo-line-{line})"] {{ animation-delay: {line * PACE:.2f}s }}\n'
        for line in lines
    )
    style = (
        "@keyframes demo-appear { 0% { opacity: 1 } 92% { opacity: 1 } 93% { opacity: 0 } 100% { opacity: 0 } }\n"
        "@media (prefers-reduced-motion: no-preference) {\n"
        f".demo-matrix text {{ opacity: 0; animation: demo-appear {PERIOD}s step-end infinite }}\n{delays}}}\n"
    )
    return picture.replace("</style>", f"{style}</style>", 1)


def photograph(browser: Browser, address: str, path: Path, *, height: int) -> None:
    """What a browser shows, in few colours: a page of lines and text needs no more, and the file stays small."""
    page = browser.new_page(viewport={"width": 1200, "height": height})
    page.goto(address)
    page.screenshot(path=path)
    page.close()
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(96).save(path, optimize=True)


def make() -> None:
    """All pictures."""
    program = shutil.which("chromium")
    if program is None:
        sys.exit("Chromium is not installed")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright, demo(Path(name)) as printed:
        (TARGET / "demo.svg").write_text(terminal(printed), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        time.sleep(MOMENT)
        photograph(browser, f"http://127.0.0.1:{PORT}/", TARGET / "dashboard.png", height=905)
        browser.close()


if __name__ == "__main__":
    make()
