"""Karpenter adds and removes the nodes of a queue that may grow (docs/howto/autoscaler.md)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from slackwater_cluster.api.client import ApiClient
from slackwater_lab.autoscaler import karpenter
from slackwater_lab.autoscaler.karpenter import KARPENTER, MachinePool
from slackwater_lab.lab import Lab
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.peers import sources
from slackwater_lab.plan import PARTS
from support.lab.testnamespace import until

pytestmark = pytest.mark.frameworks

MERGE = "application/merge-patch+json"
QUEUE = "/apis/slackwater.io/v1alpha1/admissionqueues/default"
POLICY = "/apis/slackwater.io/v1alpha1/slackpolicies/default"
PODS = "/api/v1/namespaces/growth/pods"
CORES = 4  # of the one node that is always there, and of each machine
MACHINES = MachinePool(cores=CORES, memory_gib=16, most_cores=10 * CORES, boot=5, empty_after=5)


@dataclass
class Grounds:
    """A lab whose machines Karpenter makes. `seen` are all that it has asked for since they were last forgotten."""

    api: ApiClient
    seen: set[str] = field(default_factory=set)

    def may_grow_to(self, cores: int, *, ceiling: int = 100, pods: int = 50, paused: bool = False) -> None:
        """Set the queue's maximum, and how far requests of tasks are lowered."""
        state = "paused" if paused else "open"
        spec = {"capacity": {"maximum": {"cpu": cores}}, "growthPods": pods, "state": state}
        self.api.patch(QUEUE, {"spec": spec}, MERGE)
        self.api.patch(POLICY, {"spec": {"ceiling": {"cpuPercent": ceiling}}}, MERGE)

    def removes(self, policy: str, after: int) -> None:
        """When Karpenter removes a machine."""
        terms = {"consolidationPolicy": policy, "consolidateAfter": f"{after}s"}
        self.api.patch(f"{karpenter.NODE_POOLS}/{karpenter.POOL}", {"spec": {"disruption": terms}}, MERGE)

    def tasks(self, app: str, count: int, lasts: float, use: str = "900m", **notes: str) -> None:
        """So many tasks of one core."""
        for number in range(count):
            self.api.create(PODS, task(f"{app}-{number}", app, lasts, use, notes))

    def pods(self, app: str = "") -> list[dict[str, Any]]:
        """The pods of an app, or all."""
        chosen = {"labelSelector": f"slackwater.io/app={app}"} if app else {}
        return list((self.api.find(PODS, chosen) or {"items": []})["items"])

    def bound(self, app: str = "") -> list[str]:
        """The nodes of its pods that have one."""
        return [pod["spec"]["nodeName"] for pod in self.pods(app) if pod["spec"].get("nodeName")]

    def watch(self, seconds: float) -> None:
        """Look for so many seconds at what Karpenter asks for."""
        until_then = time.monotonic() + seconds
        while time.monotonic() < until_then:
            self.seen |= set(karpenter.asked_for(self.api))
            time.sleep(0.5)

    def clear(self) -> None:
        """Take pods and machines away."""
        self.may_grow_to(CORES)
        self.removes("WhenEmpty", 5)
        self.api.delete(PODS, {"gracePeriodSeconds": "0"})
        until("no pod is left", lambda: not self.pods(), 60, 0.5)
        until("every machine is gone", lambda: not karpenter.asked_for(self.api), 120, 0.5)
        self.seen.clear()


def task(name: str, app: str, lasts: float, use: str, notes: dict[str, str]) -> dict[str, Any]:
    """A task of one core that uses so much of it."""
    simulated = {
        "kwok.x-k8s.io/usage-cpu": use,
        "kwok.x-k8s.io/usage-memory": "256Mi",
        "slackwater.io/lab-duration": f"{lasts:g}",
    }
    request = {"requests": {"cpu": "1", "memory": "512Mi"}}
    return {
        "metadata": {
            "name": name,
            "labels": {"slackwater.io/app": app, "slackwater.io/role": "task"},
            "annotations": {**simulated, **{f"slackwater.io/{key}": value for key, value in notes.items()}},
        },
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": "none", "resources": request}],
        },
    }


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One node of four cores, Slackwater, and Karpenter."""
    sources.build((KARPENTER,), lambda _: None)
    patch = pytest.MonkeyPatch()
    patch.setenv("SLACKWATER_LAB_HOME", str(tmp_path_factory.mktemp("labs")))
    wishes: dict[str, Any] = {
        "nodes": 1,
        "shape": Shape(str(CORES), "16Gi"),
        "values": ("policy.spec.mode=enforce", "policy.spec.estimation.heartbeatSeconds=2"),
    }
    with Lab.start("growth", frozenset(PARTS) - {"scheduler"}, **wishes) as made:
        karpenter.start(made, MACHINES)
        with made.api() as api:
            api.create(
                "/api/v1/namespaces", {"metadata": {"name": "growth", "labels": {"slackwater.io/managed": "true"}}}
            )
            until("pods are held", lambda: _held(api), 60, 0.5)
        yield made
    patch.undo()


def _held(api: ApiClient) -> bool:
    """Whether the API server gates new pods of the namespace yet."""
    tried = api.create(f"{PODS}?dryRun=All", task("probe", "probe", 1, "0", {}))
    return bool(tried and tried["spec"].get("schedulingGates"))


@pytest.fixture
def grounds(lab: Lab) -> Iterator[Grounds]:
    """The lab without pods and machines."""
    with lab.api() as api:
        made = Grounds(api)
        yield made
        made.clear()


def test_growth_is_asked_for_exactly_as_far_as_the_maximum_allows(grounds: Grounds) -> None:
    """Four cores are there and twelve are allowed: two machines come, never a third, though Karpenter may make ten."""
    grounds.may_grow_to(3 * CORES)
    grounds.tasks("etl", 40, 600)
    until("all that is allowed has come", lambda: len(grounds.bound()) >= 3 * CORES, 120, 0.5)
    grounds.watch(20)
    assert len(grounds.seen) == 2
    assert len(set(grounds.bound())) == 3


def test_no_machine_is_added_for_what_policy_holds(grounds: Grounds) -> None:
    """A paused app, and tasks that wait for their driver: nothing of them is shown to Karpenter."""
    grounds.may_grow_to(10 * CORES)
    grounds.tasks("paused", 12, 600, pause="true")
    grounds.watch(20)
    assert not grounds.seen
    grounds.may_grow_to(10 * CORES, paused=True)
    grounds.tasks("etl", 12, 600)
    grounds.watch(20)
    assert not grounds.seen


def test_a_machine_stays_for_the_pods_that_asked_for_it(grounds: Grounds) -> None:
    """Empty machines go at once. One that comes is neither removed nor taken by others before its pods run there."""
    grounds.removes("WhenEmpty", 0)
    grounds.may_grow_to(2 * CORES)
    grounds.tasks("base", CORES, 600)
    until("the node that is there is full", lambda: len(grounds.bound("base")) == CORES, 60, 0.5)
    grounds.tasks("early", CORES, 600)
    until("a machine was asked for", lambda: bool(karpenter.asked_for(grounds.api)), 60, 0.2)
    grounds.tasks("late", 2 * CORES, 600)
    until("its pods are on it", lambda: len(grounds.bound("early")) == CORES, 60, 0.5)
    grounds.watch(10)
    assert len(grounds.seen) == 1
    assert not grounds.bound("late")


def test_lowered_requests_do_not_make_consolidation_loop(grounds: Grounds) -> None:
    """Requests are half of what is declared, machines go when their pods would fit elsewhere: none comes twice."""
    grounds.removes("WhenEmptyOrUnderutilized", 5)
    grounds.may_grow_to(6 * CORES, ceiling=200)
    grounds.tasks("etl", 5 * CORES, 150, use="500m")
    # Not all of them need run: Karpenter counts on room by requests that the ledger does not give yet (see the page).
    until("more run than are declared for one node", lambda: len(grounds.bound("etl")) >= 3 * CORES, 90, 0.5)
    grounds.watch(5)
    before, running = set(grounds.seen), len(grounds.bound("etl"))
    assert before
    grounds.watch(30)
    assert grounds.seen == before
    assert len(grounds.bound("etl")) >= running


def test_a_gang_gets_machines_for_all_of_it_or_none(grounds: Grounds) -> None:
    """Eight pods at once on four cores: with twelve allowed they run together; with seven nothing is asked for."""
    gang = {"gang": "true", "tasks": str(2 * CORES)}
    grounds.may_grow_to(2 * CORES - 1)
    grounds.tasks("small", 2 * CORES, 60, **gang)
    grounds.watch(15)
    assert not grounds.seen
    assert not grounds.bound()
    grounds.may_grow_to(3 * CORES)
    until("the gang runs", lambda: len(grounds.bound("small")) == 2 * CORES, 90, 0.5)
