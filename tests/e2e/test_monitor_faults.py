"""The monitor meets bad answers of API server and Prometheus: its pages answer, and afterwards they show the truth."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from slackwater_cluster.api.endpoint import Endpoint
from slackwater_lab.controlplane import access
from slackwater_lab.faults.behind import detour
from slackwater_lab.faults.proxy import FaultProxy
from slackwater_lab.faults.rules import Reading
from slackwater_lab.lab import Lab
from slackwater_monitor.sources.prometheus import PAUSE
from support.lab.testcluster import Field
from support.lab.testnamespace import Ground, until

pytestmark = pytest.mark.lab
Tell = Callable[[str], None]
PAGES = ("/", "/nodes", "/queue", "/pools", "/apps", "/what-if", "/api/snapshot")
LONGEST = 60.0  # seconds a page may take on a slow machine: some reads one after the other, each two seconds late
BAD = tuple(each for each in Reading if each is not Reading.GOOD)


@dataclass
class Monitor:
    """A monitor process."""

    url: str

    def page(self, path: str) -> httpx2.Response:
        """One page, whatever its status."""
        return httpx2.get(f"{self.url}{path}", timeout=LONGEST)

    def essence(self) -> Mapping[str, Any]:
        """What it knows of the cluster, without what is measured anew every second."""
        found = self.page("/api/snapshot").raise_for_status().json()
        return {
            "nodes": sorted((each["name"], each["allocatable"], each["stale"]) for each in found["nodes"]),
            "apps": sorted((each["namespace"], each["name"], each["phase"]) for each in found["apps"]),
            "queues": sorted(each["name"] for each in found["queues"]),
            "pools": sorted(each["name"] for each in found["pools"]),
            "idle": sorted(found["idle"]),
            "problems": found["problems"],
        }


@contextmanager
def started(lab: Lab, name: str, port: int, kubeconfig: Path, prometheus: str) -> Iterator[Monitor]:
    """A monitor with its own way to API server and Prometheus."""
    settings = {
        "PORT": str(port),
        "KUBECONFIG": str(kubeconfig),
        "PROMETHEUS_URL": prometheus,
        "EXTENDER_URL": lab.site.url("extender"),
        "INTERVAL": "2",
    }
    environment = os.environ | {f"SLACKWATER_MONITOR_{key}": value for key, value in settings.items()}
    with (lab.site.folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "slackwater_monitor.main"], env=environment, stderr=log)
    made = Monitor(f"http://127.0.0.1:{port}")
    try:
        until(f"{name} serves", lambda: _serves(made), 60, 0.3)
        yield made
    finally:
        process.terminate()
        process.wait(30)


def _serves(monitor: Monitor) -> bool:
    try:
        return monitor.page("/healthz").is_success
    except httpx2.HTTPError:
        return False


@dataclass
class Pair:
    """A monitor that meets faults, one that meets none, and what stands between."""

    troubled: Monitor
    calm: Monitor
    proxies: tuple[FaultProxy, FaultProxy]

    def read(self, how: Reading) -> None:
        """From now on every answer is like this."""
        for proxy in self.proxies:
            proxy.reading = how


@pytest.fixture
def ground(arena: Field) -> Iterator[Ground]:
    """An app that fills its nodes, so that something waits and something runs for as long as it is looked at."""
    with arena.ground("watched", nodes=2) as made:
        made.create(made.pod(f"task-{number}", app="long", lasts=600.0) for number in range(20))
        made.until_bound(8, 60)
        yield made


@pytest.fixture
def pair(arena: Field, ground: Ground) -> Iterator[Pair]:
    """Both monitors; the troubled one meets faults from its very first question on."""
    del ground
    lab = arena.own_lab()
    server, prometheus = access.endpoint(lab.site), Endpoint(lab.site.url("prometheus"), tls=False, headers=dict)
    port = 24_900 + os.getpid() % 90
    with FaultProxy(server) as first, FaultProxy(prometheus) as second:
        first.reading = second.reading = Reading.REFUSED
        way = detour(lab.site.kubeconfig, "monitor", first.url)
        with (
            started(lab, "monitor-troubled", port, way, second.url) as troubled,
            started(lab, "monitor-calm", port + 90, lab.site.kubeconfig, prometheus.url) as calm,
        ):
            yield Pair(troubled, calm, (first, second))


def test_pages_answer_through_bad_answers_and_show_the_truth_afterwards(pair: Pair, tell: Tell) -> None:
    """Refused, late, half or wrong: a page or a sentence, never an error; then all that the calm one shows."""
    for how in BAD:
        pair.read(how)
        slowest = max(_asked(pair.troubled, path, how) for path in PAGES)
        tell(f"{how}: slowest page {slowest:.1f} s")
    asked = [sum(proxy.told.values()) for proxy in pair.proxies]
    assert min(asked) >= len(BAD), "each met each kind of trouble"
    pair.read(Reading.GOOD)
    until(
        "both show the same",
        lambda: (known := pair.troubled.essence()) == pair.calm.essence() and not known["problems"],
        PAUSE + 60,
        1.0,
    )
    assert pair.troubled.essence()["apps"], "there is an app to show"
    for path in PAGES:
        assert pair.troubled.page(path).status_code == 200


def _asked(monitor: Monitor, path: str, how: Reading) -> float:
    """Seconds that a page took; its answer says what is wrong."""
    time.sleep(2.1)  # a snapshot is kept for two seconds
    began = time.monotonic()
    reply = monitor.page(path)
    assert reply.status_code in (200, 503), (how, path, reply.status_code, reply.text[:300])
    return time.monotonic() - began
