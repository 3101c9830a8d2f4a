"""The applications of a simulated world as the gatekeeper sees them, made anew only when they change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, overload

from slackwater.cycle.snapshot import App, PodGroup
from slackwater.pools.demand import demand
from slackwater.pools.mediantask import MedianTask
from slackwater.pools.pools import Category
from slackwater.resources import Resources
from slackwater.roles import Role
from slackwater_simulator.policies.slackwater.promises import Promises

if TYPE_CHECKING:
    from slackwater.resources import Kinds
    from slackwater_simulator.worlds.yarn.model import App as YarnApp
    from slackwater_simulator.worlds.yarn.model import Request

QUEUE = "default"
Shape = tuple[float, ...]


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
        if not 0 <= index < self._count:
            index = range(self._count)[index]
        return f"{self._key}#{index}"


class Views:
    """What the snapshot shows of each application."""

    def __init__(
        self,
        kinds: Kinds,
        slot: Callable[[], Resources],
        native: Callable[[Shape, bool], Shape],
        cramped: Callable[[Request], bool],
    ) -> None:
        self._kinds, self._slot, self._native, self._cramped = kinds, slot, native, cramped
        self.apps: dict[int, YarnApp] = {}
        self.requests: dict[str, Request] = {}  # by group key
        self.stuck: set[str] = set()  # groups for which placement found no node
        self.promises = Promises()
        self.waiting = self.promises.counts  # released and not yet placed (worlds with heartbeats)
        self.started: set[int] = set()
        # As of the last round. A job tells all it wants when it is submitted, so only nodes that fail may change it.
        self.categories: dict[int, Category] = {}
        self.seats: dict[int, tuple[str, ...]] = {}  # the nodes of drivers, by app …
        self.driver_bound: dict[int, float] = {}  # … and since when they are there
        self.median_task = MedianTask()
        self.served: dict[int, float] = {}  # by app: when a task of it came to its node last
        self.held_since: dict[int, float] = {}  # apps that wait for containers
        self._made: dict[int, App] = {}
        self._named: dict[tuple[float, ...], Resources] = {}

    def all(self) -> tuple[App, ...]:
        """Every application, in the order of submission."""
        made = self._made
        return tuple([made.get(index) or self._make(app) for index, app in self.apps.items()])

    def drop(self, index: int) -> None:
        """The application changed: look at it again."""
        self._made.pop(index, None)

    def waits(self, app: YarnApp, now: float) -> None:
        """It asked for containers, or got one: since when it waits for any."""
        if app.pending:
            self.held_since.setdefault(app.index, now)
        else:
            self.held_since.pop(app.index, None)

    def forget(self, app: YarnApp) -> None:
        """It is over."""
        for held in (
            self.apps,
            self._made,
            self.categories,
            self.seats,
            self.driver_bound,
            self.held_since,
            self.served,
        ):
            held.pop(app.index, None)
        self.started.discard(app.index)
        for request in [app.master, *app.requests]:
            if request is not None:
                self.requests.pop(request.key, None)
                self.promises.put(request, 0)
                self.stuck.discard(request.key)

    def promise(self, key: str, count: int) -> None:
        """So many of the group's containers are released and wait for a node."""
        request = self.requests[key]
        self.drop(request.app.index)
        self.promises.put(request, max(count, 0))

    def named(self, shape: tuple[float, ...]) -> Resources:
        """A shape by kinds; there are few of them."""
        found = self._named.get(shape)
        if found is None:
            found = self._named[shape] = Resources.from_vector(self._kinds, shape)
        return found

    def _make(self, app: YarnApp) -> App:
        job = app.job
        groups = tuple(self._groups(app))
        task = self.named(app.requests[0].shape) if app.requests else None
        if task is not None:
            self.median_task.see(job.name or job.id, task)
        stage = 0
        for request in app.requests:
            if request.stage and request.asked:
                stage = max(stage, request.stage.iteration)
        view = self._made[app.index] = App(
            str(app.index),
            job.user,
            job.submit,
            groups,
            queue=QUEUE,
            priority=job.priority,
            started=app.index in self.started,
            demand=self._demand(app),
            task_request=task,
            has_driver=app.master is not None,
            gang=job.gang,
            strict=job.strict,
            stages=job.iterations,
            stage=stage,
            held_since=self.held_since.get(app.index),
            served=self.served.get(app.index),
            driver_bound=self.driver_bound.get(app.index),
        )
        return view

    def _demand(self, app: YarnApp) -> float:
        """Slots it wants at once: its driver, and whichever of its stages takes most of them."""
        widest: dict[Shape, int] = {}
        for request in app.requests:
            widest[request.shape] = max(widest.get(request.shape, 0), request.total)
        slot = self._slot()
        tasks = max((demand(((self.named(shape), count),), slot) for shape, count in widest.items()), default=0.0)
        return tasks + (demand(((self.named(app.master.shape), 1),), slot) if app.master is not None else 0.0)

    def _foreseen(self, request: Request) -> bool:
        """Whether drivers must know of a stage before it asks: its own might take the only node that it can use."""
        return not request.app.job.gang and self._cramped(request)

    def _groups(self, app: YarnApp) -> Iterator[PodGroup]:
        for request in [app.master, *app.requests]:
            if request is None or not (request.driver or request.asked or self._foreseen(request)):
                continue
            key = request.key
            self.requests[key] = request
            promised = self.waiting.get(key, 0)
            # The driver's own container counts as running from the moment it is bound.
            yield PodGroup(
                key,
                Role.DRIVER if request.driver else Role.TASK,
                self.named(request.shape),
                held=Unnamed(key, max(0, request.pending - promised)),
                released=promised,
                running=request.held,
                finished=request.done,
                # A gang does not wait for what is done: its next stage, or a task to repeat, goes without it.
                expected=request.total - (request.done if app.job.gang else 0),
                stage=request.stage.name if request.stage else "driver",
                level=request.level,
                waiting=bool(request.parents) and any(parent.seen < parent.total for parent in request.parents),
                unplaceable=key in self.stuck,
                native=self.named(self._native(request.shape, request.driver)),
                seats=self.seats.get(app.index, ()) if request.driver else (),
            )
