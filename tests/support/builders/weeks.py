"""A generated week of a small cluster: raw samples in memory, in a real Prometheus, and computed by hand."""

from __future__ import annotations

import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket

import numpy as np
from numpy.typing import NDArray

END = 1_768_176_000  # 2026-01-12 00:00 UTC
DAY = 86400
SCRAPE = 60  # seconds between samples of use
STATE = 240  # seconds between samples of kube-state-metrics; odd on purpose
GIBI = 1024**3
Floats = NDArray[np.float64]
TOOLS = all(shutil.which(program) for program in ("prometheus", "promtool"))


@dataclass
class Container:
    """One container: when it lived, what it asked for, and its raw samples."""

    namespace: str
    pod: str
    name: str
    node: str
    start: int
    end: int
    cpu: float
    memory: float
    labels: dict[str, str] = field(default_factory=dict)
    owner: tuple[str, str] = ("", "")
    created: int = 0
    at: Floats = field(default_factory=lambda: np.zeros(0))  # seconds of its samples
    counter: Floats = field(default_factory=lambda: np.zeros(0))  # CPU seconds
    bytes: Floats = field(default_factory=lambda: np.zeros(0))  # memory


def week(days: int = 7, seed: int = 3, gap: tuple[int, int] | None = None) -> list[Container]:
    """Services that run all the time, and Spark jobs of a driver and executors; `gap` (days) was never scraped."""
    rng = np.random.default_rng(seed)
    begin = END - days * DAY
    made = [
        Container("shop", f"web-{n}", "app", f"n{n % 3}", begin, END, 2.0, 4 * GIBI, owner=("ReplicaSet", "web-7d9"))
        for n in range(3)
    ]
    made += [Container("shop", "web-0", "proxy", "n0", begin, END, 0.0, 0.0, owner=("ReplicaSet", "web-7d9"))]
    for job in range(2 * days):
        at = begin + 3600 + job * DAY // 2
        app, user = f"spark-{job:04d}", ("ann", "bob")[job % 2]
        labels = {"spark_app_selector": app, "user": user}
        driver = f"etl-{job}-driver"
        long = at + 7200 + int(rng.integers(0, 600))
        made.append(
            Container("batch", driver, "spark", "n0", at, long, 1.0, 2 * GIBI, labels | {"spark_role": "driver"})
        )
        for n in range(3):
            begun = at + 600 * (job % 3 == 0) + 30 + int(rng.integers(0, 60))
            life = int(rng.integers(90, 5000))
            tags = labels | {"spark_role": "executor"}
            made.append(
                Container(
                    "batch", f"etl-{job}-exec-{n}", "spark", f"n{n}", begun, begun + life, 4.0, 8 * GIBI, tags,
                    owner=("Pod", driver), created=at + 20,
                )
            )  # fmt: skip
    for each in made:
        each.created = each.created or each.start
        _sample(each, rng, begin, gap)
    return made


def _sample(each: Container, rng: np.random.Generator, begin: int, gap: tuple[int, int] | None) -> None:
    first = (each.start // SCRAPE + 1) * SCRAPE
    at = np.arange(first, each.end + 1, SCRAPE, dtype=np.float64)
    if gap is not None:
        at = at[(at <= begin + gap[0] * DAY) | (at > begin + gap[1] * DAY)]
    asked_cpu, asked_memory = each.cpu or 0.1, each.memory or 0.1 * GIBI
    level = np.abs(rng.normal(0.3, 0.15, len(at))) * asked_cpu
    each.at, each.counter = at, np.cumsum(level * SCRAPE).round(3)
    each.bytes = (np.clip(rng.normal(0.4, 0.1, len(at)), 0.02, 1) * asked_memory).round()


def openmetrics(week: list[Container], *, renamed: bool = False, without: tuple[str, ...] = ()) -> Iterator[str]:
    """The week as text for `promtool tsdb create-blocks-from openmetrics`."""
    for name in ("container_cpu_usage_seconds_total", "container_memory_working_set_bytes", *STATES):
        if name in without:
            continue
        yield f"# TYPE {name.removesuffix('_total')} {'counter' if name.endswith('_total') else 'gauge'}\n"
        for labels, value, at in _lines(week, name, renamed):
            yield f"{name}{{{labels}}} {value} {at}\n"
    yield "# EOF\n"


def _lines(week: list[Container], name: str, renamed: bool) -> Iterator[tuple[str, object, float]]:
    if name.startswith("container_"):
        return _use(week, "counter" if name.endswith("_total") else "bytes")
    return _state(week, name, renamed)


def _use(week: list[Container], field_name: str) -> Iterator[tuple[str, object, float]]:
    for each in week:
        labels = f'namespace="{each.namespace}",pod="{each.pod}",container="{each.name}",instance="{each.node}:10250"'
        for at, value in zip(each.at.tolist(), getattr(each, field_name).tolist(), strict=True):
            yield labels, value, at


STATES = (
    "kube_pod_container_resource_requests", "kube_pod_container_resource_limits", "kube_pod_info", "kube_pod_owner",
    "kube_pod_labels", "kube_pod_created", "kube_pod_status_scheduled_time", "kube_pod_completion_time",
    "kube_pod_status_phase", "kube_node_status_allocatable",
)  # fmt: skip


def _state(week: list[Container], name: str, renamed: bool) -> Iterator[tuple[str, object, float]]:
    if name == "kube_node_status_allocatable":
        for node in ("n0", "n1", "n2"):
            for kind, size in (("cpu", 16), ("memory", 64 * GIBI)):
                yield from _constant(f'node="{node}",resource="{kind}"', size, END - 7 * DAY, END)
        return
    seen = set()
    for each in week:
        pod = f'namespace="{each.namespace}",pod="{each.pod}"'
        if renamed:
            pod = f'exported_{pod.replace(",pod", ",exported_pod")},pod="kube-state-metrics-0",namespace="monitoring"'
        per_container = "resource" in name
        if not per_container and each.pod in seen:
            continue
        seen.add(each.pod)
        for extra, value, start, end in _facts(each, name, renamed):
            yield from _constant(f"{pod}{extra}", value, start, end)


def _facts(each: Container, name: str, renamed: bool) -> Iterator[tuple[str, float, int, int]]:
    span: tuple[int, int] = (each.created, min(each.end + 600, END))  # a finished pod stays for a while
    if "resource" in name:
        factor = 2 if name.endswith("limits") else 1
        holder = "exported_container" if renamed else "container"
        for kind, asked in (("cpu", each.cpu), ("memory", each.memory)):
            if asked:
                yield f',{holder}="{each.name}",resource="{kind}"', asked * factor, *span
    elif name == "kube_pod_info":
        yield f',node="{each.node}",uid="u-{each.pod}"', 1, *span
    elif name == "kube_pod_owner":
        kind, owner = each.owner if each.owner[1] else ("<none>", "<none>")
        yield f',owner_kind="{kind}",owner_name="{owner}"', 1, *span
    elif name == "kube_pod_labels":
        yield "".join(f',label_{key}="{value}"' for key, value in each.labels.items()), 1, *span
    elif name == "kube_pod_status_phase":
        yield ',phase="Pending"', 1, each.created, max(each.start - 1, each.created)
    else:
        moment = {"kube_pod_created": each.created, "kube_pod_status_scheduled_time": each.start}.get(name, each.end)
        if name != "kube_pod_completion_time" or each.end < END:
            yield "", moment, *span


def _constant(labels: str, value: object, start: int, end: int) -> Iterator[tuple[str, object, float]]:
    moments = range((start // STATE + 1) * STATE, end + 1, STATE) or [start]
    for at in moments:
        yield labels, value, at


@contextmanager
def prometheus(folder: Path, lines: Iterator[str]) -> Iterator[str]:
    """A real Prometheus that holds these samples; gives its URL."""
    text = folder / "week.om"
    with text.open("w") as file:
        file.writelines(lines)
    data = folder / "data"
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=9600h", str(text), str(data)],
        check=True,
        capture_output=True,
    )
    text.unlink()
    (folder / "empty.yml").write_text("{}")
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        "prometheus", f"--config.file={folder / 'empty.yml'}", f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=100y", f"--web.listen-address=127.0.0.1:{port}", "--log.level=error",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _until_ready(f"http://127.0.0.1:{port}", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _until_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=1):
                return
        except OSError:
            time.sleep(0.1)
        if process.poll() is not None:
            break
    raise RuntimeError("Prometheus did not start")
