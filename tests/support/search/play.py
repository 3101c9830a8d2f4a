"""Play one world twice, with the stock scheduler and with Slackwater, and say what is wrong with the second."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from zlib import crc32

from slackwater_cluster import names
from slackwater_cluster.objects.records import PodRecord
from support.logs import quietly
from support.search.checks import Checks
from support.search.cluster import Cluster
from support.search.lives import BACKOFF, Life
from support.search.plan import Failure, Trouble, WorldPlan
from support.search.programs import Client, ExtenderProgram, OperatorProgram
from support.search.schedulers import schedule
from support.search.visitors import Visitor

START = 1000.0
STEP = 1.0  # seconds between rounds while things move …
IDLE = 5.0  # … and while nothing does
QUIET = 400.0  # seconds without any move after which nothing is expected to come: above every patience and timeout …
GROWN = 700.0  # … and so much more where machines may come: pods wait ten minutes for one, and a stall is one later
OWNERS = ("halt", "close", "leave", "rewrite")  # what owners of queues and namespaces do
LASTING = ("silence", "writes", "cordon", "drain", "unlabel", "unplug", "pause", *OWNERS)  # what ends by itself
LONGEST = 3000.0  # seconds a world may last: some ten times as long as the longest sensible one …


@dataclass
class Outcome:
    """What became of one world."""

    seed: int
    failures: list[Failure] = field(default_factory=list)
    stock: float = 0.0  # seconds until the last app that finished did so
    ours: float = 0.0
    apps: int = 0
    pods: int = 0
    stock_finished: int = 0
    ours_finished: int = 0
    refused: int = 0
    evictions: tuple[int, int] = (0, 0)  # stock, ours
    rounds: int = 0


class _Side:
    """What both sides share: lives, troubles and time."""

    def __init__(self, plan: WorldPlan, *, managed: bool) -> None:
        self.cluster = Cluster(plan, managed=managed)
        self.lives = [Life(self.cluster, app) for app in plan.apps]
        last: dict[str, Life] = {}
        for life in self.lives:
            if life.plan.run and life.id in last:
                life.follow(last[life.id])
            last[life.id] = life
        self.current = {life.id: life for life in reversed(self.lives)}  # of those of one name the one that lives
        self.visitors = [Visitor(self.cluster, each) for each in plan.visitors]
        guests = {visitor.id: visitor for visitor in self.visitors}
        self.cluster.uses_of = lambda pod: _use(self.current, guests, pod)
        self._troubles = list(plan.troubles)
        self._returns = [(START + node.late, node.name) for node in plan.nodes if node.late]
        self._ends: list[tuple[float, Trouble]] = []
        self._last, self._moved = -1, START
        self.finished_at = START
        self.trouble()  # what is so from the beginning: programs that start now know nothing else

    @property
    def until(self) -> float:
        """… and after each pod that is killed for its memory until its controller gives up, its node may be shut."""
        plan = self.cluster.plan
        killed = (1 + BACKOFF) * sum(app.memory_use > 1 for app in plan.apps)
        return START + LONGEST + killed * plan.pressure

    @property
    def over(self) -> bool:
        """Whether every app has ended, and every visitor."""
        return all(life.over for life in self.lives) and all(each.over for each in self.visitors)

    def live(self) -> None:
        """Troubles, kubelets and apps up to now."""
        self.trouble()
        self.cluster.kubelets()
        for visitor in self.visitors:
            visitor.step()
        for life in self.lives:
            before = life.over
            life.step()
            if life.plan.run and life.begun:
                self.current[life.id] = life
            if life.over and not before:
                self.finished_at = self.cluster.now
        if self.cluster.progress != self._last:
            self._last, self._moved = self.cluster.progress, self.cluster.now

    @property
    def quiet(self) -> float:
        """Seconds since anything got on."""
        return self.cluster.now - self._moved

    def next_event(self) -> float:
        """The next moment at which something happens by itself."""
        now = self.cluster.now
        times = [life.next_event() for life in self.lives] + [each.next_event() for each in self.visitors]
        times += [START + each.at for each in self._troubles] + [at for at, _ in (*self._returns, *self._ends)]
        times += [pod.scheduled + self.cluster.plan.start_lag for pod in self.cluster.unstarted.values()]
        times += [*self.cluster.pressed.values(), *self.cluster.terminating.values()]
        return max(now, min(times, default=math.inf))

    def trouble(self) -> None:
        """What goes wrong by now, and what is over by now."""
        now = self.cluster.now
        for each in [each for each in self._troubles if START + each.at <= now + 1e-9 and self.strikes(each)]:
            self._troubles.remove(each)
            self.strike(each)
        for at, node in [each for each in self._returns if each[0] <= now + 1e-9]:
            self._returns.remove((at, node))
            self.cluster.join(next(plan for plan in self.cluster.plan.nodes if plan.name == node))
        for at, trouble in [each for each in self._ends if each[0] <= now + 1e-9]:
            self._ends.remove((at, trouble))
            self.relieve(trouble)

    def strikes(self, trouble: Trouble) -> bool:
        """Whether this is the moment for something that is due."""
        del trouble
        return True

    def strike(self, trouble: Trouble) -> None:
        """Something goes wrong."""
        if trouble.what == "node" and trouble.node in self.cluster.nodes:
            self.cluster.lose_node(trouble.node)
            self._returns.append((self.cluster.now + trouble.seconds, trouble.node))
        elif trouble.what in ("cordon", "drain"):
            self.cluster.alter_node(trouble.node, cordoned=True)
            self.cluster.clear_node(trouble.node if trouble.what == "drain" else "")
        elif trouble.what == "unplug":
            self._show(trouble.node, devices=False)
        elif trouble.what == "unlabel":
            self.cluster.alter_node(trouble.node, labels={})
        elif trouble.what in ("delete", "withdraw", "driver"):
            self.current[trouble.app].delete_pod(driver=trouble.what == "driver")
        elif trouble.what == "pause":
            self._pause(trouble.app, on=True)
        elif trouble.what in ("halt", "close"):
            self.cluster.stopped[trouble.scope] = "true" if trouble.what == "halt" else "drain"
        elif trouble.terms is not None:
            self.cluster.terms[trouble.scope] = trouble.terms
        if trouble.what in LASTING:
            self._ends.append((self.cluster.now + trouble.seconds, trouble))

    def relieve(self, trouble: Trouble) -> None:
        """And is over."""
        if trouble.what in ("cordon", "drain"):
            self.cluster.alter_node(trouble.node, cordoned=False)
        elif trouble.what == "unplug":
            self._show(trouble.node, devices=True)
        elif trouble.what == "unlabel":
            labels = {plan.name: plan.labels for plan in self.cluster.plan.nodes}
            self.cluster.alter_node(trouble.node, labels=labels.get(trouble.node, {}))
        elif trouble.what == "pause":
            self._pause(trouble.app, on=False)
        elif trouble.what in ("halt", "close"):
            self.cluster.stopped.pop(trouble.scope, None)
        elif trouble.terms is not None:
            stated = {queue.name: queue for queue in self.cluster.plan.queues}
            self.cluster.terms[trouble.scope] = stated[trouble.scope]

    def _pause(self, app: str, *, on: bool) -> None:
        for life in self.lives:
            if life.id == app and not life.over:
                life.pause(on=on)
        self._changed()

    def _changed(self) -> None:
        self.cluster.moves += 1
        self.cluster.stopped_at = self.cluster.now

    def _show(self, name: str, *, devices: bool) -> None:
        """What a node offers, with its devices or without."""
        for node in self.cluster.plan.nodes:
            if node.name == name:
                size = (node if devices else replace(node, gpus=0)).size
                self.cluster.alter_node(name, allocatable=size, capacity=size)


class Stock(_Side):
    """The world with the stock scheduler alone."""

    def __init__(self, plan: WorldPlan) -> None:
        super().__init__(plan, managed=False)

    def play(self) -> None:
        """Until all is over, or nothing will move any more."""
        while not self.over and self.cluster.now < self.until:
            self.live()
            schedule(self.cluster)
            at = self.next_event()
            if math.isinf(at):
                return
            # Kubelets look at memory every second here too: whoever looks less often loses fewer pods.
            now = self.cluster.now
            self.cluster.now = min(max(at, now + 0.25), now + STEP)


class Ours(_Side):
    """The world with operator, extender and a scheduler that asks it."""

    programs: tuple[OperatorProgram | ExtenderProgram, ...] = ()
    _released = False  # whether this step's round is over, and its pods are not bound yet

    def __init__(self, plan: WorldPlan, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(plan, managed=True)
        self.extender = ExtenderProgram(self.cluster)
        self.operator = OperatorProgram(self.cluster, Client(self.extender), loop)
        self.programs = (self.operator, self.extender)
        self.cluster.watchers += self.programs
        self.checks = Checks(self.cluster, self.current)
        self.rounds = 0

    def strikes(self, trouble: Trouble) -> bool:
        """A pod is withdrawn after a round and before the scheduler sees it, everything else happens before."""
        return (trouble.what == "withdraw") == self._released

    def strike(self, trouble: Trouble) -> None:
        """Something goes wrong; programs can, too."""
        super().strike(trouble)
        if trouble.what == "operator":
            self.operator.restart()
        elif trouble.what == "extender":
            self.extender.restart()
        elif trouble.what == "silence":
            self.extender.silent = True
        elif trouble.what == "writes":
            self.checks.excused = True
            self.cluster.broken = lambda path: crc32(path.encode()) % 2 == 0
        elif trouble.what == "leave":
            self.cluster.unmanaged.add(trouble.scope)
        self._govern(trouble)

    def _govern(self, trouble: Trouble) -> None:
        if trouble.what in OWNERS:
            self._changed()
            for program in self.programs:
                program.govern()

    def relieve(self, trouble: Trouble) -> None:
        """The extender answers again, or writes succeed again."""
        super().relieve(trouble)
        if trouble.what == "silence":
            self.extender.silent = False
        elif trouble.what == "writes":
            self.cluster.broken = lambda _: False
            self.checks.excused = False
        elif trouble.what == "leave":
            self.cluster.unmanaged.discard(trouble.scope)
        self._govern(trouble)

    def play(self) -> None:
        """Until all is over, nothing moves any more, or something is found."""
        most = QUIET + GROWN * any(queue.most for queue in self.cluster.plan.queues)
        while not self.over and (self.quiet < most or self.awaits) and self.cluster.now < self.until:
            self.step()
            if self.checks.failures:
                return

    @property
    def awaits(self) -> bool:
        """Whether an app comes again, or is given up, at a time that is known."""
        lives = (life for life in self.lives if not life.over and (life.plan.run or life.plan.withheld))
        return any(math.isfinite(life.next_event()) for life in lives)

    def step(self) -> None:
        """One round of everybody, and time passes."""
        before = self.cluster.moves
        self.live()
        self.extender.step()
        self.operator.step()
        self.rounds += 1
        self.checks.after_round(self.operator)
        self._released = True
        self.trouble()
        self._released = False
        schedule(self.cluster)  # visitors: what is on its way to a node and not nominated there they do not see
        schedule(self.cluster, self.extender)
        self.checks.after_binds()
        moving = self.cluster.moves != before or self.quiet < 2 * STEP
        now = self.cluster.now
        self.cluster.now = min(max(self.next_event(), now + 0.25), now + (STEP if moving else IDLE))


def play(plan: WorldPlan, loop: asyncio.AbstractEventLoop | None = None) -> Outcome:
    """Both sides of one world, and what is wrong."""
    own = loop or asyncio.new_event_loop()
    try:
        with quietly():
            stock = Stock(plan)
            stock.play()
            ours = Ours(plan, own)
            outcome = Outcome(plan.seed, apps=len(plan.apps))
            try:
                ours.play()
            except Exception as problem:  # noqa: BLE001 - whatever breaks is what is searched for
                outcome.failures.append(_crash(problem, ours.cluster.now))
    finally:
        if loop is None:
            own.close()
    _judge(outcome, stock, ours)
    return outcome


def _judge(outcome: Outcome, stock: Stock, ours: Ours) -> None:
    """Compare the two sides."""
    outcome.failures += ours.checks.failures
    outcome.stock, outcome.ours = stock.finished_at - START, ours.finished_at - START
    outcome.pods, outcome.rounds = len(ours.cluster.pods), ours.rounds
    outcome.evictions = (stock.cluster.evictions, ours.cluster.evictions)
    outcome.stock_finished = sum(life.finished for life in stock.lives)
    outcome.ours_finished = sum(life.finished for life in ours.lives)
    if outcome.failures or any(each.what == "leave" for each in ours.cluster.plan.troubles):
        return  # where a namespace was not managed for a while its apps may be in each other's way, as with stock
    for theirs, mine in zip(stock.lives, ours.lives, strict=True):
        refused, sentence = _said(ours, mine)
        outcome.refused += refused
        if theirs.finished and (not mine.over or mine.failed):
            kind = "lost to evictions" if mine.failed else "refused" if refused else "held for ever"
            outcome.failures.append(Failure(kind, ours.cluster.now - START, f"{mine.id}: {sentence}"))
    for guest, same in zip(stock.visitors, ours.visitors, strict=True):
        if guest.over and not same.over:
            outcome.failures.append(Failure("held for ever", ours.cluster.now - START, f"{same.id}: it is not ours"))


def _said(ours: Ours, life: Life) -> tuple[bool, str]:
    """Whether the operator refuses an app, and what it says about it."""
    result = ours.operator.releaser.result
    verdict = result.round.verdicts.get(life.id) if result is not None and not life.over else None
    return (verdict.refused, verdict.sentence) if verdict is not None else (False, "nothing is said about it")


def _crash(problem: Exception, now: float) -> Failure:
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}" if trace else "?"
    return Failure("crash", now - START, f"{type(problem).__name__}: {problem} ({where})")


def _use(lives: Mapping[str, Life], guests: Mapping[str, Visitor], pod: PodRecord) -> tuple[float, float]:
    owner = f"{pod.namespace}/{pod.labels.get(names.APP, '')}"
    life = lives.get(owner) or guests.get(owner)
    return life.use(pod) if life is not None else (pod.native["cpu"] / 2, pod.native["memory"] / 2)
