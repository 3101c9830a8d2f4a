"""The monitor meets bad answers of API server, extender and Prometheus: pages answer, and later they show the truth.

It watches nothing: each look lists everything. So there are no events that could be late, lost or told twice.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from slackwater_cluster.api.endpoint import Endpoint
from slackwater_lab.controlplane import access
from slackwater_lab.faults import requests
from slackwater_lab.faults.behind import detour
from slackwater_lab.faults.proxy import FaultProxy
from slackwater_lab.faults.rules import Fault, Reading
from slackwater_lab.lab import Lab
from slackwater_lab.processes.stealtime import Stopwatch
from slackwater_monitor.sources.live import FRESH
from slackwater_monitor.sources.prometheus import PAUSE
from support.lab.testcluster import Field
from support.lab.testnamespace import Ground, until

pytestmark = pytest.mark.lab
Tell = Callable[[str], None]
LONGEST = 60.0  # seconds a page may take on a slow machine
BAD = tuple(each for each in Reading if each is not Reading.GOOD)
ANSWERED = tuple(fault for fault in Fault if fault is not Fault.KILLED)
DRAWN = re.compile(r"<svg.*?</svg>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
NUMBER = re.compile(r"[\d.,:]+")


@dataclass
class Monitor:
    """A monitor process."""

    url: str
    server: str  # where it believes the API server to be

    def page(self, path: str) -> httpx2.Response:
        """One page, whatever its status."""
        return httpx2.get(f"{self.url}{path}", timeout=LONGEST)

    def words(self, path: str) -> list[str]:
        """What a page says, without drawings, numbers that move from second to second, and the server's address."""
        reply = self.page(path)
        if not reply.is_success:  # what it has read last may still be nothing
            return [f"{reply.status_code}"]
        text = reply.text.replace(self.server, "")
        return [
            line.strip() for line in NUMBER.sub("#", TAG.sub("\n", DRAWN.sub("", text))).splitlines() if line.strip()
        ]

    def problems(self) -> Sequence[str]:
        """What could not be read."""
        found: list[str] = self.page("/api/snapshot").raise_for_status().json()["problems"]
        return found


@dataclass
class Pair:
    """A monitor that meets faults, one that meets none, what stands between, and the pages that both have."""

    troubled: Monitor
    calm: Monitor
    server: FaultProxy
    prometheus: FaultProxy
    extender: FaultProxy
    pages: Sequence[str]

    @property
    def proxies(self) -> Sequence[FaultProxy]:
        """Everything that stands between."""
        return self.server, self.prometheus, self.extender

    def read(self, how: Reading) -> None:
        """From now on every answer is like this."""
        for proxy in self.proxies:
            proxy.reading = how

    def asked(self) -> float:
        """Seconds that the slowest page took; each is one, or a sentence that says what is wrong."""
        time.sleep(FRESH + 0.1)  # else a look from before would be shown
        slowest = 0.0
        for path in self.pages:
            began = time.monotonic()
            reply = self.troubled.page(path)
            assert reply.status_code in (200, 404, 503), (path, reply.status_code, reply.text[:300])
            slowest = max(slowest, time.monotonic() - began)
        return slowest

    def meets(self, how: Reading) -> float:
        """The same while every answer is like this, until it was met at the API server and at the extender.

        A look that began before may be shown for a while. Prometheus is left alone after each bad answer, so that it
        need not meet each.
        """
        self.read(how)
        slowest, watch = self.asked(), Stopwatch()
        while not all(proxy.told[f"{requests.READ}: {how}"] for proxy in (self.server, self.extender)):
            assert watch.seconds < LONGEST, (self.server.told, self.extender.told)
            slowest = max(slowest, self.asked())
        return slowest

    def differences(self) -> list[str]:
        """Where both do not show the same, in a line each."""
        found = [f"problems: {each}" for each in self.troubled.problems()]
        for path in self.pages:
            one, other = self.troubled.words(path), self.calm.words(path)
            if one != other:
                odd = next(((a, b) for a, b in zip(one, other, strict=False) if a != b), (len(one), len(other)))
                found.append(f"{path}: {odd[0]!r}, without faults {odd[1]!r}")
        return found


@contextmanager
def started(lab: Lab, name: str, server: str, kubeconfig: Path, prometheus: str, extender: str) -> Iterator[Monitor]:
    """A monitor with its own way to everybody it asks."""
    settings = {
        "PORT": str(_free_port()),
        "KUBECONFIG": str(kubeconfig),
        "PROMETHEUS_URL": prometheus,
        "EXTENDER_URL": extender,
        "INTERVAL": "2",
    }
    environment = os.environ | {f"SLACKWATER_MONITOR_{key}": value for key, value in settings.items()}
    with (lab.site.folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "slackwater_monitor.main"], env=environment, stderr=log)
    made = Monitor(f"http://127.0.0.1:{settings['PORT']}", server)
    try:
        until(f"{name} serves", lambda: _serves(made), 60, 0.3)
        yield made
    finally:
        process.terminate()
        process.wait(30)


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def _serves(monitor: Monitor) -> bool:
    try:
        return monitor.page("/healthz").is_success
    except httpx2.HTTPError:
        return False


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
    lab = arena.own_lab()
    site, server = lab.site, access.endpoint(lab.site)
    pages = ["/", "/nodes", "/queue", "/pools", "/apps"]
    pages += [f"/nodes/{ground.nodes[0]}", f"/apps/{ground.name}/long", f"/pods/{ground.name}/task-0"]
    with ExitStack() as stack:
        plain = [Endpoint(site.url(name), tls=False, headers=dict) for name in ("prometheus", "extender")]
        proxies = [stack.enter_context(FaultProxy(where)) for where in (server, *plain)]
        for proxy in proxies:
            proxy.reading = Reading.REFUSED
        way = detour(site.kubeconfig, "monitor", proxies[0].url)
        urls = [proxy.url for proxy in proxies]
        troubled = stack.enter_context(started(lab, "monitor-troubled", urls[0], way, urls[1], urls[2]))
        others = (server.url, site.kubeconfig, site.url("prometheus"), site.url("extender"))
        calm = stack.enter_context(started(lab, "monitor-calm", *others))
        first, second, third = proxies
        yield Pair(troubled, calm, first, second, third, pages)


def test_pages_answer_through_bad_answers_and_show_the_truth_afterwards(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, tell: Tell
) -> None:
    """Refused, late, half or wrong: a page or a sentence, never an error; then all that the calm one shows."""
    monkeypatch.setattr("slackwater_lab.faults.proxy.LATE_SECONDS", 0.5)
    for how in BAD:
        tell(f"{how}: slowest page {pair.meets(how):.1f} s")
    assert pair.prometheus.told
    pair.read(Reading.GOOD)
    for proxy in pair.proxies:
        proxy.arm_round((requests.READ,), ANSWERED)
    tell(f"every second answer 409, 410, 429, 500, lost or none: slowest page {pair.asked():.1f} s")
    for proxy in pair.proxies:
        proxy.disarm()
    watch = Stopwatch()
    while odd := pair.differences():
        assert watch.seconds < PAUSE + 30, odd
        time.sleep(1.0)
    tell(f"the same as without faults after {watch.seconds:.1f} s")
    assert any("long" in line for line in pair.troubled.words("/apps")), "there is an app to show"
