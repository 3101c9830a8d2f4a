"""Every panel shows something: the queries run against the lab's Prometheus while apps wait and run."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.builders.promql import dashboards, queries, selectors
from support.lab.chart import CHART, ROOT

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

APPS, TASKS = 4, 24
# Counters that only appear when something goes wrong, or that a quiet cluster never touches.
TROUBLE = {
    "slackwater_extender_rejected_requests_total",
    "slackwater_extender_errors_total",
    "slackwater_extender_dropped_samples_total",
    "slackwater_operator_errors_total",
    "slackwater_operator_stalls_total",
    "slackwater_operator_driver_evictions_total",
    "slackwater_operator_task_evictions_total",
    "slackwater_operator_nominations_moved_total",
    "slackwater_extender_risk_factor",  # nothing is kept back before a promise was judged
    "slackwater_app_wait_estimate_seconds",  # there is none before an app of the queue has ended
}


@pytest.fixture(scope="module")
def busy() -> Iterator[Any]:
    """A lab with all our programs, more apps than fit at once, and half a minute of measurements."""
    labs = pytest.importorskip("slackwater_lab.lab", reason="the lab is not installed here")
    builds = pytest.importorskip("slackwater_lab.programs.build")
    plan = pytest.importorskip("slackwater_lab.plan").Plan()
    if builds.missing(plan.programs()):
        pytest.skip("the lab's programs are not built; run: python -m slackwater_lab build")
    from support.lab.session import Kube  # noqa: PLC0415 - needs the lab

    with labs.Lab.start("chart-panels", nodes=3) as lab, Kube(lab.site) as kube:
        configure(lab)
        submit(kube)
        time.sleep(45)
        yield lab


def configure(lab: Any) -> None:
    """kube-state-metrics once more, with the chart's configuration: queues and apps become series."""
    from slackwater_lab.controlplane.statemetrics import state_metrics  # noqa: PLC0415 - needs the lab

    ours = CHART / "files" / "metrics" / "kube-state-metrics.yaml"
    lab.processes.stop("state-metrics")
    lab.processes.start("state-metrics", [*state_metrics(lab.site), f"--custom-resource-state-config-file={ours}"])


def submit(kube: Any) -> None:
    """Spark-like apps under mode enforce with a stated risk."""
    kube.patch(
        "/apis/slackwater.io/v1alpha1/slackpolicies/default",
        {"spec": {"mode": "enforce", "estimation": {"risk": "5%"}}},
        "application/merge-patch+json",
    )
    pods = f"/api/v1/namespaces/{kube.namespace('panels', slackwater_io__managed='true')}/pods"
    time.sleep(3)  # a policy takes up to 3 s to act
    for app in range(APPS):
        driver = kube.post(pods, pod(f"app{app}-driver", f"app{app}", "driver")).body["metadata"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": driver["name"], "uid": driver["uid"], "controller": True}
        for task in range(TASKS):
            assert kube.post(pods, pod(f"app{app}-{task}", f"app{app}", "executor", owner)).ok


def pod(name: str, app: str, role: str, *owners: dict[str, Any]) -> dict[str, Any]:
    """A pod that uses a third of what it asks for."""
    notes = {
        "slackwater.io/lab-duration": "20" if role == "executor" else "300",
        "kwok.x-k8s.io/usage-cpu": "600m",
        "kwok.x-k8s.io/usage-memory": "1Gi",
    }
    labels = {"spark-app-selector": app, "spark-role": role}
    resources = {"requests": {"cpu": "2", "memory": "4Gi"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "annotations": notes, "ownerReferences": list(owners)},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none", "resources": resources}]},
    }


def quiet(query: str) -> bool:
    """Whether the query may rightly have nothing to show here."""
    return bool({name for name, _ in selectors(query)} & TROUBLE)


def test_every_panel_shows_something(busy: Any) -> None:
    """Prometheus accepts every query, and those that have something to show do."""
    import httpx2  # noqa: PLC0415 - needs the lab

    empty = []
    for place, query in queries().items():
        reply = httpx2.get(f"{busy.site.url('prometheus')}/api/v1/query", params={"query": query}).json()
        assert reply["status"] == "success", f"{place}: {reply}"
        if not reply["data"]["result"] and not place.startswith("alert") and not quiet(query):
            empty.append(place)
    # What was refused at the filter depends on how full the nodes happened to be.
    assert [place for place in empty if "refused at the filter" not in place] == []


def test_no_alert_fires_on_a_healthy_cluster(busy: Any) -> None:
    """Nothing is down, stale or leaderless while everything works."""
    import httpx2  # noqa: PLC0415 - needs the lab

    for name in ("ExtenderDown", "SamplesStale", "OperatorWithoutLeader", "TwoLeaders", "StallDetected", "Errors"):
        query = queries()[f"alert: Slackwater{name}"]
        reply = httpx2.get(f"{busy.site.url('prometheus')}/api/v1/query", params={"query": query}).json()
        assert reply["data"]["result"] == [], name


def test_the_programs_were_never_refused(busy: Any) -> None:
    """Extender and operator ran under their own accounts; each right they needed is in the chart."""
    for name in ("extender", "operator"):
        log = busy.processes.log(name).read_text(encoding="utf-8")
        assert [line for line in log.splitlines() if "forbidden" in line.lower()][:3] == []


@pytest.mark.parametrize(
    ("panel", "low", "high"),
    [
        ("efficiency: Used of requested cpu A", 0.25, 0.65),
        ("efficiency: Used of requested memory A", 0.2, 0.45),
        ("efficiency: Used of declared cpu, managed apps A", 0.2, 0.45),
    ],
    ids=["cpu", "memory", "declared"],
)
def test_efficiency_is_what_the_pods_really_use(busy: Any, panel: str, low: float, high: float) -> None:
    """Executors use 600m of 2 declared cores (1 native) and 1 of 4 GiB; drivers are never lowered."""
    import httpx2  # noqa: PLC0415 - needs the lab

    asked = {"query": f"avg_over_time(({queries()[panel]})[30s:2s])"}
    (found,) = httpx2.get(f"{busy.site.url('prometheus')}/api/v1/query", params=asked).json()["data"]["result"]
    assert low < float(found["value"][1]) < high


def test_every_dashboard_can_be_looked_at(busy: Any, tmp_path: Path) -> None:
    """Each becomes a picture with its panels' series: `SLACKWATER_PICTURES=FOLDER` keeps them."""
    spec = importlib.util.spec_from_file_location("panels", ROOT / "docs" / "scripts" / "panels.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    folder = Path(os.environ.get("SLACKWATER_PICTURES", tmp_path))
    found = module.sheets(busy.site.url("prometheus"), folder, minutes=2.0)
    assert {path.stem for path in folder.glob("*.png")} >= set(found) == set(dashboards())
    assert all(any(counts.values()) for counts in found.values()), found
