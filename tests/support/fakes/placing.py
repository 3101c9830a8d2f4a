"""An extender with three idle nodes, and batches that are asked for."""

from __future__ import annotations

from typing import Any

from support.builders import objects
from support.fakes.extender import World, world


def waiting(name: str, cpu: str = "2", **more: Any) -> dict[str, Any]:
    """A pod that waits for our scheduler."""
    return objects.pod(name, cpu="1", annotations=objects.declared(cpu, "1Gi"), **more)


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
