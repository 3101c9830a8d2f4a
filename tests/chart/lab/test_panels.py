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

from support.chart import CHART, ROOT
from support.promql import dashboards, queries, selectors

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

APPS, TASKS = 4, 24
# Counters that only appear when something goes wrong, or that a quiet cluster never touches.
TROUBLE = {
    "slackwater_extender_rejected_requests_total",
    "slackwater_extender_errors_total",
    "slackwater_extender_dropped_samples_total",
    "slackwater_operator_errors_total",
    "slackwater_operator_stalls_total",
    "slackwater_operator_nominations_moved_total",
}


@pytest.fixture(scope="module")
def busy() -> Iterator[Any]:
    """A lab with all our programs, more apps than fit at once, and half a minute of measurements."""
    labs = pytest.importorskip("slackwater_lab.lab", reason="the lab is not installed here")
    builds = pytest.importorskip("slackwater_lab.builds")
    plan = pytest.importorskip("slackwater_lab.plan").Plan()
    if builds.missing(plan.programs()):
        pytest.skip("the lab's programs are not built; run: python -m slackwater_lab build")
    from support.kube import Kube  # noqa: PLC0415 - needs the lab

    with labs.Lab.start("chart-panels", nodes=3) as lab, Kube(lab.site) as kube:
        submit(kube)
        time.sleep(45)
        yield lab


def submit(kube: Any) -> None:
    """Spark-like apps under mode enforce."""
    kube.patch(
        "/apis/slackwater.io/v1alpha1/slackpolicies/default",
        {"spec": {"mode": "enforce"}},
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
    asked = {name for name, _ in selectors(query)}
    # The lab's kube-state-metrics runs without our configuration and without pod labels; it is tried below.
    return bool(asked & TROUBLE) or any(name.startswith(("slackwater_app_", "slackwater_queue_")) for name in asked)


def test_every_panel_shows_something(busy: Any) -> None:
    """Prometheus accepts every query, and those that have something to show do."""
    import httpx2  # noqa: PLC0415 - needs the lab

    empty = []
    for place, query in queries().items():
        reply = httpx2.get(f"{busy.site.url('prometheus')}/api/v1/query", params={"query": query}).json()
        assert reply["status"] == "success", f"{place}: {reply}"
        if (
            not reply["data"]["result"]
            and not place.startswith("alert")
            and "by user" not in place
            and not quiet(query)
        ):
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


def test_kube_state_metrics_reads_queues_and_apps(busy: Any, tmp_path: Path) -> None:
    """The real kube-state-metrics makes the series of the driver-budget panels from our configuration."""
    import httpx2  # noqa: PLC0415 - needs the lab

    from slackwater_lab.builds import built  # noqa: PLC0415
    from slackwater_lab.waiting import until  # noqa: PLC0415

    port, other = busy.site.ports["operator-2"], busy.site.ports["operator-2-health"]
    command = [
        built("kube-state-metrics"),
        f"--kubeconfig={busy.site.kubeconfig}",
        "--custom-resource-state-only",
        f"--custom-resource-state-config-file={CHART / 'files' / 'metrics' / 'kube-state-metrics.yaml'}",
        "--host=127.0.0.1",
        f"--port={port}",
        "--telemetry-host=127.0.0.1",
        f"--telemetry-port={other}",
    ]
    busy.processes.start("state-metrics-ours", command)

    def page() -> str:
        try:
            return httpx2.get(f"http://127.0.0.1:{port}/metrics").text
        except httpx2.TransportError:
            return ""

    wanted = (
        "slackwater_queue_capacity{",
        "slackwater_queue_reservation{",
        "slackwater_queue_budget{",
        "slackwater_app_declared{",
        "slackwater_app_used{",
    )
    until("our series are there", lambda: all(name in page() for name in wanted), 30.0)
    busy.processes.stop("state-metrics-ours")


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
