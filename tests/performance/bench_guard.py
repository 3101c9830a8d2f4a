"""`python tests/performance/bench_guard.py` (with tests/ on the path): what the chart's policies add to a write.

On a lab of its own, the same writes with the policies and without them, in turns: milliseconds as the client sees them,
and CPU of the API server per write, which is the steadier figure on a shared machine. `--other FOLDER` plays the
guard.yaml and mutating.yaml of another version beside them; `--policies 0,12` says how many SlackPolicies there are
that no namespace of this bench names.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psutil
import yaml

from slackwater_lab.lab import Lab
from slackwater_lab.plan import Plan
from slackwater_lab.site import open_site
from support.lab.installing import CHART, PATHS, install, until_acting
from support.lab.session import CUSTOM, STRATEGIC, Answer, Kube

# Managed namespaces by the policy that they name, and one that is not managed.
FOLLOWS, CHOSE, ELSEWHERE = "follows", "chose", "elsewhere"
BY_HAND = "guarding"
OPERATOR = "system:serviceaccount:slackwater-system:slackwater-operator"
UNGATE = {"spec": {"schedulingGates": [{"$patch": "delete", "name": "slackwater.io/admission"}]}}
BINDING = {
    "apiVersion": "v1",
    "kind": "Binding",
    "metadata": {"name": "released"},
    "target": {"apiVersion": "v1", "kind": "Node", "name": "somewhere"},
}
REFRESH = 1.5  # seconds: an API server looks for changed policies once a second
NONE, OURS, OTHER = "none", "chart", "other"
Write = Callable[[int], Answer]
Objects = list[dict[str, Any]]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--writes", type=int, default=200, help="of each kind in each round")
    parser.add_argument("--policies", default="0", help="numbers of further SlackPolicies, with commas")
    parser.add_argument("--other", type=Path, help="folder with the policies of another version")
    parser.add_argument("--only", default="", help="the writes whose names hold this word")
    parser.add_argument("--lab", default="guardcost")
    asked = parser.parse_args()
    with Lab(open_site(asked.lab), Plan(frozenset(), nodes=0)) as lab, Kube(lab.up().site) as kube:
        install(kube, lab)
        sets = {NONE: [], OURS: _read(CHART / "files")} | ({OTHER: _read(asked.other)} if asked.other else {})
        switch = Switch(kube, sets)
        _prepare(kube, switch)
        server = psutil.Process(_pid(lab))
        with kube.acting_as(OPERATOR, "system:masters") as operator:
            for count in map(int, asked.policies.split(",")):
                _further(kube, count)
                _say(f"\n{count} further SlackPolicies")
                writes = {name: each for name, each in _writes(kube, operator).items() if asked.only in name}
                _compare(writes, switch, server, asked)


def _read(folder: Path) -> Objects:
    """The policies of a version, without the switch that its roles are."""
    both = [folder / "guard.yaml", folder / "mutating.yaml"]
    found = [each for path in both for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    return [each for each in found if "Admission" in each["kind"]]


class Switch:
    """One set of policies, or another, or none."""

    def __init__(self, kube: Kube, sets: dict[str, Objects]) -> None:
        self._kube, self.sets = kube, sets

    def turn(self, name: str) -> None:
        """Take all away, then put a set in place; the API server needs a moment to see each."""
        for each in (each for those in self.sets.values() for each in those):
            answer = self._kube.delete(f"{PATHS[each['kind']]}/{each['metadata']['name']}")
            assert answer.ok or answer.status == 404, answer.message
        self._until(acting=False)
        for each in self.sets[name]:
            assert (answer := self._kube.apply(each, PATHS[each["kind"]])).ok, answer.message
        self._until(acting=name != NONE)

    def _until(self, *, acting: bool) -> None:
        for namespace in (FOLLOWS, CHOSE):
            until_acting(self._kube, namespace, acting)
        time.sleep(REFRESH)


def _pid(lab: Lab) -> int:
    found = lab.processes.find("apiserver")
    assert found is not None
    return found.pid


def _prepare(kube: Kube, switch: Switch) -> None:
    """In each namespace a pod as large as a Spark executor's, with what a kubelet reports of it."""
    for name in ("default", BY_HAND):
        _policy(kube, name, "enforce")
    kube.namespace(FOLLOWS, slackwater_io__managed="true")
    kube.namespace(CHOSE, slackwater_io__managed="true", slackwater_io__policy=BY_HAND)
    kube.namespace(ELSEWHERE)
    switch.turn(OURS)
    for namespace in (FOLLOWS, ELSEWHERE):
        assert (made := kube.post(_pods(namespace), _pod("held"))).ok, made.message
    assert kube.post(_pods(FOLLOWS), _pod("released")).ok
    assert kube.patch(f"{_pods(FOLLOWS)}/released", UNGATE).ok


def _policy(kube: Kube, name: str, mode: str) -> None:
    body = {"apiVersion": "slackwater.io/v1alpha1", "kind": "SlackPolicy", "metadata": {"name": name}}
    assert kube.apply({**body, "spec": {"mode": mode}}, f"{CUSTOM}/slackpolicies").ok


def _further(kube: Kube, count: int) -> None:
    """As many SlackPolicies that nobody names."""
    for number in range(count):
        _policy(kube, f"further-{number:02}", "enforce")


def _pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


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

    def created(namespace: str) -> Write:
        return lambda number: kube.post(f"{_pods(namespace)}?dryRun=All", _pod(f"new-{number}"))

    held, other = (f"{_pods(namespace)}/held" for namespace in (FOLLOWS, ELSEWHERE))
    return {
        "status, as a kubelet": lambda number: kube.patch(f"{held}/status", told(number), STRATEGIC),
        "annotation, as anybody": lambda number: kube.patch(held, marked(number, "example.com/x")),
        "annotation, as the operator": lambda number: operator.patch(held, marked(number, "slackwater.io/reason")),
        "binding, as a scheduler": lambda _: kube.post(f"{_pods(FOLLOWS)}/released/binding?dryRun=All", BINDING),
        "status, not managed": lambda number: kube.patch(f"{other}/status", told(number), STRATEGIC),
        "annotation, not managed": lambda number: kube.patch(other, marked(number, "example.com/x")),
        "creation, not managed": created(ELSEWHERE),
        "creation, default policy": created(FOLLOWS),
        "creation, policy made by hand": created(CHOSE),
    }


def _compare(writes: dict[str, Write], switch: Switch, server: psutil.Process, asked: argparse.Namespace) -> None:
    wall: dict[tuple[str, str], list[float]] = defaultdict(list)
    cpu: dict[tuple[str, str], list[float]] = defaultdict(list)
    for turn in range(asked.rounds):
        for name in _turned(switch.sets, turn):
            switch.turn(name)
            for what, write in writes.items():
                took, spent = _timed(write, asked.writes, server)
                wall[what, name].append(took)
                cpu[what, name].append(spent)
    for unit, found in (("CPU of the API server", cpu), ("as the client waits", wall)):
        _say(f"{f'ms, {unit}':31}" + "".join(f"{name:>8}{'':7}" for name in switch.sets))
        for what in writes:
            medians = {name: statistics.median(found[what, name]) * 1000 for name in switch.sets}
            _say(f"{what:31}" + "".join(f"{each:8.2f} ({each / medians[NONE]:.2f})" for each in medians.values()))
    load = psutil.getloadavg()[0]
    _say(f"medians of {asked.rounds} rounds in turns, {asked.writes} writes each; load average {load:.1f}")


def _turned(names: Iterable[str], turn: int) -> list[str]:
    """The sets in another order each round."""
    listed = list(names)
    return listed[turn % len(listed) :] + listed[: turn % len(listed)]


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
