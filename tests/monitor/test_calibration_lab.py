"""A real control plane's past, exported and replayed: the predicted makespan is within a tenth of what happened."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from slackwater_cluster.endpoint import endpoint
from slackwater_cluster.frameworks import builtin
from slackwater_cluster.session import Session
from slackwater_lab.api import Api
from slackwater_lab.lab import Lab
from slackwater_lab.live.house import house
from slackwater_lab.live.playing import Player
from slackwater_lab.live.pods import Stage
from slackwater_lab.live.script import Play
from slackwater_lab.nodes import Shape
from slackwater_lab.plan import PARTS, Plan
from slackwater_monitor.assessing.running import Order, run
from slackwater_monitor.exporting import export, write
from slackwater_monitor.history.grid import grid
from slackwater_monitor.prometheus import Connection
from slackwater_monitor.whatif import Comparison, compare, opened
from support.labs import running
from support.troupe import job as driven

pytestmark = [pytest.mark.lab, pytest.mark.timeout(400)]
STOCK = frozenset({"kwok", "scheduler", "state-metrics", "prometheus"})
JOBS, TASKS, SECONDS = 8, 4, 12
SHAPE = Shape(cpu="4", memory="8Gi")
SETTLED = 5  # seconds until the last ends are scraped


def replayed(lab: Lab, folder: Path, seconds: int, was: str) -> Comparison:
    """Export the last seconds of the lab's Prometheus, and replay them under the policy that was in force."""
    windows = grid(time.time(), seconds, 5)
    found = run(Order(Connection(lab.site.url("prometheus"), rate=1000), windows, folder / "c", table=builtin()))
    write(export(found, "lab"), folder / "lab.parquet")
    workload, cluster, happened = opened(folder / "lab.parquet", None)
    assert len(workload.jobs) == JOBS
    assert sum(each.tasks for each in workload.jobs) == JOBS * TASKS
    return compare(workload, cluster, [was], happened=happened, was=was)


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


def play(api: Api) -> None:
    """Submit all jobs and wait until they are done."""
    for number in range(JOBS):
        api.create("/apis/batch/v1/namespaces/default/jobs", job(number))
    for _ in range(180):
        jobs = (api.get("/apis/batch/v1/namespaces/default/jobs") or {})["items"]
        if sum(each.get("status", {}).get("succeeded", 0) for each in jobs) == JOBS * TASKS:
            return
        time.sleep(1)
    pytest.fail("the jobs did not end")


def test_the_replay_of_a_lab_run_is_within_a_tenth(tmp_path: Path) -> None:
    """Thirty-two tasks on twelve cores under the stock scheduler."""
    with running(Plan(parts=STOCK, nodes=3, shape=SHAPE, scrape="1s"), tmp_path) as lab:
        with lab.api() as api:
            play(api)
        time.sleep(SETTLED)
        compared = replayed(lab, tmp_path, 240, "kube")
    assert compared.happened is not None
    assert compared.happened.makespan >= 3 * SECONDS
    print(f"\nstock scheduler: {compared.plain()['replay_error']}")  # noqa: T201 - the figures, with pytest -s
    assert abs(compared.errors["makespan"]) < 0.1, compared.plain()


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
        compared = replayed(lab, tmp_path, 300, "slackwater")
    print(f"\nSlackwater: {compared.plain()['replay_error']}")  # noqa: T201 - the figures, with pytest -s
    assert abs(compared.errors["makespan"]) < 0.1, compared.plain()
