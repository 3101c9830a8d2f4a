"""What a run in the lab takes: CPU time of each process, requests to the API server, seconds inside the servers."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import httpx2
import psutil

from slackwater_lab.controlplane.access import administrator_token
from slackwater_lab.lab import Lab

REQUEST = re.compile(r"^apiserver_request_total\{([^}]*)\} (\S+)$", re.MULTILINE)
ADMISSION = re.compile(
    r"^apiserver_admission_controller_admission_duration_seconds_sum\{([^}]*)\} (\S+)$", re.MULTILINE
)
LABEL = re.compile(r'(\w+)="([^"]*)"')
CLIENT = "bench"


@dataclass(frozen=True, slots=True)
class Cost:
    """Sums since the lab was started; the difference of two is what happened between them."""

    cpu: Mapping[str, float]  # seconds by process
    requests: Mapping[str, float]  # by verb and resource
    admission: Mapping[str, float]  # seconds (not of CPU) a request spent in admission, by plugin and operation

    def __sub__(self, before: Cost) -> Cost:
        return Cost(
            _less(self.cpu, before.cpu), _less(self.requests, before.requests), _less(self.admission, before.admission)
        )

    @property
    def total_requests(self) -> float:
        """All requests to the API server but watches."""
        return sum(self.requests.values())

    @property
    def ours(self) -> float:
        """CPU seconds of extender and operator."""
        return self.cpu.get("extender", 0.0) + self.cpu.get("operator", 0.0)


def costs(lab: Lab) -> Cost:
    """The sums as they are now."""
    alive = {started.name: started.pid for started in lab.processes.all() if started.alive}
    cpu = {name: _cpu(pid) for name, pid in alive.items()} | {CLIENT: sum(os.times()[:2])}
    text = _metrics(lab)
    return Cost(cpu, _requests(text), _admission(text))


def _metrics(lab: Lab) -> str:
    headers = {"Authorization": f"Bearer {administrator_token(lab.site)}"}
    url = f"{lab.site.url('apiserver', 'https')}/metrics"
    return httpx2.get(url, headers=headers, verify=False, timeout=30).text


def _requests(text: str) -> dict[str, float]:
    found: defaultdict[str, float] = defaultdict(float)
    for labels, value in REQUEST.findall(text):
        known = dict(LABEL.findall(labels))
        if known["verb"] != "WATCH":
            part = f"/{known['subresource']}" if known.get("subresource") else ""
            found[f"{known['verb']} {known.get('resource', '')}{part}"] += float(value)
    return dict(found)


def _admission(text: str) -> dict[str, float]:
    found: defaultdict[str, float] = defaultdict(float)
    for labels, value in ADMISSION.findall(text):
        known = dict(LABEL.findall(labels))
        found[f"{known['name']} {known['operation']}"] += float(value)
    return dict(found)


def _cpu(pid: int) -> float:
    """Seconds of a process and its children."""
    head = psutil.Process(pid)
    times = [each.cpu_times() for each in [head, *head.children(recursive=True)]]
    return float(sum(each.user + each.system for each in times))


def _less(now: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    # A process that was started in between began at nothing.
    return {
        name: value - before.get(name, 0.0) if value >= before.get(name, 0.0) else value for name, value in now.items()
    }
