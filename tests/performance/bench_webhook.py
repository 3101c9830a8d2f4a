"""`python tests/performance/bench_webhook.py`: the webhook at 100 new pods a second, beside a server that does nothing.

Both servers speak HTTPS and keep connections, as API servers keep theirs; each is a process of its own, and a third one
asks them in turns. CPU per answer is the steadiest figure on a shared machine; latencies are told with the load.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import multiprocessing
import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import aiohttp
import psutil
from aiohttp import web

from slackwater_cluster.admissionpolicies.webhook import PATH
from slackwater_cluster.customresources import SlackPolicySpec
from slackwater_operator.webhook.reviews import ReviewServer

BOUNDS = tomllib.loads((Path(__file__).parent / "bounds.toml").read_text(encoding="utf-8"))["webhook"]
RATE, SECONDS, CONNECTIONS = 100, 20, 8
# Seconds that are told apart: connections are opened in them, which an API server does once in a while.
OPENING = 2
ENFORCE = SlackPolicySpec.model_validate({"mode": "enforce"})


class OnePolicy:
    """A cluster with one SlackPolicy, in force everywhere."""

    complete = True

    async def policy(self, namespace: str) -> tuple[SlackPolicySpec, bool]:
        """That one."""
        del namespace
        return ENFORCE, False


class NothingServer(ReviewServer):
    """Reads the question and allows the pod, whatever it is."""

    async def _review(self, request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=b'{"response":{"uid":"u","allowed":true}}', content_type="application/json")


def serve(kind: type[ReviewServer], folder: str, port: int) -> None:
    """A server until it is killed."""
    # What the program has loaded before it is ready: else the first answer would load the Kubernetes client.
    importlib.import_module("slackwater_operator.webhook.__main__")

    async def forever() -> None:
        server = kind(OnePolicy(), Path(folder, "tls.crt"), Path(folder, "tls.key"))
        async with server.listening("127.0.0.1", port):
            await asyncio.Event().wait()

    asyncio.run(forever())


def question() -> bytes:
    """A review of a Spark executor with two containers, about as long as real ones (4 kB)."""
    container = {
        "image": "registry.example.com/spark:4.1.0",
        "env": [{"name": f"SPARK_{number}", "value": "x" * 40} for number in range(30)],
        "resources": {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"memory": "4Gi"}},
    }
    spec = {
        "containers": [{"name": name, **container} for name in ("executor", "logs")],
        "schedulerName": "default-scheduler",
    }
    labels = {"spark-role": "executor", "spark-app-selector": "spark-1"}
    pod = {"metadata": {"name": "p", "namespace": "team", "labels": labels}, "spec": spec}
    return json.dumps({"request": {"uid": "u", "namespace": "team", "object": pod}}).encode()


async def ask(ports: list[int]) -> dict[int, list[float]]:
    """Ask each server at the rate, in turns; milliseconds of every answer."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    took: dict[int, list[float]] = {port: [] for port in ports}
    body = question()

    async def once(session: aiohttp.ClientSession, port: int) -> None:
        began = time.perf_counter()
        async with session.post(f"https://127.0.0.1:{port}{PATH}", data=body) as reply:
            await reply.read()
            assert reply.status == 200
        took[port].append((time.perf_counter() - began) * 1000)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, limit=CONNECTIONS)) as session:
        waiting = []
        begin = time.perf_counter()
        for number in range(RATE * (OPENING + SECONDS)):
            await asyncio.sleep(max(0.0, begin + number / RATE - time.perf_counter()))
            waiting += [asyncio.create_task(once(session, port)) for port in ports]
        await asyncio.gather(*waiting)
    return took


def wait_for(ports: list[int], patience: float = 120.0) -> None:
    """Until all servers take connections."""
    end = time.monotonic() + patience
    for port in ports:
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if time.monotonic() > end:
                raise SystemExit(f"no server listens on {port}")
            time.sleep(0.1)


def main() -> None:
    """Measure, print, and end with 1 where a bound is missed."""
    with tempfile.TemporaryDirectory() as folder:
        new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        files = ["-subj", "/CN=webhook", "-keyout", "tls.key", "-out", "tls.crt"]
        subprocess.run([*new, *files], cwd=folder, check=True, capture_output=True)
        first = 31_970 + os.getpid() % 10 * 2
        servers = {first: ReviewServer, first + 1: NothingServer}
        spawn = multiprocessing.get_context("spawn")
        running = {port: spawn.Process(target=serve, args=(kind, folder, port)) for port, kind in servers.items()}
        for process in running.values():
            process.start()
        try:
            wait_for(list(servers))
            used = {port: psutil.Process(process.pid) for port, process in running.items()}
            before = {port: sum(each.cpu_times()[:2]) for port, each in used.items()}
            took = asyncio.run(ask(list(servers)))
            cpu = {
                port: (sum(each.cpu_times()[:2]) - before[port]) * 1000 / (RATE * (OPENING + SECONDS))
                for port, each in used.items()
            }
            memory = used[first].memory_info().rss / 2**20
        finally:
            for process in running.values():
                process.kill()
                process.join()
    opening = RATE * OPENING
    slowest = max(took[first][:opening])
    ours, nothing = (statistics.quantiles(took[port][opening:], n=100) for port in servers)
    ratio = ours[98] / nothing[98]
    lines = [
        f"load {os.getloadavg()[0]:.1f}; {RATE} reviews a second for {SECONDS} s, {len(question())} bytes each",
        f"webhook     p50 {ours[49]:.2f} ms, p99 {ours[98]:.2f} ms, CPU {cpu[first]:.2f} ms each, {memory:.0f} MiB",
        f"does nothing p50 {nothing[49]:.2f} ms, p99 {nothing[98]:.2f} ms, CPU {cpu[first + 1]:.2f} ms each",
        f"the slowest of the first {OPENING} seconds, in which connections are opened: {slowest:.0f} ms",
        f"p99 ÷ p99 of nothing: {ratio:.2f} (bound {BOUNDS['ratio']}); bound of p99 alone: {BOUNDS['p99_ms']} ms",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.exit(0 if ratio <= BOUNDS["ratio"] and ours[98] <= BOUNDS["p99_ms"] else 1)


if __name__ == "__main__":
    main()
