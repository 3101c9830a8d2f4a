"""Thousands of held pods in a lab, and what they cost: writes the API server saw, CPU of each process, moments."""

from __future__ import annotations

import asyncio
import re
import ssl
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import httpx2
import psutil

from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.session import Session
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.watch.reflector import Reflector
from slackwater_cluster.watch.sources import PODS
from slackwater_lab.controlplane.access import administrator_token
from slackwater_lab.lab import Lab

UNGATE = {"spec": {"schedulingGates": [{"$patch": "delete", "name": "slackwater.io/admission"}]}}
WRITING = ("POST", "PUT", "PATCH", "DELETE", "APPLY")
COUNTED = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)


def task(name: str, app: str) -> dict[str, Any]:
    """A small task of an app, which runs until it is deleted."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"slackwater.io/app": app, "slackwater.io/role": "task"},
            "annotations": {"slackwater.io/lab-duration": "100000"},
        },
        "spec": {
            "restartPolicy": "Never",
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "m", "image": "none", "resources": {"requests": {"cpu": "50m", "memory": "8Mi"}}}],
        },
    }


def write_all(lab: Lab, method: str, paths: Sequence[str], bodies: Sequence[Any], kind: str) -> float:
    """Write everything, sixteen at once; returns writes per second."""

    async def run() -> float:
        async with Session(endpoint(lab.site.kubeconfig), in_flight=16) as session:
            began = time.monotonic()
            writes = (session.write(method, p, b, content_type=kind) for p, b in zip(paths, bodies, strict=True))
            answers = await asyncio.gather(*writes)
            assert all(answer.ok for answer in answers), answers[0].message()
            return len(paths) / (time.monotonic() - began)

    return asyncio.run(run())


def writes(lab: Lab) -> Counter[tuple[str, str]]:
    """Writes the API server has answered so far, by verb and resource (with its subresource)."""
    headers = {"Authorization": f"Bearer {administrator_token(lab.site)}"}
    trusted = ssl.create_default_context(cafile=str(lab.site.certificates / "ca.crt"))
    answer = httpx2.get(f"{lab.site.url('apiserver', 'https')}/metrics", headers=headers, verify=trusted, timeout=30)
    found: Counter[tuple[str, str]] = Counter()
    for labels, value in COUNTED.findall(answer.text):
        said = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        if said["verb"] in WRITING:
            found[said["verb"], "/".join(filter(None, (said["resource"], said["subresource"])))] += round(float(value))
    return found


def scraped(port: int, name: str) -> float:
    """The sum of one metric of a program on this machine; 0 while it does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            text = answer.read().decode()
    except OSError:
        return 0.0
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE))


@dataclass
class Shares:
    """CPU seconds of each process between two moments, as shares of one core."""

    pids: Mapping[str, int]
    _at: float = field(default_factory=time.monotonic)
    _before: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._before = {name: _seconds(pid) for name, pid in self.pids.items()}

    @classmethod
    def of(cls, lab: Lab, **others: int) -> Self:
        """Every process of the lab, and some more."""
        return cls({**{each.name: each.pid for each in lab.processes.all() if each.alive}, **others})

    def taken(self) -> dict[str, float]:
        """Cores each process took on average since the beginning, most first."""
        span = time.monotonic() - self._at
        found = {name: (_seconds(pid) - self._before[name]) / span for name, pid in self.pids.items()}
        return dict(sorted(found.items(), key=lambda each: -each[1]))


def _seconds(pid: int) -> float:
    family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return sum(sum(each.cpu_times()[:2]) for each in family)


class Witness:
    """Watches pods from the outside and notes when each lost its gate and when each vanished."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.lifted: dict[str, float] = {}
        self.gone: dict[str, float] = {}
        self._held: set[str] = set()
        self._ready, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    async def _run(self) -> None:
        async with Session(endpoint(self._lab.site.kubeconfig)) as session:
            watching = asyncio.create_task(Reflector(session, PODS, self).run())
            await asyncio.to_thread(self._stop.wait)
            watching.cancel()

    def changed(self, records: Sequence[PodRecord]) -> None:
        """Gates that are gone."""
        now = time.monotonic()
        for pod in records:
            if pod.gates:
                self._held.add(pod.name)
            elif pod.name in self._held:
                self.lifted.setdefault(pod.name, now)

    def vanished(self, records: Sequence[PodRecord]) -> None:
        """Pods that are gone."""
        now = time.monotonic()
        self.gone.update({pod.name: now for pod in records})

    def synced(self) -> None:
        """The first list is complete."""
        self._ready.set()
