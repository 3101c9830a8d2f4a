"""Speed of the estimate and of the ledger, against `bounds.toml`."""

from __future__ import annotations

import statistics
import time
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import psutil
import pytest

from slackwater.estimation.estimator import NodeEstimates
from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from slackwater.roles import Role
from support.builders.measuring import measure

BOUNDS = tomllib.loads((Path(__file__).parent / "bounds.toml").read_text())["estimate"]
NODES, PODS = BOUNDS["nodes"], BOUNDS["pods"]

pytestmark = pytest.mark.bench


def median_ms(work: Callable[[], object], repeats: int = 25) -> float:
    """Median over repeats, so that one interruption does not decide."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times)


def full_fleet(nodes: int, pods: int) -> NodeEstimates:
    """Cpu and memory, pods spread evenly."""
    fleet = NodeEstimates(2, tau0=[1.0, 30.0])
    for _ in range(nodes):
        fleet.add_node()
    for pod in range(pods):
        fleet.add(pod % nodes, np.array([1.0, 2e9]))
    return fleet


def full_ledger() -> Ledger:
    """Every node sampled once."""
    ledger = Ledger()
    for node in range(NODES):
        ledger.upsert_node(NodeSpec(f"node-{node}", (16.0, 64e9), (16.0, 66e9)))
    for pod in range(PODS):
        ledger.put(
            PodClaim(
                f"pod-{pod}", f"node-{pod % NODES}", (1.0, 2e9), (0.5, 1.5e9), Role.TASK, "", ClaimState.RUNNING, 0.0
            )
        )
    measure(ledger, 0.0, {f"node-{node}": Sample(100.0, (4.0, 2e10)) for node in range(NODES)})
    return ledger


def test_one_sample_of_all_nodes() -> None:
    """Eqs 1 and 3 for every node and pod, with nine of ten pods seen."""
    fleet = full_fleet(NODES, PODS)
    rng = np.random.default_rng(1)
    used, seen = rng.random((NODES, 2)) * [10.0, 1e10], np.flatnonzero(rng.random(PODS) < 0.9)
    took = median_ms(lambda: fleet.sample(used, np.full(NODES, 5.0), seen))
    assert took < BOUNDS["sample_ms"], f"{took:.2f} ms"


def test_cost_of_a_sample_grows_with_the_cluster_and_no_faster() -> None:
    """Ten times the nodes and pods."""
    times = []
    for scale in (10, 1):
        fleet = full_fleet(NODES // scale, PODS // scale)
        used, dt = np.ones((NODES // scale, 2)), np.full(NODES // scale, 5.0)
        times.append(median_ms(lambda fleet=fleet, used=used, dt=dt: fleet.sample(used, dt)))  # type: ignore[misc]  # lambda defaults
    assert times[1] < BOUNDS["tenfold_ratio"] * times[0], times


def test_table_after_one_pod_changed() -> None:
    """One row is computed anew, the others are copied."""
    ledger = full_ledger()
    ledger.table(0.0)
    times = []
    for pod in range(100):
        ledger.reserve(PodClaim(f"new-{pod}", f"node-{pod}", (1.0, 2e9), (0.5, 1.5e9), Role.TASK), expires=60.0)
        times.append(median_ms(lambda: ledger.table(0.0), repeats=1))
    took = statistics.median(times)
    assert took < BOUNDS["table_ms"], f"{took:.3f} ms"


def test_table_without_one_pod() -> None:
    """What a filter asks for on every call about a pod that is placed."""
    ledger = full_ledger()
    took = median_ms(lambda: ledger.spot("node-7", 0.0, "pod-7"), repeats=100)
    assert took < BOUNDS["table_ms"], f"{took:.3f} ms"


def test_memory_of_a_large_cluster() -> None:
    """Every pod with its own uid, sizes and start, as watches deliver them."""
    process = psutil.Process()
    before = process.memory_info().rss
    ledger = Ledger()
    for node in range(NODES):
        ledger.upsert_node(NodeSpec(f"node-{node}", (16.0, 64e9), (16.0, 66e9)))
    for pod in range(BOUNDS["memory_pods"]):
        sizes = (1.0 + pod % 7, 2e9 + pod)
        uid = f"{pod:08d}-0000-4000-8000-000000000000"
        ledger.put(PodClaim(uid, f"node-{pod % NODES}", sizes, sizes, Role.TASK, "etl", ClaimState.RUNNING, float(pod)))
    took = (process.memory_info().rss - before) / 1e6
    assert len(ledger) == BOUNDS["memory_pods"]
    assert took < BOUNDS["memory_mb"], f"{took:.0f} MB"


def large_cluster(risk: float | None) -> Ledger:
    """A thousand apps; the horizon is so short that twelve promises are open at once."""
    ledger = Ledger(LedgerConfig(heartbeat=5.0, steady=True, risk=risk, horizon=60.0))
    for node in range(NODES):
        ledger.upsert_node(NodeSpec(f"node-{node}", (64.0, 256e9), (64.0, 256e9)))
    for pod in range(BOUNDS["memory_pods"]):
        sizes = (1.0, 4e9)
        app = f"app-{pod % 1000}"
        ledger.put(PodClaim(f"{pod}", f"node-{pod % NODES}", sizes, sizes, Role.TASK, app, ClaimState.RUNNING, 0.0))
    return ledger


def sampling_ms(ledgers: Sequence[Ledger]) -> list[float]:
    """CPU time of one sample in which every pod uses something else, the ledgers in turn: medians."""
    rng, slots = np.random.default_rng(1), np.arange(BOUNDS["memory_pods"])
    times: list[list[float]] = [[] for _ in ledgers]
    for beat in range(1, 20):
        uses = rng.random((2, len(slots))) * np.array([[0.5], [2e9]])
        used = np.stack([np.bincount(slots % NODES, use, minlength=NODES) for use in uses], axis=1).astype(np.float64)
        for ledger, taken in zip(ledgers, times, strict=True):
            began = time.process_time()
            ledger.sample_all(5.0 * beat, used, slots, uses)
            taken.append(1000 * (time.process_time() - began))
    return [statistics.median(taken[5:]) for taken in times]


def test_a_stated_risk_costs_little_beside_the_estimate() -> None:
    """Levels and promises of all pods, beside eqs 1 to 4 for all of them."""
    without, stated = sampling_ms([large_cluster(None), large_cluster(0.01)])
    print(f"\na sample of {BOUNDS['memory_pods']:,} pods: {without:.0f} ms, with a stated risk {stated:.0f} ms")  # noqa: T201
    assert stated < BOUNDS["risk_ratio"] * without, (without, stated)
