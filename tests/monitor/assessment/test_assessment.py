"""`assess` against a real Prometheus: its numbers equal what the raw samples say, computed here by hand."""

from __future__ import annotations

import io
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from slackwater.errors import InvalidInput
from slackwater_cluster.prometheus.transport import QueryConnection
from slackwater_monitor.assessment.report.page import render
from slackwater_monitor.assessment.report.tables import render as terminal
from slackwater_monitor.assessment.report.values import jsonable
from slackwater_monitor.assessment.run import Order, fetch, run, write
from slackwater_monitor.history.grid import grid
from support.builders.assessed import Week, assessed, order
from support.builders.weeks import DAY, END, SCRAPE, STATES, TOOLS, Container, Floats, openmetrics, prometheus, week
from support.symbols import symbols

pytestmark = pytest.mark.skipif(not TOOLS, reason="prometheus and promtool are not installed")
EXACT = pytest.approx
SAME = 2e-6  # values travel as 32-bit floats between two passes


def cores(each: Container) -> tuple[float, float]:
    """CPU seconds used and seconds observed, from the raw counter: between the first and the last sample."""
    return float(each.counter[-1] - each.counter[0]), float(each.at[-1] - each.at[0])


def windows(each: Container, values: Floats, step: int) -> dict[int, list[float]]:
    """Raw values by window: a sample at the end of a window belongs to it."""
    found: dict[int, list[float]] = defaultdict(list)
    for at, value in zip(each.at, values, strict=True):
        found[-int(-at // step)].append(float(value))
    return found


def enough(values: Iterable[float], share: float) -> float:
    """The value that suffices for a share of the time, the next window included: rank ⌈share·(n + 1)⌉, recounted."""
    ordered = sorted(values)
    return ordered[min(math.ceil(share * (len(ordered) + 1)), len(ordered)) - 1]


def test_memory_of_every_container_is_that_of_its_raw_samples(served_week: Week) -> None:
    """Mean, maximum, 95th percentile of window peaks, and efficiency by equation 7."""
    figures = served_week.found.levels["container"]["memory"]
    assert len(figures) == len(served_week.raw)
    for each in served_week.raw:
        got = figures[each.namespace, each.pod, each.name]
        peaks = [max(values) for values in windows(each, each.bytes, 300).values()]
        assert got.used == EXACT(each.bytes.mean(), rel=SAME)
        assert got.peak == EXACT(each.bytes.max(), rel=SAME)
        assert got.p95 == EXACT(enough(peaks, 0.95), rel=SAME)
        assert got.seconds == EXACT(len(each.at) * SCRAPE, rel=SAME)
        assert got.efficiency == (
            EXACT(each.bytes.sum() / (len(each.at) * each.memory), rel=SAME) if each.memory else None
        )


def test_cpu_of_every_container_is_the_growth_of_its_raw_counter(served_week: Week) -> None:
    """Nothing is extrapolated: CPU seconds between the first and the last sample over that time."""
    figures = served_week.found.levels["container"]["cpu"]
    for each in served_week.raw:
        used, seconds = cores(each)
        got = figures[each.namespace, each.pod, each.name]
        assert got.used == EXACT(used / seconds, rel=SAME)
        assert got.seconds == EXACT(seconds, rel=SAME)
        assert got.efficiency == (EXACT(used / (seconds * each.cpu), rel=SAME) if each.cpu else None)


def app_of(each: Container) -> str:
    """The app a container should be found in."""
    return f"spark/{each.labels['spark_app_selector']}" if each.labels else "replicaset/web-7d9"


@pytest.mark.parametrize(
    ("level", "key"),
    [
        ("pod", lambda each: (each.namespace, each.pod)),
        ("namespace", lambda each: (each.namespace,)),
        ("node", lambda each: (each.node,)),
        ("user", lambda each: (each.labels.get("user", each.namespace),)),
        ("app", lambda each: (each.namespace, app_of(each))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
@pytest.mark.parametrize("kind", ["cpu", "memory"])
def test_efficiency_of_groups_sums_numerators_and_denominators(
    served_week: Week, level: str, key: Callable[[Container], tuple[str, ...]], kind: str
) -> None:
    """Equation 7 for pods, apps, users, namespaces and nodes; containers without a request count in neither sum."""
    used: dict[tuple[str, ...], float] = defaultdict(float)
    reserved: dict[tuple[str, ...], float] = defaultdict(float)
    for each in served_week.raw:
        if not each.cpu:
            continue
        sums = cores(each) if kind == "cpu" else (float(each.bytes.sum()) * SCRAPE, float(len(each.at) * SCRAPE))
        used[key(each)] += sums[0]
        reserved[key(each)] += sums[1] * (each.cpu if kind == "cpu" else each.memory)
    figures = served_week.found.levels[level][kind]
    assert set(figures) == set(used)
    for name, got in figures.items():
        assert got.efficiency == EXACT(used[name] / reserved[name], rel=1e-5)


def test_node_series_are_sums_over_their_containers(served_week: Week) -> None:
    """The largest window mean of a node, from the raw samples of all its containers."""
    total: dict[int, float] = defaultdict(float)
    for each in served_week.raw:
        if each.node == "n1":
            for window, values in windows(each, each.bytes, 300).items():
                total[window] += sum(values) * SCRAPE / 300
    got = served_week.found.levels["node"]["memory"]["n1",]
    assert got.peak == EXACT(max(total.values()), rel=1e-5)
    assert got.p95 == EXACT(enough(total.values(), 0.95), rel=1e-5)


def test_the_grid_of_windows_does_not_change_what_was_used(served_week: Week, tmp_path: Path) -> None:
    """Sums over raw samples are the same in windows of five minutes and of an hour."""
    coarse = run(order(served_week.url, tmp_path, step=3600))
    for kind in ("cpu", "memory"):
        for name, fine in served_week.found.levels["container"][kind].items():
            if fine.efficiency is not None:
                assert coarse.levels["container"][kind][name].efficiency == EXACT(fine.efficiency, rel=1e-5)


def test_a_short_period_is_cut_into_windows_that_hold_samples(served_week: Week, tmp_path: Path) -> None:
    """Two hours would be windows of 15 s, and containers are scraped every minute: CPU and memory are found in full."""
    short = Order(QueryConnection(served_week.url, rate=1000), grid(END, 7200, None), tmp_path)
    found = run(short)
    assert found.grid.step == 2 * SCRAPE
    assert found.interval == EXACT(SCRAPE)
    web = next(each for each in served_week.raw if each.pod == "web-1")
    recent = web.at > END - 7200
    assert found.levels["container"]["memory"]["shop", "web-1", "app"].used == EXACT(web.bytes[recent].mean(), rel=SAME)
    assert found.levels["container"]["cpu"]["shop", "web-1", "app"].seconds == EXACT(7200 - SCRAPE)
    with pytest.raises(InvalidInput, match="--step 120s"):
        run(replace(short, grid=grid(END, 7200, 30), stated=True))


def test_drivers_are_recognised_with_their_waits_and_stalls(served_week: Week) -> None:
    """Fourteen Spark apps; executors of every third waited ten minutes while their driver ran: a stall each."""
    found = served_week.found
    assert len(found.drivers) == 14
    assert set(found.drivers.values()) == {"spark"}
    longest = max(each.start - each.created for each in served_week.raw if each.owner[0] == "Pod")
    assert found.waits["task"].longest == EXACT(longest)
    assert len(found.stalls) == 5
    assert all(600 <= stall.end - stall.start <= 700 for stall in found.stalls)


def test_reclaimable_amounts_follow_from_each_containers_own_use(served_week: Week) -> None:
    """At the largest use ever seen nothing is above its new request; the amount is what the raw samples say."""
    always = served_week.found.offers["memory"][-1]
    period = 7 * DAY
    tasks = sum(
        (each.memory - each.bytes.max()) * len(each.at) * SCRAPE / period
        for each in served_week.raw
        if each.labels.get("spark_role") == "executor"
    )
    assert always.tasks == EXACT(tasks, rel=1e-5)
    assert always.alone == 0
    assert always.pooled == 0
    half = served_week.found.offers["memory"][0]
    assert half.tasks > always.tasks
    assert half.alone == EXACT(0.5, abs=0.02)


def test_the_best_place_wastes_most(served_week: Week) -> None:
    """The web pods reserve six cores all week; executors of all Spark runs are one place, their drivers another."""
    found = served_week.found
    assert [(place.app, place.tasks, place.pods) for place in found.places] == [
        ("replicaset/web-7d9", False, 3),
        ("spark/spark", True, 42),
        ("spark/spark", False, 14),
    ]
    offer = next(each for each in found.offers["cpu"] if each.share == 0.95)
    assert sum(place.cpu for place in found.places if place.tasks) == EXACT(offer.tasks, rel=1e-5)


def test_an_interrupted_run_goes_on_where_it_stopped(served_week: Week, tmp_path: Path) -> None:
    """Answers on disk are not asked for again."""
    wanted = order(served_week.url, tmp_path, days=2)
    history, _ = fetch(wanted)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
    lost = min(kept)
    lost.unlink()
    again, _ = fetch(wanted)
    assert again.files == history.files
    changed = {path for path in kept if path.stat().st_mtime_ns != kept[path]}
    assert changed == {lost}


def test_page_and_json_hold_the_same_numbers(served_week: Week, tmp_path: Path) -> None:
    """One page without scripts, outside addresses and words of the papers, and a JSON file beside it."""
    page = write(served_week.found, tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "http://" not in text
    assert "https://" not in text
    assert symbols(text) == []
    written = json.loads((tmp_path / "assessment.json").read_text(encoding="utf-8"))
    assert written == json.loads(json.dumps(jsonable(served_week.found)))
    assert (
        written["levels"]["container"][0]["cpu"]["limit"] == 2 * written["levels"]["container"][0]["cpu"]["requested"]
    )
    assert render(served_week.found) == text


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Week:
    """Three days: the second was never scraped, labels are renamed, limits and completion times are absent."""
    raw = week(days=3, gap=(1, 2))
    lines = openmetrics(raw, renamed=True, without=("kube_pod_container_resource_limits", "kube_pod_completion_time"))
    with prometheus(tmp_path_factory.mktemp("troubled"), lines) as url:
        return assessed(raw, url, tmp_path_factory.mktemp("cache"), days=3)


def test_renamed_labels_absent_metrics_and_a_gap_are_told(troubled: Week) -> None:
    """A partial result says what is missing."""
    notes = " ".join(troubled.found.notes)
    assert "pod is read from exported_pod" in notes
    assert "kube_pod_container_resource_limits is absent" in notes
    assert "no samples from 2026-01-10 00:00 UTC to 2026-01-11 00:00 UTC (24 h)" in notes


def test_a_gap_counts_neither_as_used_nor_as_reserved(troubled: Week) -> None:
    """Growth of a counter across the gap belongs to nobody."""
    raw, found = troubled.raw, troubled.found
    web = next(each for each in raw if each.pod == "web-1")
    got = found.levels["container"]["cpu"]["shop", "web-1", "app"]
    edge = int(np.argmax(np.diff(web.at)))
    used = web.counter[edge] - web.counter[0] + web.counter[-1] - web.counter[edge + 1]
    seconds = web.at[edge] - web.at[0] + web.at[-1] - web.at[edge + 1]
    assert got.efficiency == EXACT(used / (seconds * web.cpu), rel=SAME)


def test_pods_that_come_and_go_are_found_wherever_they_were(tmp_path: Path) -> None:
    """Renamed labels, and no pod at any usual moment to read their spelling off: the period is looked through."""
    raw = [each for each in week(days=3) if each.namespace == "batch" and each.pod.startswith("etl-1-")]
    assert raw
    with prometheus(tmp_path, openmetrics(raw, renamed=True)) as url:
        found = assessed(raw, url, tmp_path / "cache", days=3).found
    assert len(found.levels["container"]["memory"]) == len(raw)
    assert set(found.drivers.values()) == {"spark"}


@pytest.mark.parametrize(
    ("absent", "kinds", "words"),
    [
        (lambda name: name.startswith("kube_"), {"cpu", "memory"}, "no efficiency and nothing reclaimable"),
        (lambda name: "cpu" in name, {"memory"}, "unknown is how much CPU is used"),
        (lambda name: name == "kube_pod_owner", {"cpu", "memory"}, "every pod counts as an app"),
    ],
    ids=["no kube-state-metrics", "no CPU", "no owners"],
)
def test_half_of_the_metrics_is_a_part_of_the_result(
    absent: Callable[[str], bool], kinds: set[str], words: str, tmp_path: Path
) -> None:
    """What is there is assessed; what is missing is named, with what to do; table and page are made all the same."""
    raw = week(days=1)
    names = ("container_cpu_usage_seconds_total", "container_memory_working_set_bytes", *STATES)
    lines = openmetrics(raw, without=tuple(name for name in names if absent(name)))
    with prometheus(tmp_path, lines) as url:
        found = assessed(raw, url, tmp_path / "cache", days=1).found
    assert set(found.courses) == kinds
    assert any(words in note for note in found.notes), found.notes
    assert words in render(found)
    out = io.StringIO()
    Console(file=out, width=400).print(terminal(found))
    assert words in out.getvalue()
