"""`python tests/performance/bench_guard.py` (with tests/ on the path): what the chart's policies add to a write.

On a lab of its own, the same writes with the policies and without them, in turns: milliseconds as the client sees them,
and CPU of the API server per write, which is the steadier figure on a shared machine.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import psutil
import yaml

from slackwater_lab.lab import Lab
from slackwater_lab.plan import Plan
from slackwater_lab.site import open_site
from support.lab.installing import CHART, PATHS, install, mutate_by_policy, mutate_no_more, until_acting
from support.lab.session import CUSTOM, STRATEGIC, Answer, Kube

NAMESPACE = "guarded"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
GUARD = tuple(yaml.safe_load_all((CHART / "files" / "guard.yaml").read_text(encoding="utf-8")))
OPERATOR = "system:serviceaccount:slackwater-system:slackwater-operator"
Write = Callable[[int], Answer]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--writes", type=int, default=200, help="of each kind in each round")
    parser.add_argument("--lab", default="guardcost")
    asked = parser.parse_args()
    with Lab(open_site(asked.lab), Plan(frozenset({"kwok"}), nodes=1)) as lab, Kube(lab.up().site) as kube:
        install(kube, lab)
        _prepare(kube)
        server = psutil.Process(_pid(lab))
        with kube.acting_as(OPERATOR, "system:masters") as operator:
            _compare(_writes(kube, operator), lambda guarded: _switch(kube, guarded), server, asked)


def _pid(lab: Lab) -> int:
    found = lab.processes.find("apiserver")
    assert found is not None
    return found.pid


def _prepare(kube: Kube) -> None:
    """A managed namespace with one held pod as large as a Spark executor's, with what a kubelet reports of it."""
    policy = {"apiVersion": "slackwater.io/v1alpha1", "kind": "SlackPolicy", "metadata": {"name": "guarding"}}
    kube.apply({**policy, "spec": {"mode": "enforce"}}, f"{CUSTOM}/slackpolicies")
    kube.namespace(NAMESPACE, slackwater_io__managed="true", slackwater_io__policy="guarding")
    _switch(kube, guarded=True)
    assert (made := kube.post(PODS, _pod("held"))).ok, made.message


def _pod(name: str) -> dict[str, Any]:
    container = {
        "image": "registry.example.com/spark:4.1.0",
        "env": [{"name": f"SPARK_{number}", "value": "x" * 40} for number in range(30)],
        "resources": {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"memory": "4Gi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"slackwater.io/role": "task"}},
        "spec": {"containers": [{"name": each, **container} for each in ("executor", "logs")]},
    }


def _writes(kube: Kube, operator: Kube) -> dict[str, Write]:
    def told(number: int) -> dict[str, Any]:
        return {"status": {"conditions": [{"type": "Ready", "status": "False", "message": f"{number}"}]}}

    def marked(number: int, key: str) -> dict[str, Any]:
        return {"metadata": {"annotations": {key: f"{number}"}}}

    held = f"{PODS}/held"
    return {
        "status, as a kubelet": lambda number: kube.patch(f"{held}/status", told(number), STRATEGIC),
        "annotation, as anybody": lambda number: kube.patch(held, marked(number, "example.com/x")),
        "annotation, as the operator": lambda number: operator.patch(held, marked(number, "slackwater.io/reason")),
        "creation of a task (dry run)": lambda number: kube.post(f"{PODS}?dryRun=All", _pod(f"new-{number}")),
    }


def _switch(kube: Kube, guarded: bool) -> None:
    """All policies or none; the API server needs a moment to see it."""
    for each in GUARD:
        where = PATHS[each["kind"]]
        answer = kube.apply(each, where) if guarded else kube.delete(f"{where}/{each['metadata']['name']}")
        assert answer.ok or answer.status == 404, answer.message
    if guarded:
        mutate_by_policy(kube)
    else:
        mutate_no_more(kube)
    until_acting(kube, NAMESPACE, guarded)


def _compare(
    writes: dict[str, Write], switch: Callable[[bool], None], server: psutil.Process, asked: argparse.Namespace
) -> None:
    wall: dict[tuple[str, bool], list[float]] = defaultdict(list)
    cpu: dict[tuple[str, bool], list[float]] = defaultdict(list)
    for turn in range(asked.rounds):
        for guarded in (True, False) if turn % 2 else (False, True):
            switch(guarded)
            for what, write in writes.items():
                took, spent = _timed(write, asked.writes, server)
                wall[what, guarded].append(took)
                cpu[what, guarded].append(spent)
    _say(f"{'write':30} {'ms without':>11} {'with':>7} {'ratio':>6}   {'CPU ms without':>14} {'with':>7} {'ratio':>6}")
    for what in writes:
        plain, ours = (statistics.median(wall[what, guarded]) * 1000 for guarded in (False, True))
        bare, spent = (statistics.median(cpu[what, guarded]) * 1000 for guarded in (False, True))
        _say(f"{what:30} {plain:11.2f} {ours:7.2f} {ours / plain:6.2f}   {bare:14.2f} {spent:7.2f} {spent / bare:6.2f}")
    load = psutil.getloadavg()[0]
    _say(f"medians of {asked.rounds} rounds in turns, {asked.writes} writes each; load average {load:.1f}")


def _timed(write: Write, count: int, server: psutil.Process) -> tuple[float, float]:
    """Median seconds of a write, and CPU seconds of the API server per write."""
    for number in range(10):
        _done(write(number))
    before, times = sum(server.cpu_times()[:2]), []
    for number in range(count):
        began = time.perf_counter()
        _done(write(1000 + number))
        times.append(time.perf_counter() - began)
    return statistics.median(times), (sum(server.cpu_times()[:2]) - before) / count


def _done(answer: Answer) -> None:
    assert answer.ok, answer.message


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
