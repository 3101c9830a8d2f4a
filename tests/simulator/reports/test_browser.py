"""The page in a real browser: phone, dark mode, print."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from slackwater_lab.programs.browser import FLAGS, chromium
from slackwater_simulator.reports.page import write
from slackwater_simulator.reports.story import told
from support.builders.outcomes import outcome

CHROMIUM = chromium()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

ROWS = [(job, job % 2, float(job), float(job) + 10) for job in range(12)]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A written page."""
    path: Path = write([outcome(ROWS, usage=True), outcome(ROWS, policy="fair")], tmp_path_factory.mktemp("page"))
    return path.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """Debian's Chromium."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield made
        made.close()


@pytest.mark.parametrize("width", [320, 390, 768, 1400])
def test_nothing_sticks_out_at_any_width(browser: object, address: str, width: int) -> None:
    """The page never scrolls sideways; wide drawings scroll inside their frame."""
    page = browser.new_page(viewport={"width": width, "height": 800})  # type: ignore[attr-defined]  # playwright is optional
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_text_in_drawings_is_readable_on_a_phone(browser: object, address: str) -> None:
    """Labels of charts are at least 8 pixels high on a screen 390 pixels wide."""
    page = browser.new_page(viewport={"width": 390, "height": 800})  # type: ignore[attr-defined]  # playwright is optional
    page.goto(address)
    sizes = page.evaluate(
        "[...document.querySelectorAll('figure text')].map(text => text.getBoundingClientRect().height)"
    )
    assert min(sizes) >= 8
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ink_stands_out_from_the_ground(browser: object, address: str, scheme: str) -> None:
    """Contrast of body text against its ground is at least 7 in both schemes."""
    page = browser.new_page(color_scheme=scheme)  # type: ignore[attr-defined]  # playwright is optional
    page.goto(address)
    ink, ground = page.evaluate("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")
    page.close()
    low, high = sorted((_luminance(ink), _luminance(ground)))
    assert (high + 0.05) / (low + 0.05) >= 7


def _luminance(css: str) -> float:
    """Relative luminance of `rgb(r, g, b)`."""
    parts = [int(part) / 255 for part in css[css.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier_on_a_page_with_a_story(browser: object, tmp_path: Path, scheme: str) -> None:
    """The demo's page: table of both schedulers with gains in colour, figures, everything below."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    late = [(job, node, begin + 5, end + 15) for job, node, begin, end in ROWS]
    played = {"kube": outcome(late, policy="kube", usage=True), "slackwater": outcome(ROWS, policy="slackwater")}
    story = told({"nine": "Nine", "hour": "Hour"}, {"nine": played, "hour": played}, ["Another hour."])
    page = browser.new_page(color_scheme=scheme)  # type: ignore[attr-defined]  # playwright is optional
    page.goto(write(list(played.values()), tmp_path, story).as_uri())
    barriers = axe.Axe().run(page).response["violations"]
    page.close()
    assert [f"{each['id']}: {node['html'][:80]}" for each in barriers for node in each["nodes"]] == []
