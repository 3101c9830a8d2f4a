"""Makes the pictures of README and docs: `python docs/scripts/screenshots.py` (needs Chromium, takes two minutes).

The demo is really run: what it prints becomes demo.svg, its dashboard is photographed at fixed moments of its play.
Same seed, same pictures. Each photograph carries the numbers it was made with, and tests/docs/test_pictures.py compares
them with those of README. `--all FOLDER` writes every page on a desk, in the dark, on a phone and in print (ten
minutes; needs Prometheus, too), to be looked at after a change of how pages look, and all pages as four sheets; nothing
else is touched. With `--docs` as well, the pictures of the docs and the sheets among them are made anew too.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.text import Text

from slackwater_lab.programs.browser import FLAGS, chromium

DOCS = Path(__file__).parents[1]
PORT = int(os.environ.get("SLACKWATER_DEMO_PORT", "8587"))
COLUMNS = 100
FOREIGN_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
PACE, PERIOD = 0.25, 20  # seconds from line to line of the moving terminal, and for one round of it
HOUR, NINE = "t=1900", "scene=nine&t=300"  # moments that show something: apps wait, and stand still
FULL = "t=1950"  # no node has room for the next pod
LINE, PLACE = "scene=nine&t=500", 10  # apps stand in line, and are told when they start
PAGES = {
    "overview": f"/?{HOUR}",
    "side-by-side": f"/side-by-side?{HOUR}",
    "nine": f"/side-by-side?{NINE}",
    "nodes": f"/nodes?{HOUR}",
    "node": f"/nodes/node0?{HOUR}",
    "queues": f"/queue?{NINE}",
    "queue": f"/queue/default?{NINE}",
    "pools": f"/pools?{HOUR}",
    "pool": f"/pools/default?{HOUR}",
    "apps": f"/apps?{HOUR}&sort=-held",
    "what-if": "/what-if",
    "verdict": "/what-if?trace=the+workload+on+show&policy=kube&policy=slackwater&was=kube",
}
# The reports of the commands, each as small as it may be. That of `assess` is of the week that the tests make up.
REPORTS = {
    "reproduce": ("reproduction.html", "reproduce", "001"),
    "risk": ("risk.html", "risk", "gen:borg", "--machines=10", "--days=2"),
}
# The report of the docs: what is played, and how much of its page is shown.
REPORT, REPORT_HEIGHT = ("gen:dress", "--policy", "fcfs,dress,small-first-backfill"), 1320
PATIENCE = 300_000.0  # milliseconds: the answer of what-if is played while one waits
STORY = "Story"  # under this name a picture carries what it was made with
Look = dict[str, Any]
LOOKS: dict[str, Look] = {
    "desk": {"viewport": {"width": 1200, "height": 900}},
    "dark": {"viewport": {"width": 1200, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2},
    "print": {"viewport": {"width": 794, "height": 1123}},  # a sheet of A4
}
# The sheets of the docs: width of one page, the most that is shown of its height, and pages beside each other.
SHEETS = {"desk": (400, 1600, 5), "dark": (400, 1600, 5), "phone": (220, 1600, 9), "print": (400, 1600, 5)}
GAP = 8
# The pictures of the docs: page, look, and how much of the page is shown.
CHOSEN = {
    "pictures/dashboard.png": ("overview", "desk", 905),
    "monitor/overview.png": ("overview", "desk", 1180),
    "monitor/side-by-side.png": ("nine", "desk", 1180),
    "monitor/pod.png": ("pod", "desk", 1080),
    "monitor/node-dark.png": ("node", "dark", 760),
    "monitor/phone.png": ("overview", "phone", 844),
}


@contextmanager
def demo(folder: Path) -> Iterator[str]:
    """The demo with its dashboard; yields what it printed, colours included."""
    programs = Path(sys.executable).parent
    command = [
        str(programs / "slackwater"),
        "demo",
        "--serve",
        f"--port={PORT}",
        "--report=report",
    ]
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"  # it names its programs as a user with this path calls them
    settings = {**os.environ, "PATH": path, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "PYTHONUNBUFFERED": "1"}
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


def story(printed: str) -> str:
    """The first line that the demo prints, which has its numbers."""
    return next(line for line in Text.from_ansi(printed).plain.splitlines() if "on average" in line).strip()


def save(picture: Image.Image, path: Path, words: str) -> None:
    """In few colours: a page of lines and text needs no more, and the file stays small."""
    carried = PngInfo()
    carried.add_text(STORY, words)
    picture.convert("RGB").quantize(256).save(path, optimize=True, pnginfo=carried)


def photograph(
    browser: Browser, address: str, path: Path, look: str, words: str = "", *, height: int | None = None
) -> None:
    """What a browser shows; without a story of its own the picture carries the words of the page."""
    page = browser.new_page(**LOOKS[look])
    if look == "print":
        page.emulate_media(media="print")
    if height is not None:
        page.set_viewport_size({"width": LOOKS[look]["viewport"]["width"], "height": height})
    answer = page.goto(address, timeout=PATIENCE)
    if answer is not None and answer.status >= 400:
        sys.exit(f"{address} answers {answer.status}: this picture would show an error")
    page.screenshot(path=path, full_page=height is None)
    words = words or page.locator("body").inner_text()
    page.close()
    with Image.open(path) as picture:
        save(picture, path, words)


def report(browser: Browser, folder: Path) -> None:
    """The report of the docs, played anew."""
    program = Path(sys.executable).parent / "slackwater"
    subprocess.run([program, "simulate", *REPORT, "--report", folder], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own program
    target = DOCS / "simulator" / "report.png"
    photograph(browser, (folder / "index.html").as_uri(), target, "desk", height=REPORT_HEIGHT)


def reports(folder: Path) -> dict[str, Path]:
    """The pages that commands write, by name."""
    program = Path(sys.executable).parent / "slackwater"
    made = {}
    for name, (file, *arguments) in REPORTS.items():
        made[name] = folder / name / file
        made[name].parent.mkdir()
        target = made[name] if name == "risk" else made[name].parent
        subprocess.run([program, *arguments, "--report", target], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own program
    return made | {"assess": assessment(folder / "assess")}


def assessment(folder: Path) -> Path:
    """The report of `assess` of a week in a real Prometheus, with prices."""
    sys.path.insert(0, str(DOCS.parent / "tests"))
    from slackwater_monitor.assessment.prices import LIST_PRICES  # noqa: PLC0415
    from slackwater_monitor.assessment.run import write  # noqa: PLC0415
    from support.builders.assessed import assessed  # noqa: PLC0415 - the tests' week
    from support.builders.weeks import openmetrics, prometheus, week  # noqa: PLC0415

    (folder / "served").mkdir(parents=True)
    raw = week()
    with prometheus(folder / "served", openmetrics(raw)) as url:
        return write(assessed(raw, url, folder / "cache").found, folder / "page", LIST_PRICES["gcp"])


def who_waits(browser: Browser, address: str) -> dict[str, str]:
    """The pages of the app of which most is held at that moment, of a pod of it that waits, and of a driver in line."""
    page = browser.new_page()
    page.goto(f"{address}{PAGES['apps'].replace(HOUR, FULL)}")
    app = page.locator("tbody th a").first.get_attribute("href") or ""
    page.goto(address + app)
    pod = page.locator("tr", has=page.locator("td", has_text=re.compile("^Pending$"))).first
    found = {"app": app, "pod": pod.locator("th a").get_attribute("href") or ""}
    page.goto(f"{address}/queue/default?{LINE}")
    page.goto(address + (page.locator("tbody th a").nth(PLACE - 1).get_attribute("href") or ""))
    found["start"] = page.locator("a[href^='/pods/']").first.get_attribute("href") or ""
    page.close()
    return found


def every_page(browser: Browser, pages: dict[str, str], folder: Path) -> None:
    """Every page in every look."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in pages.items():
        for look in LOOKS:
            photograph(browser, path, folder / f"{name}-{look}.png", look)


def sheets(folder: Path, names: Iterable[str], into: Path, words: str) -> None:
    """The pages of a folder, one sheet for each look."""
    into.mkdir(parents=True, exist_ok=True)
    for look, (width, height, columns) in SHEETS.items():
        pictures = [folder / f"{name}-{look}.png" for name in names]
        save(sheet(pictures, width, height, columns), into / f"sheet-{look}.png", words)


def sheet(pictures: list[Path], width: int, most: int, columns: int) -> Image.Image:
    """Many pages side by side, each below the shortest column so far; of a very long one the beginning."""
    tops, placed = [GAP] * columns, []
    for path in pictures:
        with Image.open(path) as picture:
            scaled = picture.convert("RGB").resize((width, round(picture.height * width / picture.width)))
        shown = scaled.crop((0, 0, width, min(scaled.height, most)))
        column = tops.index(min(tops))
        placed.append((shown, GAP + column * (width + GAP), tops[column]))
        tops[column] += shown.height + GAP
    made = Image.new("RGB", (columns * (width + GAP) + GAP, max(tops)), "#999999")
    for shown, left, top in placed:
        made.paste(shown, (left, top))
    return made


def make(folder: Path | None, *, docs: bool) -> None:
    """The pictures that are asked for."""
    program = chromium()
    if program is None:
        sys.exit("Chromium is not installed")
    address = f"http://127.0.0.1:{PORT}"
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright, demo(Path(name)) as printed:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        answering(address)
        pages = {page: address + path for page, path in (PAGES | who_waits(browser, address)).items()}
        words = story(printed)
        if docs:
            (DOCS / "pictures" / "demo.svg").write_text(terminal(printed), encoding="utf-8")
            report(browser, Path(name) / "dress")
            for target, (page, look, height) in CHOSEN.items():
                photograph(browser, pages[page], DOCS / target, look, words, height=height)
        if folder is not None:
            pages["report"] = (Path(name) / "report" / "index.html").as_uri()
            pages |= {each: path.as_uri() for each, path in reports(Path(name)).items()}
            every_page(browser, pages, folder)
            sheets(folder, pages, DOCS / "monitor" if docs else folder, words)
        browser.close()


def answering(address: str) -> None:
    """Wait until the dashboard answers: it starts after the last line of the demo."""
    for _ in range(100):
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=2):  # noqa: S310 - our own server
                return
        except OSError:
            time.sleep(0.3)
    sys.exit(f"{address} does not answer")


def wished(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description="Make the pictures of README and docs, or of every page.")
    parser.add_argument(
        "--all", type=Path, default=None, metavar="FOLDER", help="every page in every look, in this folder only"
    )
    parser.add_argument("--docs", action="store_true", help="with --all: the pictures of the docs as well")
    wish = parser.parse_args(arguments)
    wish.docs = wish.docs or wish.all is None
    return wish


if __name__ == "__main__":
    asked = wished()
    make(asked.all, docs=asked.docs)
