"""An extender with a few nodes, tasks for them, and batches that are asked for."""

from __future__ import annotations

from typing import Any

from support.builders import objects
from support.fakes.extender import World, world


def task(name: str = "t", cpu: str = "2", native: str = "1", **more: Any) -> dict[str, Any]:
    """A task that declares so many cores, and asks the scheduler for fewer."""
    return objects.pod(name, cpu=native, annotations=objects.declared(cpu, "1Gi"), **more)


def waiting(name: str, cpu: str = "2", **more: Any) -> dict[str, Any]:
    """A pod that waits for our scheduler."""
    return task(name, cpu, **more)


def two() -> World:
    """Two sampled nodes: an idle one of 14 cores, and one that has one core to give."""
    made = world(objects.node("idle", cpu="14"), objects.node("busy", cpu="1"))
    made.sample({"idle": (0.0, 0.0), "busy": (0.5, 2**30)})
    return made


def three(*pods: dict[str, Any]) -> World:
    """Three idle nodes of 14 cores, and pods that wait."""
    made = world(*[objects.node(f"n{i}", cpu="14") for i in range(3)])
    made.sample({f"n{i}": (0.0, 0.0) for i in range(3)})
    made.show(*pods)
    return made


def ask(made: World, *names: str, **more: Any) -> dict[str, Any]:
    """Have nodes named for pods."""
    pods = [{"uid": f"uid-batch-{name}"} for name in names]
    answer: dict[str, Any] = made.post("/v1/place", {"pods": pods, **more})
    return answer
