"""002's budget as one queue's apps meet it: on each of their grounds, and against tasks that still wait."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from slackwater.admission.budget import DriverVerdict, RunningMeans, WaitingDriver, admit
from slackwater.cycle.appsize import AppSize
from slackwater.cycle.contention import Ground, Grounds
from slackwater.cycle.drivernodes import DriverNodes
from slackwater.cycle.podline.readiness import helped_by_room
from slackwater.cycle.snapshot import App, Queue, Snapshot
from slackwater.resources import NOTHING, Resources


class DriverBudget:
    """What drivers of one queue hold, and whether one more may start."""

    def __init__(
        self,
        snapshot: Snapshot,
        queue: Queue,
        running: Sequence[App],
        sizes: Mapping[str, AppSize],
        driver_nodes: DriverNodes,
        growth_with_room: Collection[str] = (),
    ) -> None:
        self._snapshot, self._queue, self._sizes, self._driver_nodes = snapshot, queue, sizes, driver_nodes
        self._grounds = Grounds(snapshot, queue, running, sizes, driver_nodes, growth_with_room)
        self._means: RunningMeans | None = None

    @property
    def means(self) -> RunningMeans:
        """What runs: counted when first asked for, as most rounds have no driver to admit."""
        if self._means is None:
            self._means = self._grounds.whole().means
        return self._means

    def enter(self, app: App) -> None:
        """An app starts: its driver is charged, and its tasks keep their nodes."""
        size = self._sizes[app.id]
        self._driver_nodes.start(app)
        if size.driver:
            if self._means is not None:
                self._means.start_driver(size.driver, self._driver_nodes.promised(app, size.task))
            self._grounds.enter(app)

    def test(self, app: App) -> DriverVerdict:
        """The budget on each of the app's grounds: the first that refuses, else the last."""
        grounds = self._grounds.of(app)  # one at the least
        answer = self._answer(app, grounds[0])
        for ground in grounds[1:]:
            if not answer.admitted:
                break
            answer = self._answer(app, ground)
        return answer

    def _answer(self, app: App, ground: Ground) -> DriverVerdict:
        sizes = self._sizes[app.id].driver, self._task(app, ground)
        found = ground.answers.get(sizes)
        if found is None:
            driver = WaitingDriver(app.id, *sizes)
            found = ground.answers[sizes] = admit(driver, ground.means, ground.capacity, self._most(ground))
        return found

    def _most(self, ground: Ground) -> Resources | None:
        """The most there may ever be; of kinds that a stated maximum does not name nobody knows."""
        if not self._queue.maximum:
            return ground.most
        most = self._queue.most(ground.capacity)
        return Resources({kind: most[kind] for kind in self._queue.maximum})

    # While nobody knows the size of a task:  TC = min(AMC, C − AMC)
    def _task(self, app: App, ground: Ground) -> Resources:
        """What one task asks of the ground; while nobody knows, as much as the driver, as far as there is room.

        A plain `spark-submit` says nothing of its executors before they exist, and drivers that are let in without any
        reserve fill the nodes.
        """
        size = self._sizes[app.id]
        if not ground.shared:
            return NOTHING
        if size.task or not app.tasks_to_come:
            return self._driver_nodes.placeable(app, size.task)
        return size.driver.at_most((ground.capacity - size.driver).at_least(NOTHING))

    def wants_tasks(self, app: App, gone: Mapping[tuple[str, str], int]) -> bool:
        """Whether tasks of an app wait for room, or are still to come, and a node could take one beside the drivers.

        `gone` are the pods that this round has released, by app and group.
        """
        tasks = app.tasks
        if tasks:
            wants = any(len(group.held) > gone.get((app.id, group.key), 0) for group in tasks)
        else:
            wants = app.has_driver and any(group.held or group.charged for group in app.groups)
        return wants and helped_by_room(app, self._queue, self._snapshot) and self._driver_nodes.serves(app)

    def leaves_a_task(self, app: App, largest: Resources) -> bool:
        """Beside all drivers and this one, the largest task of any of their apps, or of this one, still fits."""
        asked = self._sizes[app.id].driver + self._larger(largest, app)
        return all(self._holds(ground, asked) for ground in self._grounds.of(app))

    def _holds(self, ground: Ground, asked: Resources) -> bool:
        """Whether the ground holds so much beside its drivers. Tasks of other queues end: they keep no node idle."""
        if (ground.means.charged + asked).fits(ground.capacity):
            return True
        left = self._driver_nodes.left_on(ground.nodes)
        return left is not None and asked.fits(left)

    def largest_task(self, started: Iterable[App]) -> Resources:
        """What the largest task of any app with a driver asks for, kind by kind."""
        largest = NOTHING
        for each in started:
            if _lives(each):
                largest = self._larger(largest, each)
        return largest

    def _larger(self, largest: Resources, app: App) -> Resources:
        size = self._sizes[app.id]
        if app.has_driver or size.driver:
            return largest.at_least(self._driver_nodes.promised(app, size.task))
        return largest


def _lives(app: App) -> bool:
    return any(group.alive for group in app.groups)
