"""The dashboard in a real browser: phone and desk, day and night, with and without scripts, by keyboard."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pytest
from werkzeug.serving import make_server

from slackwater_cluster.api.client import ApiClient, ExtenderClient
from slackwater_cluster.api.endpoint import endpoint
from slackwater_lab.programs.browser import FLAGS, chromium
from slackwater_monitor.assessment.run import write
from slackwater_monitor.settings import Settings
from slackwater_monitor.sources.live import Live
from slackwater_monitor.sources.simulated.replay import Replay
from slackwater_monitor.web.app import dashboard
from slackwater_simulator.results.outcome import Series
from support.builders.assessed import Week
from support.builders.outcomes import outcome
from support.fakes.httpcluster import GROUP, Cluster, served, usual

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

CHROMIUM = chromium()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
LISTS = ("/", "/side-by-side", "/nodes", "/queue", "/pools", "/apps", "/what-if")
SINGLE = ("/nodes/node0", "/queue/default", "/pools/default", "/apps/simulated/job-1", "/pods/simulated/job-1-run-0")
WAITS = "/pods/simulated/job-11-run-0?t=3"  # the page of a pod that waits shows more
PAGES = (*LISTS, *SINGLE, WAITS)
PLAYED = "/what-if?trace=the+workload+on+show&policy=fifo&policy=fair"
ROWS = [(job, job % 2, float(job), float(job) + 400) for job in range(12)]
DESK: ViewportSize = {"width": 1280, "height": 900}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A simulation that goes on while it is looked at: ten virtual seconds each second."""
    moved = Series(np.array([0.0, 5.0, 9.0]), np.array([0.1, 0.3, 0.2]))
    made = outcome(ROWS, usage=True, series={"delta": moved})
    app = dashboard(Replay(made, rival=replace(made, policy="kube"), speed=10.0), Settings(refresh=2))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster that serves."""
    with served(usual()) as made:
        yield made


@pytest.fixture(scope="module")
def cluster_address(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster that is looked at anew at every request."""
    api = ApiClient(endpoint(cluster.kubeconfig(tmp_path_factory.mktemp("cluster"))))
    app = dashboard(Live(api, ExtenderClient(api), fresh=0.0), Settings(refresh=2))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield made
        made.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh page."""
    made = browser.new_page(viewport=DESK)
    yield made
    made.close()


class Visit(NamedTuple):
    """One page as it was loaded: whom it asked, and what it wrote to the console."""

    page: Page
    asked: tuple[str, ...]
    said: tuple[str, ...]


@pytest.fixture(scope="module", params=PAGES)
def visit(request: pytest.FixtureRequest, browser: Browser, address: str) -> Iterator[Visit]:
    """Every page of the dashboard, loaded once for all that only look at it."""
    asked: list[str] = []
    said: list[str] = []
    page = browser.new_page(viewport=DESK)
    page.on("request", lambda made: asked.append(made.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{address}{request.param}")
    yield Visit(page, tuple(asked), tuple(said))
    page.close()


def test_a_page_asks_nobody_else_and_breaks_no_rule(visit: Visit, address: str) -> None:
    """Every request goes to the dashboard, and nothing is written to the console (a breach of the policy would be)."""
    assert visit.said == ()
    assert visit.asked
    assert all(url.startswith(address) for url in visit.asked)


def test_nothing_sticks_out_at_any_width(visit: Visit) -> None:
    """No page scrolls sideways; wide tables scroll inside their frame."""
    wide = {}
    for width in (1400, 768, 390, 320):
        visit.page.set_viewport_size({"width": width, "height": 800})
        wide[width] = visit.page.evaluate("document.documentElement.scrollWidth")
    visit.page.set_viewport_size(DESK)
    assert {width: found for width, found in wide.items() if found > width} == {}


def test_ink_stands_out_from_the_ground(page: Page, address: str) -> None:
    """Contrast of at least 4.5 for every kind of text that is shown, by day and by night."""
    page.goto(address)
    worst = {}
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        worst[scheme] = page.evaluate(CONTRAST)
    assert min(worst.values()) >= 4.5
    assert worst["light"] != worst["dark"]  # each was really shown


# The smallest contrast between a text's colour and the nearest opaque ground below it.
CONTRAST = """() => {
  const parts = (css) => (css.match(/[\\d.]+/g) || []).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = parts(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const texts = [...document.querySelectorAll('main p, main td, main th, main a, main dt, main dd, main h1, main h2, nav a, button')];
  return Math.min(...texts.filter((text) => text.offsetParent && text.textContent.trim()).map((text) => {
    const [low, high] = [light(parts(getComputedStyle(text).color)), light(ground(text))].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }));
}"""  # noqa: E501 - a script of its own


def test_numbers_move_without_reloading(page: Page, address: str) -> None:
    """The moment shown goes on while the page stays; Pause stops it, and the address then names the moment."""
    page.goto(address)
    page.evaluate("window.stayed = true")
    before = page.inner_text(".at")
    page.wait_for_function("before => document.querySelector('.at').innerText !== before", arg=before, timeout=15000)
    assert page.evaluate("window.stayed") is True
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(300)
    held = page.inner_text(".at")
    page.wait_for_timeout(1500)
    assert page.inner_text(".at") == held
    assert page.get_by_role("button", name="Play").is_visible()
    assert "t=" in page.url


def test_a_cluster_is_renewed_until_it_is_paused(page: Page, cluster_address: str) -> None:
    """The page of a pod that waits: its moment moves while the page stays, and Pause holds it."""
    page.goto(f"{cluster_address}/pods/team-a/etl-0")
    before = page.inner_text(".at")
    page.wait_for_function("before => document.querySelector('.at').innerText !== before", arg=before, timeout=15000)
    page.get_by_role("button", name="Pause").click()
    assert page.get_by_role("button", name="Resume").get_attribute("aria-pressed") == "true"
    assert page.locator("#player").count() == 0


def test_trouble_comes_and_goes_on_an_open_page(page: Page, cluster: Cluster, cluster_address: str) -> None:
    """What cannot be read is told without reloading, and no longer once it can be."""
    page.goto(f"{cluster_address}/queue")
    path = f"{GROUP}/reservationpools"
    told = page.locator(".problems", has_text="ReservationPools")
    well, cluster.answers[path] = cluster.answers[path], (403, {"message": "forbidden"})
    try:
        told.wait_for(timeout=15000)
    finally:
        cluster.answers[path] = well
    told.wait_for(state="detached", timeout=15000)


def test_a_pod_that_starts_is_no_longer_shown_as_waiting(page: Page, address: str) -> None:
    """While its page is open, who stands before it goes, and the node that it came to is shown."""
    page.goto(f"{address}{WAITS}")
    assert page.get_by_role("heading", name="Room for it, node by node").is_visible()
    page.locator("#t").fill("100")
    page.get_by_role("heading", name="Its node,").wait_for(timeout=10000)
    assert page.get_by_role("heading", name="Room for it, node by node").count() == 0


def test_the_slider_goes_to_a_moment_and_links_stay_there(page: Page, address: str) -> None:
    """By keyboard: the slider moves, the page follows, the next page shows the same moment."""
    page.goto(f"{address}/?t=100")
    page.locator("#t").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.at').innerText.startsWith('101 s')", timeout=10000)
    page.get_by_role("link", name="Nodes", exact=True).click()
    page.wait_for_load_state()
    assert page.inner_text(".at").startswith("101 s")


def test_a_pointer_on_a_chart_is_told_the_values(page: Page, address: str) -> None:
    """A line across the chart, the moment, and the value of every curve; the arrow keys do the same."""
    page.goto(f"{address}/?t=300")
    chart = page.locator("svg[data-hover]").last
    chart.hover()
    words = page.inner_text(".tip")
    assert "requested" in words
    assert "GiB" in words
    assert chart.locator(".hair").count() == 1
    chart.focus()
    page.keyboard.press("ArrowLeft")
    assert page.inner_text(".tip") != words
    page.keyboard.press("Escape")
    assert not page.locator(".tip").is_visible()


def test_a_play_is_scrubbed_without_scripts(browser: Browser, address: str) -> None:
    """JavaScript off: slider and button are a form."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/?t=100")
    page.locator("#t").fill("200")
    page.get_by_role("button", name="Show this moment").click()
    assert page.inner_text(".at").startswith("3.33 min")
    context.close()


def test_tables_are_there_without_scripts(browser: Browser, address: str) -> None:
    """JavaScript off: the same rows, and no button that would do nothing."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/apps")
    assert page.locator("tbody tr").count() == 12
    assert not page.get_by_role("button", name="Pause").is_visible()
    context.close()


def test_tables_are_there_before_a_slow_script(page: Page, address: str) -> None:
    """The script has not come yet: the rows are there to be read."""
    page.route("**/live.js", lambda route: None)  # never answered
    page.goto(f"{address}/apps", wait_until="commit")
    page.locator("tbody tr").nth(11).wait_for(timeout=10000)
    assert page.get_by_role("link", name="job-11").is_visible()
    page.unroute_all(behavior="ignoreErrors")


def test_the_keyboard_reaches_everything_in_order(page: Page, address: str) -> None:
    """The first stop skips to the content; then the pages in turn, each visibly focused."""
    page.goto(address)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.goto(address)
    for name in ("Skip to content", "Overview", "Side by side", "Nodes"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == name
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_axe_finds_no_barrier_on_any_page(visit: Visit) -> None:
    """The rules of axe-core (WCAG 2 A and AA and best practice), by day and by night."""
    assert barriers(visit.page) == []


def test_axe_finds_no_barrier_on_an_answer(page: Page, address: str) -> None:
    """What the form of what-if is answered with, by day and by night."""
    page.goto(f"{address}{PLAYED}")
    assert barriers(page) == []


def test_print_leaves_out_what_only_a_click_answers(page: Page, address: str) -> None:
    """And an explanation below a row is not written larger than the row."""
    page.goto(f"{address}/side-by-side")
    assert page.locator(".next").first.is_visible()
    page.emulate_media(media="print")
    assert not page.locator(".next").first.is_visible()
    size = "each => parseFloat(getComputedStyle(document.querySelector(each)).fontSize)"
    assert page.evaluate(size, "table .fine") <= page.evaluate(size, "table td")


def test_the_report_of_an_assessment_is_as_open(page: Page, served_week: Week, tmp_path: Path) -> None:
    """The page on disk: no barrier, nothing sticks out on a phone, nothing is asked of anybody."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(write(served_week.found, tmp_path).as_uri())
    assert barriers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert all(url.startswith("file:") for url in asked)
    page.set_viewport_size({"width": 794, "height": 1123})
    page.emulate_media(media="print")
    ends = page.evaluate("[...document.querySelectorAll('td')].map(each => each.getBoundingClientRect().right)")
    assert max(ends) <= 795


def barriers(page: Page) -> list[str]:
    """What axe-core finds on the page as it stands by day; and of its colours, which alone differ, by night."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        options = {"runOnly": ["color-contrast"]} if scheme == "dark" else None
        for each in axe.Axe().run(page, options=options).response["violations"]:
            found += [f"{scheme} {each['id']}: {node['target']} {node['html'][:80]}" for node in each["nodes"]]
    page.emulate_media(color_scheme="light")
    return found


def test_screen_readers_are_told_what_is_what(visit: Visit) -> None:
    """One main heading, every table named and headed, every drawing described, every field labelled."""
    page = visit.page
    assert page.locator("h1").count() == 1
    assert page.evaluate(
        "[...document.querySelectorAll('table')].every(t => t.caption && t.querySelector('th[scope]'))"
    )
    assert page.evaluate("[...document.querySelectorAll('svg')].every(s => s.getAttribute('aria-label'))")
    fields = "[...document.querySelectorAll('input:not([type=hidden]), select')]"
    assert page.evaluate(f"{fields}.every(f => f.labels.length > 0)")
    assert page.locator("nav a[aria-current=page]").count() == 1


def test_the_what_if_form_is_filled_in_and_answered(page: Page, address: str) -> None:
    """Choose two policies, play, read the table."""
    page.goto(f"{address}/what-if")
    for name in ("kube", "slackwater", "capacity", "fair"):
        page.locator(f"#p-{name}").uncheck()
    page.locator("#p-fifo").check()
    page.locator("#p-drf").check()
    page.get_by_role("button", name="Play").click()
    page.wait_for_load_state()
    assert page.locator("tbody th").all_inner_texts() == ["fifo", "drf"]


def test_the_what_if_form_says_that_it_plays(page: Page, address: str) -> None:
    """While the answer is awaited the seconds are counted, and the button cannot be pressed twice."""
    page.goto(f"{address}/what-if")
    page.evaluate("document.querySelector('form[data-wait]').dispatchEvent(new Event('submit'))")
    assert page.inner_text("#waiting").startswith("Playing")
    assert page.get_by_role("button", name="Play").is_disabled()
