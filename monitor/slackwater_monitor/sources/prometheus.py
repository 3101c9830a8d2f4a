"""What Prometheus adds to a live cluster: the hours before the monitor began to look, and the use of single pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slackwater.errors import Unavailable
from slackwater_cluster.prometheus.client import Prometheus
from slackwater_monitor.sources.views import Amounts, TimeSeries

BACK = 6 * 3600.0  # seconds shown before the monitor's own memory begins
STEP = 60.0
# Two kubelet endpoints may deliver the same container: the larger counts once.
ONE = "max by (namespace, pod, container)"
CPU = f'{ONE} (rate(container_cpu_usage_seconds_total{{container!="",container!="POD"{{more}}}}[2m]))'
MEMORY = f'{ONE} (container_memory_working_set_bytes{{container!="",container!="POD"{{more}}}})'
RUNNING = 'on (namespace, pod) group_left () (max by (namespace, pod) (kube_pod_status_phase{phase="Running"}) == 1)'
REQUESTS = f'sum({ONE} (kube_pod_container_resource_requests{{resource="{{kind}}"}}) * {RUNNING})'
ALLOCATABLE = 'sum(max by (node) (kube_node_status_allocatable{{resource="{kind}"}}))'
IDLE = "max by (reason) (slackwater_idle_cores)"  # of two operators only the leader counts
USE = {"cpu": CPU, "memory": MEMORY}


@dataclass(frozen=True, slots=True)
class Measured:
    """One Prometheus. What it cannot answer is left out: the page is complete without it."""

    server: Prometheus

    def history(self, until: float) -> TimeSeries:
        """Sums over all pods in the hours before a moment; empty where something is missing."""
        lines: dict[str, dict[str, Sequence[float]]] = {}
        times: list[float] = []
        for kind, use in USE.items():
            asked = {
                "allocatable": ALLOCATABLE.format(kind=kind),
                "requested": REQUESTS.replace("{kind}", kind),
                "used": f"sum({use.replace('{more}', '')})",
            }
            found = {line: self._range(query, until) for line, query in asked.items()}
            common = set.intersection(*(set(each) for each in found.values()))
            times = sorted(common) if not times else [at for at in times if at in common]
            lines[kind] = {line: [each[at] for at in sorted(common)] for line, each in found.items()}
        if any(len(values) != len(times) for each in lines.values() for values in each.values()):
            return TimeSeries()
        return TimeSeries(times, lines)

    def _range(self, query: str, until: float) -> Mapping[float, float]:
        try:
            series = self.server.range(query, until - BACK, until, STEP)
        except Unavailable:
            return {}
        return {float(at): float(value) for each in series[:1] for at, value in each.values}

    def idle(self, at: float) -> dict[str, float]:
        """Cores that do nothing by reason, as the operator counts them; empty where nobody scrapes it."""
        try:
            return {labels.get("reason", ""): value for labels, value in self.server.instant(IDLE, at)}
        except Unavailable:
            return {}

    def pods(self, namespace: str, at: float) -> dict[str, Amounts]:
        """What each pod of a namespace uses."""
        found: dict[str, dict[str, float]] = {}
        more = f',namespace="{namespace}"'
        for kind, use in USE.items():
            query = f"sum by (pod) ({use.replace('{more}', more)})"
            try:
                for labels, value in self.server.instant(query, at):
                    found.setdefault(labels.get("pod", ""), {})[kind] = value
            except Unavailable:
                continue
        return dict(found)
