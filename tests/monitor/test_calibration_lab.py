"""A real control plane's past: assessed as its raw samples say, exported, and replayed within a tenth of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.session import Session
from slackwater_cluster.frameworks import builtin
from slackwater_cluster.prometheus.transport import QueryConnection
from slackwater_lab.lab import Lab
from slackwater_lab.live.namespace import house
from slackwater_lab.live.play import Player
from slackwater_lab.live.pods import Stage
from slackwater_lab.live.workload import Play
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import PARTS, Plan
from slackwater_monitor.assessment.assessment import Assessment
from slackwater_monitor.assessment.run import Order, run
from slackwater_monitor.export import export, write
from slackwater_monitor.history.grid import Grid, grid
from slackwater_monitor.whatif import Comparison, compare, opened
from support.lab.livejobs import job as driven
from support.lab.running import running

pytestmark = [pytest.mark.lab, pytest.mark.timeout(400)]
STOCK = frozenset({"kwok", "scheduler", "state-metrics", "prometheus"})
JOBS, TASKS, SECONDS = 8, 4, 12
SHAPE = Shape(cpu="4", memory="8Gi")
Raw = dict[tuple[str, ...], np.ndarray[Any, np.dtype[np.float64]]]
SETTLED = 5  # seconds until the last ends are scraped


def assessed(lab: Lab, folder: Path, seconds: int) -> Assessment:
    """The last seconds of the lab's Prometheus."""
    windows = grid(time.time(), seconds, 5)
    return run(Order(QueryConnection(lab.site.url("prometheus"), rate=1000), windows, folder / "c", table=builtin()))


def replayed(found: Assessment, folder: Path, was: str) -> Comparison:
    """Export what was assessed, and replay it under the policy that was in force."""
    write(export(found, "lab"), folder / "lab.parquet")
    workload, cluster, happened = opened(folder / "lab.parquet", None)
    assert len(workload.jobs) == JOBS
    asking = [stage for each in workload.jobs for stage in each.stages if max(stage.request) > 0]
    assert sum(len(stage.durations) for stage in asking) == JOBS * TASKS
    return compare(workload, cluster, [was], happened=happened, was=was)


def asked(lab: Lab, query: str, at: float) -> list[dict[str, Any]]:
    """The answer of the lab's Prometheus."""
    address = f"{lab.site.url('prometheus')}/api/v1/query"
    found = httpx2.get(address, params={"query": query, "time": f"{at}"}, timeout=30).json()
    return list(found["data"]["result"])


def moments(lab: Lab, metric: str, windows: Grid) -> dict[str, float]:
    """When something happened to each pod, in seconds."""
    seconds = windows.end - windows.start
    found = asked(lab, f"max_over_time({metric}[{seconds}s])", windows.end)
    return {each["metric"]["pod"]: float(each["value"][1]) for each in found}


def samples(lab: Lab, metric: str, windows: Grid) -> Raw:
    """The raw samples of every container from the window in which its pod began to that in which it ended.

    As rows of time and value. Nodes go on showing the counters of pods that have ended.
    """
    begun, ended = (moments(lab, name, windows) for name in ("kube_pod_start_time", "kube_pod_completion_time"))
    found: Raw = {}
    span = (windows.end - windows.start) * 1000 - 1
    for each in asked(lab, f'{metric}{{container!=""}}[{span}ms]', windows.end):
        pod = each["metric"]["pod"]
        rows = np.array([[at, float(value)] for at, value in each["values"]])
        window = np.ceil((rows[:, 0] - windows.start) / windows.step) - 1
        first, last = ((moment[pod] - windows.start) // windows.step for moment in (begun, ended))
        kept = rows[(window >= first) & (window <= last)]
        if len(kept):
            found[each["metric"]["namespace"], pod, each["metric"]["container"]] = kept
    return found


def job(number: int) -> dict[str, Any]:
    """Tasks of one core that use a quarter of it."""
    notes = {"slackwater.io/lab-duration": str(SECONDS), "kwok.x-k8s.io/usage-cpu": "250m"}
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1", "memory": "512Mi"}}}
    spec = {"restartPolicy": "Never", "containers": [container], "tolerations": [{"operator": "Exists"}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"j{number}"},
        "spec": {
            "parallelism": TASKS,
            "completions": TASKS,
            "template": {"metadata": {"annotations": notes}, "spec": spec},
        },
    }


def play(api: ApiClient) -> None:
    """Submit all jobs and wait until they are done."""
    for number in range(JOBS):
        api.create("/apis/batch/v1/namespaces/default/jobs", job(number))
    for _ in range(180):
        jobs = (api.find("/apis/batch/v1/namespaces/default/jobs") or {})["items"]
        if sum(each.get("status", {}).get("succeeded", 0) for each in jobs) == JOBS * TASKS:
            return
        time.sleep(1)
    pytest.fail("the jobs did not end")


@dataclass(frozen=True)
class Day:
    """A lab in which all jobs have run, and what was made of its samples."""

    lab: Lab
    found: Assessment


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """Thirty-two tasks on twelve cores under the stock scheduler."""
    home = tmp_path_factory.mktemp("stock")
    with running(Plan(parts=STOCK, nodes=3, shape=SHAPE, scrape="1s"), home) as lab:
        with lab.api() as api:
            play(api)
        time.sleep(SETTLED)
        yield Day(lab, assessed(lab, home, 240))


def test_memory_is_that_of_the_raw_samples(played: Day) -> None:
    """Mean, maximum and efficiency (equation 7) of every container of the lab, computed here by hand."""
    raw = samples(played.lab, "container_memory_working_set_bytes", played.found.grid)
    figures = played.found.levels["container"]["memory"]
    assert set(figures) == set(raw)
    assert len(raw) == JOBS * TASKS
    for name, rows in raw.items():
        assert figures[name].used == pytest.approx(rows[:, 1].mean(), rel=2e-6)
        assert figures[name].peak == pytest.approx(rows[:, 1].max(), rel=2e-6)
        assert figures[name].efficiency == pytest.approx(rows[:, 1].mean() / 2**29, rel=2e-6)


def test_cpu_is_the_growth_of_the_raw_counters(played: Day) -> None:
    """CPU seconds from sample to sample of every container, over that time; a counter that fell began anew.

    Time is counted in samples, so that one that was missed shortens it: where none was, both ways agree.
    """
    raw = samples(played.lab, "container_cpu_usage_seconds_total", played.found.grid)
    figures, gap = played.found.levels["container"]["cpu"], played.found.interval
    assert set(figures) <= set(raw)
    whole = 0
    for name in figures:
        steps, values = np.diff(raw[name][:, 0]), raw[name][:, 1]
        grown = float(np.where(np.diff(values) >= 0, np.diff(values), values[1:]).sum())
        assert figures[name].used == pytest.approx(grown / (len(steps) * gap), rel=1e-5)
        assert figures[name].efficiency == pytest.approx(grown / (len(steps) * gap), rel=1e-5)
        if abs(len(steps) * gap - steps.sum()) < 0.02 * steps.sum():
            whole += 1
            assert figures[name].used == pytest.approx(grown / steps.sum(), rel=0.021)
    assert whole > len(figures) / 2


def test_the_replay_of_a_lab_run_is_within_a_tenth(played: Day, tmp_path: Path) -> None:
    """The stock scheduler's three rounds of twelve tasks."""
    compared = replayed(played.found, tmp_path, "kube")
    assert compared.happened is not None
    assert compared.happened.makespan >= 3 * SECONDS
    print(f"\nstock scheduler: {compared.jsonable()['replay_error']}")  # noqa: T201 - the figures, with pytest -s
    assert abs(compared.errors["makespan"]) < 0.1, compared.jsonable()


async def perform(lab: Lab, plays: list[Play]) -> None:
    """Drivers and tasks in a managed namespace, until all are over."""
    where = endpoint(lab.site.kubeconfig)
    async with Session(where) as session, house(session, "played", managed=True):
        courses = await Player(where, Stage("played", "played")).play(plays, 240)
        assert len(courses) == JOBS
        await asyncio.sleep(SETTLED)


def test_the_replay_of_a_run_under_slackwater_is_within_a_tenth(tmp_path: Path) -> None:
    """Eight drivers with four tasks of a core each, of which they use a third, on twelve cores."""
    plan = Plan(parts=frozenset(PARTS), nodes=3, shape=SHAPE, scrape="1s", values=("policy.spec.mode=enforce",))
    plays = [driven(f"app-{number}", TASKS, 20.0, submit=2.0 * number, driver=0.5, used=0.3) for number in range(JOBS)]
    with running(plan, tmp_path) as lab:
        asyncio.run(perform(lab, plays))
        compared = replayed(assessed(lab, tmp_path, 300), tmp_path, "slackwater")
    print(f"\nSlackwater: {compared.jsonable()['replay_error']}")  # noqa: T201 - the figures, with pytest -s
    assert abs(compared.errors["makespan"]) < 0.1, compared.jsonable()
