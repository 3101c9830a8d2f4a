"""The applications' side: submission, the driver first, its ticks, asks, launches, retries and the goodbye.

A master acts only at its ticks (submission + n × heartbeat). What it will find there is put into its box for that tick;
a tick with an empty box is never executed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from slackwater_simulator.engine import SUBMIT, TICK
from slackwater_simulator.results.status import CRASHED, DONE, DRIVER, FAILED, FINISHED, KILLED, REFUSED
from slackwater_simulator.worlds.refusals import Refusals
from slackwater_simulator.worlds.yarn.model import App, Container, Request
from slackwater_simulator.worlds.yarn.stages import askable, build, fetchable, run_end

if TYPE_CHECKING:
    from collections.abc import Callable

    from slackwater_simulator.worlds.yarn.interface import World


class Masters:
    """All application masters of a run."""

    boxed = True  # a container that is to be launched waits in its master's box, where it is found if it broke

    def __init__(self, world: World, progress: Callable[[float], None] | None) -> None:
        self.world = world
        self.engine = world.engine
        self.jobs = world.workload.jobs
        self.order = sorted(range(len(self.jobs)), key=lambda index: self.jobs[index].submit)
        self.apps: dict[int, App] = {}  # not yet over, by row of the outcome
        self.over = 0
        self.progress = progress
        self.work = sum(job.tasks + 1 for job in self.jobs)  # tasks and, for each app, its end
        self.worked = 0
        self.step = max(1, self.work // 100)  # of it between two reports of progress
        self.refusals = Refusals(self.jobs, world.kinds, world.scheduler)

    # ---- submission -----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Schedule the first submission; each one schedules the next, so the heap stays small."""
        if self.order:
            self.engine.at(self.jobs[self.order[0]].submit, SUBMIT, self._submit, 0)

    def _submit(self, position: int) -> None:
        if position + 1 < len(self.order):
            submit = self.jobs[self.order[position + 1]].submit
            self.engine.at(submit, SUBMIT, self._submit, position + 1)
        index = self.order[position]
        app = App(index, position, self.jobs[index], len(self.world.kinds))
        self.apps[index] = app
        self._prepare(app)
        settings, now = self.world.settings, self.engine.now
        accepted = max(now + settings.accept_delay, self.jobs[self.order[0]].submit + settings.warm_up)
        if self.refusals.refuse(app):
            self._over(app, REFUSED)
        elif accepted > now:
            self.engine.at(accepted, SUBMIT, self._accept, app)
        else:
            self._accept(app)

    def _prepare(self, app: App) -> None:
        world = self.world
        build(app, world.rounded, world.places)
        if app.job.driver is not None:
            app.master = Request(app, DRIVER, None, world.rounded(app.job.driver.request), 1)

    def _accept(self, app: App) -> None:
        self.world.scheduler.submitted(app)
        if app.master is not None:
            self.world.ask(app.master, 1)
        else:
            app.registered = True
            self.ask_stages(app)
            self._maybe_leave(app)

    # ---- the master's ticks ---------------------------------------------------------------------------------------

    def acquired(self, container: Container) -> None:
        """A container was allocated: a driver starts at once, a task waits for its master's tick."""
        app = container.request.app
        if container.request.driver:
            self._start_driver(app, container)
        elif app.master is None:
            self.launch(container)
        else:
            self._into_box(app, container)

    def _into_box(self, app: App, container: Container) -> None:
        settings = self.world.settings
        submit, period = app.job.submit, settings.master_heartbeat
        tick = math.floor((self.engine.now - submit) / period + 1e-9) + 1 + settings.response_lag
        if tick in app.box:
            app.box[tick].append(container)
        else:
            app.box[tick] = [container]
            self.engine.at(submit + tick * period, TICK, self._tick, (app, tick))

    def _start_driver(self, app: App, container: Container) -> None:
        app.driver = container
        if app.started != app.started:  # NaN: not a later attempt
            app.started = self.engine.now
        container.start = self.engine.now
        container.end = math.inf
        container.launched = True
        container.task = 0
        self.world.started(container)
        startup = app.job.driver.startup if app.job.driver is not None else 0.0
        warm = self.jobs[self.order[0]].submit + self.world.settings.warm_master
        self.engine.at(max(self.engine.now + startup, warm), TICK, self._register, container)

    def _register(self, container: Container) -> None:
        """The master is up; at its first tick after this it asks for tasks."""
        app = container.request.app
        if container.status >= 0:
            return  # lost while starting
        app.registered = True
        submit, period = app.job.submit, self.world.settings.master_heartbeat
        tick = math.floor((self.engine.now - submit) / period + 1e-9) + 1
        if tick not in app.box:
            app.box[tick] = []
            self.engine.at(submit + tick * period, TICK, self._tick, (app, tick))

    def _tick(self, what: tuple[App, int]) -> None:
        app, tick = what
        box = app.box.pop(tick, None)
        if box is None or not app.registered:
            return
        for container in box:
            if container.status >= 0:
                self.seen(container)
        for container in box:
            if container.status < 0 and not container.launched:
                self.launch(container)
        if app.waiting:
            self.ask_stages(app)
        self._maybe_leave(app)

    def ask_stages(self, app: App) -> None:
        """Ask for every task that may now be asked for."""
        full = True
        for request in app.waiting:
            count = askable(request) - request.asked
            if count > 0 and (not request.stage or not request.stage.delay or self._due(request)):
                if not request.durations and request.stage is not None:
                    request.durations = request.stage.durations.tolist()
                request.asked += count
                self.world.ask(request, count)
            full = full and request.asked < request.total
        if not full:
            app.waiting = [request for request in app.waiting if request.asked < request.total]

    def _due(self, request: Request) -> bool:
        """Whether a stage with a request delay may ask: the delay counts from the moment it first could."""
        app, now = request.app, self.engine.now
        if request.due != request.due:  # NaN: it could not ask before
            request.due = now + (request.stage.delay if request.stage is not None else 0.0)
        if now >= request.due - 1e-9:  # the master's tick may be that much before it
            return True
        if app.master is None:
            self.engine.at(request.due, TICK, self._late, app)
        else:
            self._look_in(app, request.due)
        return False

    def _late(self, app: App) -> None:
        self.ask_stages(app)

    def _look_in(self, app: App, moment: float) -> None:
        """Have the master tick at the first of its ticks from that moment on, whatever its box holds by then."""
        submit, period = app.job.submit, self.world.settings.master_heartbeat
        tick = math.ceil((moment - submit) / period - 1e-9)
        if tick not in app.box:
            app.box[tick] = []
            self.engine.at(submit + tick * period, TICK, self._tick, (app, tick))

    def seen(self, container: Container) -> None:
        """The master learns how a task's container ended."""
        request = container.request
        if container.status == DONE:
            request.seen += 1
            if request.seen == request.total:
                request.app.left -= 1
            return
        self._again(container)

    def _again(self, container: Container) -> None:
        """Run the task of a failed container again, unless it has failed too often."""
        request = container.request
        if request.app.status == FAILED:
            return
        if container.task >= 0:
            if container.status == CRASHED and self._hopeless(container):
                self.fail(request.app)
                return
            request.again(container.task)
        self.world.ask(request, 1)

    def _hopeless(self, container: Container, more: int = 0) -> bool:
        """Whether what broke with the container has been tried often enough, and that many times more."""
        tries, most = container.request.failed(container.task), self.world.settings.attempts
        return bool(most) and tries >= most + more

    # ---- running --------------------------------------------------------------------------------------------------

    def launch(self, container: Container) -> None:
        """Start a task in the container: a task to repeat, else the next in trace order."""
        request, now = container.request, self.engine.now
        if container.task < 0:
            container.task = request.take()
        container.launched = True
        container.start = now
        app = request.app
        if app.first != app.first:  # NaN: this is the job's first task
            app.first = now
        self.world.started(container)
        if request.parents and not fetchable(request):
            container.end = math.inf
            request.shuffle(container)
            return
        container.end = run_end(container)
        self.world.ends(container)

    def completed(self, container: Container) -> None:
        """A task ended well and its node has said so."""
        request = container.request
        request.done += 1
        self._worked(1)
        request.last_done = max(request.last_done, container.end)
        if request.done >= request.total:
            for child in request.children:
                if child.shuffling and fetchable(child):
                    self._fetched(child)
        self.told(container)

    def told(self, container: Container) -> None:
        """The resource manager has news of a container for its master."""
        app = container.request.app
        if app.master is not None:
            self._into_box(app, container)
            return
        self.seen(container)
        if app.waiting:
            self.ask_stages(app)
        self._maybe_leave(app)

    def lost(self, container: Container) -> None:
        """A task broke, or its node did."""
        waiting = container.request.shuffling
        if waiting and container in waiting:
            waiting.remove(container)
        if container.launched or not self.boxed:
            self.told(container)

    def _fetched(self, request: Request) -> None:
        """The last parent is done: the ends of those that waited for it are known now."""
        waiting, request.shuffling = request.shuffling, None
        for container in waiting or ():
            if container.status < 0:
                container.end = max(run_end(container), self.engine.now)
                self.world.ends(container)

    # ---- the end --------------------------------------------------------------------------------------------------

    def _maybe_leave(self, app: App) -> None:
        if app.left == 0 and app.end != app.end:
            self._goodbye(app)

    def _goodbye(self, app: App) -> None:
        """All tasks are seen done: the master unregisters and its node reports its container at the next beat."""
        settings = self.world.settings
        app.end = self.engine.now + settings.farewell_lag * settings.master_heartbeat
        app.registered = False
        app.box.clear()
        if app.driver is not None:
            app.driver.end = self.engine.now
            self.world.ends(app.driver)
        else:
            self._over(app, FINISHED)

    def driver_gone(self, app: App) -> None:
        """The driver's container is back: the application leaves the scheduler."""
        app.driver = None
        self._over(app, FINISHED)

    def _over(self, app: App, status: int) -> None:
        app.status = status
        if status != REFUSED:
            self.world.scheduler.finished(app)
        self.over += 1
        self.world.times.note(app)
        del self.apps[app.index]
        self._worked(app.job.tasks - sum(request.done for request in app.requests) + 1)
        app.untie()

    def _worked(self, more: int) -> None:
        """Tell how much is done: by tasks, as apps that start together end together. Who gives up leaves no work."""
        if self.progress is None:
            return
        before, self.worked = self.worked, self.worked + more
        if before // self.step < self.worked // self.step or self.worked == self.work:
            self.progress(self.worked / self.work)

    def fail(self, app: App) -> None:
        """A task failed once too often: the job fails and everything it holds is killed."""
        app.end = self.engine.now
        app.registered = False
        app.box.clear()
        self.world.withdraw(app)
        for container in list(app.held):
            self.world.release(container, KILLED)
        app.driver = None
        self._over(app, FAILED)

    def driver_lost(self, app: App) -> None:
        """The driver died: everything of this attempt is killed; a new driver carries on with what is not done."""
        driver, app.driver = app.driver, None
        app.registered = False
        if app.end == app.end:  # it had said goodbye, and nothing is left to do
            self._over(app, FINISHED)
            return
        if driver is not None and driver.status == CRASHED and self._hopeless(driver, 1):
            self.fail(app)
            return
        for container in {unread: None for box in app.box.values() for unread in box}:
            if container.status > DONE and container.task >= 0:
                container.request.again(container.task)
        app.box.clear()
        self.world.withdraw(app)
        for container in list(app.held):
            if container.task >= 0:
                container.request.again(container.task)
            self.world.release(container, KILLED)
        for request in app.requests:
            request.shuffling = None
            request.asked = request.done
            if request.seen < request.done == request.total:
                app.left -= 1
            request.seen = request.done
        app.waiting = [request for request in app.requests if request.asked < request.total]
        if app.master is not None:
            self.world.ask(app.master, 1)

    def preempt_reduces(self) -> bool:
        """Everything stands still: kill waiting reduces of the first job whose maps find no room. False: none is.

        MapReduce's master does so itself; without it, reduces started early would lock up a full cluster.
        """
        for app in self.apps.values():
            if not app.registered:
                continue
            for request in app.requests:
                hungry = sum(parent.pending for parent in request.parents)
                if request.shuffling and hungry:
                    self._preempt(request, hungry)
                    return True
        return False

    def _preempt(self, request: Request, count: int) -> None:
        """Kill the youngest; they are asked for again only when all maps have their containers."""
        app = request.app
        waiting = request.shuffling or []
        for container in waiting[-count:]:
            self.world.release(container, KILLED)
            request.again(container.task)
            request.asked -= 1
        del waiting[-count:]
        request.asked -= request.pending
        request.barred = True
        if request.pending:
            self.world.ask(request, -request.pending)
        if request not in app.waiting:
            app.waiting.append(request)
        self.world.stir()
