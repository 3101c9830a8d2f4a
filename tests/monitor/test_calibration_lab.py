"""A real control plane's past, exported and replayed: the predicted makespan is within a tenth of what happened."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.frameworks import builtin
from slackwater_lab.api import Api
from slackwater_lab.builds import installed, missing
from slackwater_lab.lab import Lab
from slackwater_lab.nodes import Shape
from slackwater_lab.plan import Plan
from slackwater_lab.site import open_site
from slackwater_monitor.assessing.running import Order, run
from slackwater_monitor.exporting import export, write
from slackwater_monitor.history.grid import grid
from slackwater_monitor.prometheus import Connection
from slackwater_monitor.whatif import compare, opened

pytestmark = pytest.mark.lab
PARTS = frozenset({"kwok", "scheduler", "state-metrics", "prometheus"})
JOBS, TASKS, SECONDS = 8, 4, 12


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Three simulated nodes of four cores under the stock scheduler."""
    plan = Plan(parts=PARTS, nodes=3, shape=Shape(cpu="4", memory="8Gi"), scrape="1s")
    absent = [item.name for item in missing(plan.programs())]
    if absent:
        pytest.skip(f"not built: {', '.join(absent)}; run: python -m slackwater_lab build")
    try:
        installed("prometheus", "prometheus")
    except Unavailable as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLACKWATER_LAB_HOME", str(tmp_path_factory.mktemp("labs")))
        made = Lab(open_site(f"pytest-{os.getpid()}"), plan)
        try:
            yield made.up()
        finally:
            made.down()


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


def test_the_replay_of_a_lab_run_is_within_a_tenth(lab: Lab, tmp_path: Path) -> None:
    """Thirty-two tasks on twelve cores under the stock scheduler."""
    with lab.api() as api:
        play(api)
    time.sleep(5)  # until the last ends are scraped
    windows = grid(time.time(), 240, 5)
    found = run(Order(Connection(lab.site.url("prometheus"), rate=1000), windows, tmp_path / "c", table=builtin()))
    write(export(found, "lab"), tmp_path / "lab.parquet")
    workload, cluster, happened = opened(tmp_path / "lab.parquet", None)
    assert len(workload.jobs) == JOBS
    assert sum(each.tasks for each in workload.jobs) == JOBS * TASKS
    compared = compare(workload, cluster, ["kube"], happened=happened)
    assert compared.happened is not None
    assert compared.happened.makespan >= 3 * SECONDS
    assert abs(compared.errors["makespan"]) < 0.1, compared.plain()
