"""Measures what our programs take, for the chart's requests: `python docs/scripts/sizes.py [NODES] [PODS]` on a lab.

A lab of its own with every program under the chart's accounts and a monitor beside them; pods of Spark-like apps come,
run and end. Printed: the most memory, between what is certainly a program's own and what it has mapped, and CPU.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import psutil

from slackwater_cluster.api.client import ApiClient
from slackwater_lab.lab import Lab
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import Plan
from slackwater_lab.site import open_site

PROGRAMS = ("extender", "operator", "slackwater-scheduler", "monitor")
TASKS = 24  # of one app
MIB = 2**20
MINUTE = 60.0


def main(nodes: int, pods: int) -> None:
    """Start, load, measure, stop."""
    values = ("policy.spec.mode=enforce",)
    lab = Lab(open_site("chart-sizes"), Plan(nodes=nodes, shape=Shape(cpu="16", memory="64Gi"), values=values))
    try:
        lab.up()
        monitor(lab)
        watched = {name: family(lab, name) for name in PROGRAMS}
        before = {name: spent(each) for name, each in watched.items()}
        with lab.api() as api:
            load(api, pods)
        peak = look(watched, MINUTE)
        for name, each in watched.items():
            (least, most), cpu = peak[name], spent(each) - before[name]
            print(f"{name:22} {least:5.0f} to {most:5.0f} MiB, {cpu:5.1f} s of CPU")  # noqa: T201
    finally:
        lab.down()


def monitor(lab: Lab) -> None:
    """The dashboard as a further process of the lab."""
    program = str(Path(sys.executable).with_name("slackwater-monitor"))
    settings = {
        "SLACKWATER_MONITOR_KUBECONFIG": str(lab.site.kubeconfig),
        "SLACKWATER_MONITOR_EXTENDER_URL": lab.site.url("extender"),
        "SLACKWATER_MONITOR_PROMETHEUS_URL": lab.site.url("prometheus"),
        "SLACKWATER_MONITOR_PORT": str(lab.site.ports["operator-2"]),
    }
    lab.processes.start("monitor", [program], settings)


def family(lab: Lab, name: str) -> list[psutil.Process]:
    """A program and what it forked (gunicorn has a worker)."""
    started = lab.processes.find(name)
    if started is None:
        sys.exit(f"{name} does not run")
    time.sleep(1)
    first = psutil.Process(started.pid)
    return [first, *first.children(recursive=True)]


def memory(members: list[psutil.Process]) -> tuple[float, float]:
    """MiB: shared pages in proportion (too little: others of the lab share them), and in full for each process."""
    told = [each.memory_full_info() for each in members]
    return sum(each.pss for each in told) / MIB, sum(each.rss for each in told) / MIB


def spent(members: list[psutil.Process]) -> float:
    """Seconds of CPU so far."""
    return sum(sum(each.cpu_times()[:2]) for each in members)


def look(watched: dict[str, list[psutil.Process]], seconds: float) -> dict[str, tuple[float, float]]:
    """The most memory seen within a time."""
    peak = dict.fromkeys(watched, (0.0, 0.0))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        peak = {name: max(peak[name], memory(each)) for name, each in watched.items()}
        time.sleep(0.5)
    return peak


def load(api: ApiClient, pods: int) -> None:
    """Apps of a driver and its executors in a managed namespace."""
    api.create("/api/v1/namespaces", {"metadata": {"name": "sizes", "labels": {"slackwater.io/managed": "true"}}})
    time.sleep(5)  # the account of a new namespace, and the policy's 3 s
    path = "/api/v1/namespaces/sizes/pods"
    for app in range(pods // (TASKS + 1)):
        driver = api.create(path, pod(f"app{app}-driver", f"app{app}", "driver")) or {"metadata": {}}
        owner = {"apiVersion": "v1", "kind": "Pod", "controller": True}
        owner |= {key: driver["metadata"][key] for key in ("name", "uid")}
        for task in range(TASKS):
            api.create(path, pod(f"app{app}-{task}", f"app{app}", "executor", owner))


def pod(name: str, app: str, role: str, *owners: dict[str, object]) -> dict[str, object]:
    """A pod that asks for a core, uses a third of it and lives half a minute."""
    notes = {
        "slackwater.io/lab-duration": "30" if role == "executor" else "300",
        "kwok.x-k8s.io/usage-cpu": "300m",
        "kwok.x-k8s.io/usage-memory": "500Mi",
    }
    labels = {"spark-app-selector": app, "spark-role": role}
    resources = {"requests": {"cpu": "1", "memory": "2Gi"}}
    return {
        "metadata": {"name": name, "labels": labels, "annotations": notes, "ownerReferences": list(owners)},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none", "resources": resources}]},
    }


if __name__ == "__main__":
    main(*(int(word) for word in [*sys.argv[1:3], *("20", "500")[len(sys.argv[1:3]) :]]))
