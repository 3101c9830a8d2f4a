"""Slackwater's gatekeeper and ledger over the applications of a simulated world.

What the operator and the extender do on a cluster, this does in virtual time with the same functions of the core: it
keeps the snapshot current, asks `gatekeeping.decide`, and enters every container into the `Ledger`. The worlds decide
only when to ask and where a container physically goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, overload

import numpy as np

from slackwater.alignment import factor
from slackwater.claims import Claim, Host, Role, State, Terms
from slackwater.forecast import releases
from slackwater.gatekeeping import Round, decide
from slackwater.ledger import Ledger
from slackwater.phases import PhaseDetector
from slackwater.pools import DELTA, THETA, Category, Smoothed, balanced_slot, slot_count, slots, smooth
from slackwater.resources import MEMORY, Resources
from slackwater.snapshot import App, Group, Pool, Queue, Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater_simulator.yarn.model import App as YarnApp
    from slackwater_simulator.yarn.model import Container, Request
    from slackwater_simulator.yarn.world import World

QUEUE = "default"
SLACK = 1e-9  # sums of fractional cores are compared with this much slack


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of Slackwater, each of which can be switched off to see what it is worth."""

    overcommit: bool = True  # 000: place by measured room, up to the ceiling
    admission: bool = True  # 002: keep room for a task beside every driver
    pools: bool = True  # 004: small and large jobs apart
    order: bool = True  # 001: HaSTE's preference; without it first come, first served
    ceiling_cpu: float = 2.0
    ceiling_memory: float = 1.5
    alpha: float = 0.125
    memory_tau0: float = 30.0  # seconds; on a live cluster tasks come to their memory slowly
    heartbeat: float = 5.0  # seconds between samples
    allowance: float = 0.875
    theta: float = THETA
    delta: float = DELTA
    window: int = 200


class Unnamed(Sequence[str]):
    """So many held pods that nobody has to tell apart: a uid each, made when looked at."""

    __slots__ = ("_count", "_key")

    def __init__(self, key: str, count: int) -> None:
        self._key, self._count = key, count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        """The uid of one, or of some."""
        if isinstance(index, slice):
            return [f"{self._key}#{number}" for number in range(self._count)[index]]
        return f"{self._key}#{range(self._count)[index]}"


class Gate:
    """One world's gatekeeper."""

    def __init__(self, world: World, terms: Parts) -> None:
        self.world, self.terms = world, terms
        self.kinds = world.kinds
        self.ceiling = tuple(self._ceiling(kind) for kind in self.kinds)
        self._whole = (1.0,) * len(self.kinds)  # drivers are not shrunk
        self.ledger = Ledger(self._ledger_terms())
        for index, capacity in enumerate(world.capacity):
            self.ledger.upsert_node(Host(str(index), capacity, capacity))
        self.requests: dict[str, Request] = {}  # by group key
        self.stuck: set[str] = set()  # groups for which placement found no node
        self.waiting: dict[str, int] = {}  # released and not yet placed (worlds with heartbeats)
        self._apps: dict[int, YarnApp] = {}
        self._views: dict[int, App] = {}  # what the snapshot shows of an app; dropped when it changes
        self._started: set[int] = set()
        self._categories: dict[int, Category] = {}
        self._phases: dict[int, PhaseDetector] = {}
        self._uids: dict[Container, str] = {}
        self._sizes: dict[str, Resources] = {}
        self._number = 0
        self._down: set[int] = set()
        # The median declared task of every app seen so far; renewed as their number doubles, so that it is calm.
        self._measured, self._median, self._balanced = 0, Resources(), Resources()
        self._delta, self._tot = terms.delta, Smoothed()
        self._sampled = -np.inf
        self.alpha = 0.0  # HaSTE-A's factor for the apps that have started
        self.deltas: list[tuple[float, float]] = []

    # ---- what the world tells ------------------------------------------------------------------------------------

    def submitted(self, app: YarnApp) -> None:
        """An application is there."""
        self._apps[app.index] = app
        self._phases[app.index] = PhaseDetector()

    def changed(self, app: YarnApp) -> None:
        """It asks for more or fewer containers; what it no longer wants is no longer promised."""
        self._views.pop(app.index, None)
        for request in [app.master, *app.requests] if self.waiting else ():
            if request is not None and self.waiting.get(key := _key(request), 0) > request.pending:
                self._promised(key, request.pending)

    def allocated(self, container: Container) -> None:
        """A container holds its node from now on (eq. 2)."""
        request = container.request
        self._number += 1
        uid = self._uids[container] = str(self._number)
        declared = self.declared(request)
        role = Role.DRIVER if request.driver else Role.TASK
        ceiling = self._whole if request.driver else self.ceiling
        native = tuple(amount / c for amount, c in zip(declared, ceiling, strict=True))
        name = f"{request.app.job.name or request.app.job.id}/{request.index}"
        self.ledger.put(Claim(uid, str(container.node), declared, native, role, name, State.BOUND, None, ceiling))
        self._crowd_driver(container, -1)
        self.changed(request.app)

    def started(self, container: Container) -> None:
        """Its process runs."""
        now = self.world.engine.now
        uid = self._uids.get(container)
        if uid is None:
            return
        self.ledger.start(uid, now)
        request = container.request
        if not request.driver:
            self._phases[request.app.index].start(now, uid, str(request.index), request.total)

    def released(self, container: Container) -> None:
        """It is gone: eq. 4 gives back the residue at once."""
        uid = self._uids.pop(container, None)
        if uid is None:
            return
        self.ledger.remove(uid)
        app = container.request.app
        if not container.request.driver and app.index in self._phases:
            self._phases[app.index].finish(self.world.engine.now, uid)
        self._crowd_driver(container, 1)
        self.changed(app)

    def finished(self, app: YarnApp) -> None:
        """The application is over."""
        for held in (self._apps, self._views, self._categories, self._phases):
            held.pop(app.index, None)
        self._started.discard(app.index)
        for request in [app.master, *app.requests]:
            if request is not None:
                key = _key(request)
                self.requests.pop(key, None)
                self.waiting.pop(key, None)
                self.stuck.discard(key)

    def sampled(self, cores: NDArray[np.float64], stored: NDArray[np.float64]) -> bool:
        """The usage model has looked; every heartbeat the ledger sees it too. True if it did."""
        now = self.world.engine.now
        if now < self._sampled + self.terms.heartbeat - 1e-9:
            return False
        self._sampled = now
        others = [np.zeros_like(cores)] * (len(self.kinds) - 2)
        uids, uses = self._pod_use()
        self.ledger.sample_all(now, np.column_stack((cores, stored, *others)), uids, uses)
        return True

    def resized(self) -> None:
        """A node failed or came back; one that came back is stretched again."""
        for index, capacity in enumerate(self.world.capacity):
            if not self.world.up[index]:
                self._down.add(index)
            elif index in self._down:
                self._down.remove(index)
                self._stretch(index)
            self.ledger.upsert_node(Host(str(index), capacity, capacity, ready=bool(self.world.up[index])))

    # ---- what it decides -----------------------------------------------------------------------------------------

    @property
    def held(self) -> int:
        """Containers that wait behind the gate."""
        return self.world.pending - sum(self.waiting.values())

    def round(self) -> Round:
        """One round at the gate; what starts and how the pools move is remembered."""
        now = self.world.engine.now
        self._unstick()
        snapshot = self.snapshot(now)
        self.alpha = _alpha(snapshot.apps) if self.terms.order else 0.0
        outcome = decide(snapshot, explain=False)
        for name in outcome.started:
            self._started.add(int(name))
            self._views.pop(int(name), None)
        for name, category in outcome.categories.items():
            if int(name) not in self._categories:
                self._categories[int(name)] = category
                self._views.pop(int(name), None)
        for adjustment in outcome.adjustments.values():
            if adjustment.delta != self._delta:
                self._delta = adjustment.delta
                self.deltas.append((now, adjustment.delta))
        return outcome

    def snapshot(self, now: float) -> Snapshot:
        """Everything the gatekeeper may know."""
        apps = tuple(self._view(app) for app in self._apps.values())
        capacity = Resources.from_vector(self.kinds, self.world.total)
        pools = (self._pool(now, apps, capacity),) if self.terms.pools and self._sizes else ()
        queue = Queue(
            QUEUE,
            capacity if self.terms.admission else capacity * 1e9,
            free=self._free(),
            total=capacity,
            pool=QUEUE if pools else "",
        )
        return Snapshot(now, (queue,), apps, pools, window=self.terms.window, preference=self.terms.order)

    # ---- released and waiting for a node (worlds with heartbeats) ------------------------------------------------

    def promise(self, key: str) -> None:
        """A container of the group was released."""
        self._promised(key, self.waiting.get(key, 0) + 1)

    def kept(self, key: str) -> None:
        """One of them is about to get its node."""
        self._promised(key, self.waiting[key] - 1)

    def withdraw(self, key: str) -> int:
        """Take back what no node has taken; how many these were."""
        count = self.waiting.get(key, 0)
        if count:
            self._promised(key, 0)
        return count

    def _promised(self, key: str, count: int) -> None:
        self._views.pop(self.requests[key].app.index, None)
        if count > 0:
            self.waiting[key] = count
        else:
            self.waiting.pop(key, None)

    def left(self, node: int, *, driver: bool) -> tuple[float, ...]:
        """What one node can still take, in declared units."""
        table = self.ledger.table(self.world.engine.now)
        if not table.open[node]:
            return (0.0,) * len(self.kinds)
        ceiling = self._whole if driver else self.ceiling
        pairs = zip(table.room[node].tolist(), table.native[node].tolist(), ceiling, strict=True)
        return tuple([min(room, native * most) for room, native, most in pairs])

    def roomy(self) -> bool:
        """Whether some node could take the smallest container that is asked for; if not, a round is in vain."""
        return bool((self._left(driver=False) + SLACK >= self.world.least).all(axis=1).any())

    def places(self, request: Request) -> NDArray[np.float64]:
        """How many containers of the request each node could take now."""
        left = self._left(driver=request.driver)
        shape = np.array(self.declared(request))
        asked = shape > 0
        counts: NDArray[np.float64] = np.floor((left[:, asked] + SLACK) / shape[asked]).min(axis=1, initial=np.inf)
        return counts

    def _left(self, *, driver: bool) -> NDArray[np.float64]:
        """What every node can still take, in declared units; nothing where it is closed."""
        table = self.ledger.table(self.world.engine.now)
        left = np.minimum(table.room, table.native * np.array(self._whole if driver else self.ceiling))
        return np.where(table.open[:, None], np.maximum(left, 0.0), 0.0)

    def declared(self, request: Request) -> tuple[float, ...]:
        """What the job's owner asked for."""
        return request.shape

    def _free(self) -> Resources:
        """Σ over open nodes of what is left by measurement and by ceiling, in declared units, less what is promised."""
        free = self._left(driver=False).sum(axis=0)
        for key, count in self.waiting.items():
            free = free - count * np.array(self.declared(self.requests[key]))
        return Resources.from_vector(self.kinds, np.maximum(free, 0.0))

    def _pool(self, now: float, apps: Sequence[App], capacity: Resources) -> Pool:
        slot = self._slot()
        elastic = Resources.from_vector(self.kinds, self.ledger.pool_total(now))
        self._tot = smooth(self._tot, slot_count(elastic, self._median), now)
        coming = dict.fromkeys(Category, 0.0)
        for app in apps:
            if app.started and (phases := self._phases[int(app.id)]).ending:
                category = self._categories.get(int(app.id), Category.LARGE)
                size = slots(app.task_request or slot, slot)
                coming[category] += releases(phases.waves(now), now) * size
        return Pool(
            QUEUE,
            slot,
            tot=self._tot.value,
            nominal=slot_count(capacity, self._median),
            delta=self._delta,
            theta=self.terms.theta,
            releases=coming,
        )

    def _slot(self) -> Resources:
        """What sizes are counted in: a balanced slot of the median task, renewed with it."""
        if self._sizes and len(self._sizes) >= 2 * self._measured:
            self._measured = len(self._sizes)
            sizes = list(self._sizes.values())
            self._median = Resources({kind: median(size[kind] for size in sizes) for kind in self.kinds})
            self._balanced = balanced_slot(Resources.from_vector(self.kinds, self.world.cluster.total), self._median)
        return self._balanced

    def _view(self, app: YarnApp) -> App:
        view = self._views.get(app.index)
        if view is None:
            view = self._views[app.index] = self._look(app)
        return view

    def _look(self, app: YarnApp) -> App:
        job = app.job
        groups = tuple(self._groups(app))
        first = app.requests[0] if app.requests else None
        widest = max((request.total for request in app.requests), default=0)
        task = Resources.from_vector(self.kinds, self.declared(first)) if first else None
        if task is not None:
            self._sizes.setdefault(job.name or job.id, task)
        size = slots(task, self._slot()) if task is not None else 0.0
        return App(
            str(app.index),
            job.user,
            job.submit,
            groups,
            queue=QUEUE,
            priority=job.priority,
            started=app.index in self._started,
            category=self._categories.get(app.index),
            demand=widest * size + (1.0 if app.master is not None else 0.0),
            task_request=task,
            has_driver=app.master is not None,
            gang=job.gang,
            strict=job.strict,
            stages=job.iterations,
            stage=max(
                (request.stage.iteration for request in app.requests if request.stage and request.asked), default=0
            ),
        )

    def _groups(self, app: YarnApp) -> Iterator[Group]:
        for request in [app.master, *app.requests]:
            if request is None or (not request.driver and not request.asked):
                continue
            key = _key(request)
            self.requests[key] = request
            promised = self.waiting.get(key, 0)
            # The driver's own container counts as running from the moment it is bound.
            yield Group(
                key,
                Role.DRIVER if request.driver else Role.TASK,
                Resources.from_vector(self.kinds, self.declared(request)),
                held=Unnamed(key, max(0, request.pending - promised)),
                released=promised,
                running=request.held,
                finished=request.done,
                expected=request.total,
                stage=request.stage.name if request.stage else "driver",
                level=_depth(request),
                waiting=bool(request.parents) and any(parent.seen < parent.total for parent in request.parents),
                unplaceable=key in self.stuck,
            )

    def _unstick(self) -> None:
        """Groups for which some node has room again stand in line again."""
        if not self.stuck:
            return
        for key in sorted(self.stuck):
            request = self.requests.get(key)
            if request is None or self.places(request).any():
                self.stuck.discard(key)
                if request is not None:
                    self._views.pop(request.app.index, None)

    def stick(self, key: str) -> None:
        """Placement found no node for a pod of this group."""
        if key not in self.stuck:
            self.stuck.add(key)
            self._views.pop(self.requests[key].app.index, None)

    def _pod_use(self) -> tuple[list[str], NDArray[np.float64]]:
        """What every container uses: uids, and kind × container."""
        usage = self.world.usage
        if usage is None:
            return [], np.zeros((len(self.kinds), 0))
        uids = [self._uids.get(container, "") for container in usage.rows]
        uses = np.zeros((len(self.kinds), len(uids)))
        uses[0], uses[1] = usage.now()
        return uids, uses

    def _ceiling(self, kind: str) -> float:
        if not self.terms.overcommit:
            return 1.0
        return {"cpu": self.terms.ceiling_cpu, "memory": self.terms.ceiling_memory}.get(kind, 1.0)

    def _ledger_terms(self) -> Terms:
        terms = self.terms
        alpha = terms.alpha if terms.overcommit else 0.0  # α = 0 in capped mode is the reservation
        tau0 = {MEMORY: terms.memory_tau0}
        return Terms(kinds=self.kinds, alpha=alpha, tau0=tau0, allowance=terms.allowance, heartbeat=terms.heartbeat)

    def _crowd_driver(self, container: Container, sign: int) -> None:
        """The world's books are stretched by the ceiling; a driver, which is not shrunk, takes its whole share."""
        request = container.request
        if request.driver:
            for kind, amount in enumerate(request.shape):
                self.world.free[kind][container.node] += sign * amount * (self.ceiling[kind] - 1.0)

    def stretch(self) -> None:
        """Σ N ≤ capacity with N = D/c is Σ D ≤ c · capacity: stretch the world's books by the ceiling."""
        for node in range(len(self.world.capacity)):
            self._stretch(node)

    def _stretch(self, node: int) -> None:
        for kind, ceiling in enumerate(self.ceiling):
            self.world.free[kind][node] *= ceiling


def _alpha(apps: Sequence[App]) -> float:
    started = [app for app in apps if app.started]
    return factor(sum(app.stages > 0 for app in started) / len(started)) if started else 0.0


def _key(request: Request) -> str:
    return f"{request.app.index}/{request.index}"


def _depth(request: Request) -> int:
    return 1 + max((_depth(parent) for parent in request.parents), default=-1)
