"""Play one world twice, with the stock scheduler and with Slackwater, and say what is wrong with the second."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from zlib import crc32

from slackwater_cluster import names
from slackwater_cluster.watch.records import PodRecord
from support.logs import quietly
from support.search.checks import Checks
from support.search.cluster import Cluster
from support.search.lives import Life
from support.search.plan import Failure, Trouble, WorldPlan
from support.search.programs import Client, ExtenderProgram, OperatorProgram
from support.search.schedulers import schedule

START = 1000.0
STEP = 1.0  # seconds between rounds while things move …
IDLE = 5.0  # … and while nothing does
QUIET = 400.0  # seconds without any move after which nothing is expected to come: above every patience and timeout
LONGEST = 3000.0  # seconds a world may last: some ten times as long as the longest sensible one


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
        owners = {life.id: life for life in self.lives}
        self.cluster.uses_of = lambda pod: _use(owners, pod)
        self._troubles = list(plan.troubles)
        self._returns: list[tuple[float, str]] = []
        self._ends: list[tuple[float, str]] = []
        self._last, self._moved = -1, START
        self.finished_at = START

    @property
    def over(self) -> bool:
        """Whether every app has ended."""
        return all(life.over for life in self.lives)

    def live(self) -> None:
        """Troubles, kubelets and apps up to now."""
        self._trouble()
        self.cluster.kubelets()
        for life in self.lives:
            before = life.over
            life.step()
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
        times = [life.next_event() for life in self.lives]
        times += [START + each.at for each in self._troubles] + [at for at, _ in (*self._returns, *self._ends)]
        times += [pod.scheduled + self.cluster.plan.start_lag for pod in self.cluster.unstarted.values()]
        times += self.cluster.pressed.values()
        return max(now, min(times, default=math.inf))

    def _trouble(self) -> None:
        now = self.cluster.now
        while self._troubles and START + self._troubles[0].at <= now + 1e-9:
            self.strike(self._troubles.pop(0))
        for at, node in [each for each in self._returns if each[0] <= now + 1e-9]:
            self._returns.remove((at, node))
            self.cluster.join(next(plan for plan in self.cluster.plan.nodes if plan.name == node))
        for at, what in [each for each in self._ends if each[0] <= now + 1e-9]:
            self._ends.remove((at, what))
            self.relieve(what)

    def strike(self, trouble: Trouble) -> None:
        """Something goes wrong."""
        if trouble.what == "node" and trouble.node in self.cluster.nodes:
            self.cluster.lose_node(trouble.node)
            self._returns.append((self.cluster.now + trouble.seconds, trouble.node))

    def relieve(self, what: str) -> None:
        """And is over."""


class Stock(_Side):
    """The world with the stock scheduler alone."""

    def __init__(self, plan: WorldPlan) -> None:
        super().__init__(plan, managed=False)

    def play(self) -> None:
        """Until all is over, or nothing will move any more."""
        while not self.over and self.cluster.now < START + LONGEST:
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

    def __init__(self, plan: WorldPlan, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(plan, managed=True)
        self.extender = ExtenderProgram(self.cluster)
        self.operator = OperatorProgram(self.cluster, Client(self.extender), loop)
        self.cluster.watchers += [self.operator, self.extender]
        self.checks = Checks(self.cluster, self.lives)
        self.rounds = 0

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
        if trouble.what in ("silence", "writes"):
            self._ends.append((self.cluster.now + trouble.seconds, trouble.what))

    def relieve(self, what: str) -> None:
        """The extender answers again, or writes succeed again."""
        if what == "silence":
            self.extender.silent = False
        else:
            self.cluster.broken = lambda _: False
            self.checks.excused = False

    def play(self) -> None:
        """Until all is over, nothing moves any more, or something is found."""
        while not self.over and self.quiet < QUIET and self.cluster.now < START + LONGEST:
            self.step()
            if self.checks.failures:
                return

    def step(self) -> None:
        """One round of everybody, and time passes."""
        before = self.cluster.moves
        self.live()
        self.extender.step()
        self.operator.step()
        self.rounds += 1
        self.checks.after_round(self.operator)
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
    outcome.stock_finished = sum(life.over and not life.failed for life in stock.lives)
    outcome.ours_finished = sum(life.over and not life.failed for life in ours.lives)
    if outcome.failures:
        return
    for theirs, mine in zip(stock.lives, ours.lives, strict=True):
        refused, sentence = _said(ours, mine)
        outcome.refused += refused
        if theirs.over and not theirs.failed and (not mine.over or mine.failed):
            kind = "lost to evictions" if mine.failed else "refused" if refused else "held for ever"
            outcome.failures.append(Failure(kind, ours.cluster.now - START, f"{mine.id}: {sentence}"))


def _said(ours: Ours, life: Life) -> tuple[bool, str]:
    """Whether the operator refuses an app, and what it says about it."""
    outlook = ours.operator.releaser.outlook
    verdict = outlook.round.verdicts.get(life.id) if outlook is not None and not life.over else None
    return (verdict.refused, verdict.sentence) if verdict is not None else (False, "nothing is said about it")


def _crash(problem: Exception, now: float) -> Failure:
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}" if trace else "?"
    return Failure("crash", now - START, f"{type(problem).__name__}: {problem} ({where})")


def _use(owners: dict[str, Life], pod: PodRecord) -> tuple[float, float]:
    life = owners.get(f"{pod.namespace}/{pod.labels.get(names.APP, '')}")
    return life.use(pod) if life is not None else (pod.native["cpu"] / 2, pod.native["memory"] / 2)
