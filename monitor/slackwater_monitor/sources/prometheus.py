"""What Prometheus adds to a live cluster: the hours before the monitor began to look, and the use of single pods."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from slackwater.errors import Unavailable
from slackwater_cluster.prometheus.client import Prometheus
from slackwater_monitor.sources.views import Amounts, TimeSeries

Answer = TypeVar("Answer")

PAUSE = 10.0  # seconds without a question after one that was not answered: pages wait for none of them meanwhile
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


class Measured:
    """One Prometheus. What it cannot answer is left out: the page is complete without it."""

    def __init__(self, server: Prometheus, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.server, self._clock, self._next = server, clock, 0.0

    def _ask(self, question: Callable[[], Answer]) -> Answer | None:
        """The answer; None without one, and for a pause after that."""
        if self._clock() < self._next:
            return None
        try:
            return question()
        except (Unavailable, ValueError):  # no answer, or numbers that are none
            self._next = self._clock() + PAUSE
            return None

    def history(self, until: float) -> TimeSeries | None:
        """Sums over all pods before a moment, at times of which all is known; None without an answer."""
        return self._ask(lambda: self._history(until))

    def _history(self, until: float) -> TimeSeries:
        found: dict[str, dict[str, Mapping[float, float]]] = {}
        for kind, use in USE.items():
            asked = {
                "allocatable": ALLOCATABLE.format(kind=kind),
                "requested": REQUESTS.replace("{kind}", kind),
                "used": f"sum({use.replace('{more}', '')})",
            }
            found[kind] = {line: self._range(query, until) for line, query in asked.items()}
        # A gap in scraping ends sooner for some lines than for others.
        times = sorted(set.intersection(*(set(line) for each in found.values() for line in each.values())))
        lines = {
            kind: {line: [values[at] for at in times] for line, values in each.items()} for kind, each in found.items()
        }
        return TimeSeries(times, lines)

    def _range(self, query: str, until: float) -> Mapping[float, float]:
        series = self.server.range(query, until - BACK, until, STEP)
        return {float(at): float(value) for each in series[:1] for at, value in each.values}

    def idle(self, at: float) -> dict[str, float]:
        """Cores that do nothing by reason, as the operator counts them; empty where nobody scrapes it."""
        return {labels.get("reason", ""): value for labels, value in self._vector(IDLE, at)}

    def pods(self, namespace: str, at: float) -> dict[str, Amounts]:
        """What each pod of a namespace uses."""
        found: dict[str, dict[str, float]] = {}
        more = f',namespace="{namespace}"'
        for kind, use in USE.items():
            query = f"sum by (pod) ({use.replace('{more}', more)})"
            for labels, value in self._vector(query, at):
                found.setdefault(labels.get("pod", ""), {})[kind] = value
        return dict(found)

    def _vector(self, query: str, at: float) -> list[tuple[dict[str, str], float]]:
        """Labels and values at one moment."""
        return self._ask(lambda: list(self.server.instant(query, at))) or []
