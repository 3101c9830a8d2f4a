"""Builders of small snapshots for tests of the gatekeeper: one cpu kind unless said otherwise."""

from __future__ import annotations

from slackwater.cycle.cycle import Round
from slackwater.cycle.snapshot import App, Order, PodGroup, Pool, Queue, Snapshot
from slackwater.pools.pools import Category
from slackwater.resources import NOTHING, Resources
from slackwater.roles import Role


def cpu(amount: float) -> Resources:
    """So many cores."""
    return Resources(cpu=amount)


def group(
    app: str,
    role: Role = Role.TASK,
    size: float = 1.0,
    held: int = 0,
    **more: object,
) -> PodGroup:
    """A group of equal pods; uids are app/stage-or-role/number."""
    stage = str(more.get("stage", "")) or role.value
    uids = tuple(f"{app}/{stage}/{number}" for number in range(held))
    return PodGroup(f"{app}/{stage}", role, cpu(size), held=uids, **more)  # type: ignore[arg-type]


def driver_app(name: str, submitted: float = 0.0, *, driver: float = 1.0, task: float = 1.0, **more: object) -> App:
    """An app whose driver is held and whose tasks do not exist yet."""
    return App(
        name,
        str(more.pop("namespace", "team")),
        submitted,
        (group(name, Role.DRIVER, driver, held=1),),
        task_request=cpu(task),
        has_driver=True,
        **more,  # type: ignore[arg-type]
    )


def running_app(
    name: str, submitted: float = 0.0, *, running: int = 0, held: int = 0, size: float = 1.0, **more: object
) -> App:
    """A started app whose driver runs, with some tasks running and some held."""
    groups = (
        group(name, Role.DRIVER, float(more.pop("driver", 1.0)), running=1),  # type: ignore[arg-type]
        group(name, Role.TASK, size, held=held, running=running),
    )
    namespace = str(more.pop("namespace", "team"))
    return App(name, namespace, submitted, groups, started=True, has_driver=True, **more)  # type: ignore[arg-type]


def task_app(name: str, submitted: float = 0.0, *, held: int = 1, size: float = 1.0, **more: object) -> App:
    """An app without a driver: a plain Job."""
    namespace = str(more.pop("namespace", "team"))
    return App(name, namespace, submitted, (group(name, Role.TASK, size, held=held),), **more)  # type: ignore[arg-type]


def queue(capacity: float = 16.0, *, free: float | None = None, **more: object) -> Queue:
    """The queue "default" of so many cores, all free unless said otherwise."""
    left = cpu(capacity if free is None else free)
    return Queue("default", cpu(capacity), free=left, total=cpu(capacity), **more)  # type: ignore[arg-type]


def pool(tot: float = 100.0, delta: float = 0.1, **more: object) -> Pool:
    """A pool pair "default" of slots of one core."""
    return Pool("default", cpu(1), tot=tot, nominal=float(more.pop("nominal", tot)), delta=delta, **more)  # type: ignore[arg-type]


def snapshot(*apps: App, on: Queue | None = None, pools: tuple[Pool, ...] = (), **more: object) -> Snapshot:
    """One queue, these apps."""
    return Snapshot(0.0, (on or queue(),), apps, pools, **more)  # type: ignore[arg-type]


__all__ = [
    "NOTHING",
    "Category",
    "Order",
    "Role",
    "cpu",
    "driver_app",
    "group",
    "pool",
    "queue",
    "running_app",
    "snapshot",
    "task_app",
]


def released(decided: Round) -> list[str]:
    """The uids in order of release."""
    return [release.uid for release in decided.releases]
