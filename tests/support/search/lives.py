"""Apps that live in a cluster of the search: drivers that make tasks, stages, gangs; what is lost is made again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.objects.records import OwnerRef, PodRecord
from support.search.cluster import Cluster
from support.search.plan import GIB, AppPlan, StagePlan, amounts

VARIANTS = 5  # sizes of uneven tasks
BACKOFF = 6  # evicted pods after which a controller gives up, as a Job does by default


@dataclass
class _Stage:
    plan: StagePlan
    number: int
    done: int = 0
    living: set[str] = field(default_factory=set)
    finished_at: float | None = None


@dataclass
class Life:
    """One app from its submission to its end."""

    cluster: Cluster
    plan: AppPlan
    over: bool = False
    failed: bool = False  # its tasks were evicted too often, and its controller gave up
    cancelled: bool = False  # its user deleted it before its end
    driver: str = ""
    evicted: int = 0  # pods of it that kubelets ended
    shown: bool = False  # whether there was a task of it: what its tasks ask for is known from then on
    paused: bool = False
    before: Life | None = None  # the one that had its name before
    begun: bool = False
    _made: int = 0

    def __post_init__(self) -> None:
        self.stages = [_Stage(plan, number) for number, plan in enumerate(self.plan.stages)]
        self.started = 1000.0 + self.plan.at

    @property
    def id(self) -> str:
        """Its name in the whole cluster."""
        return f"{self.plan.namespace}/{self.plan.name}"

    @property
    def finished(self) -> bool:
        """Whether all its tasks came to their end."""
        return self.over and not self.failed and not self.cancelled

    @property
    def to_come(self) -> bool:
        """Whether it has tasks that were not made yet."""
        return not self.over and any(s.done + len(s.living) < s.plan.tasks for s in self.stages)

    @property
    def known(self) -> list[StagePlan]:
        """Stages with tasks to run of which others know: those that were shown, before that what is announced."""
        if not self.shown:
            return [self.plan.stages[0]] if self.plan.announces else []
        return [each.plan for each in self.stages if self._open(each) and each.done < each.plan.tasks]

    def next_event(self) -> float:
        """The earliest moment at which it does something by itself."""
        if self.over:
            return float("inf")
        if not self.begun:
            return self.started
        found = self.started + self.plan.cancelled if self.plan.cancelled else float("inf")
        if self.short and self.plan.withheld_for:
            found = min(found, self.started + self.plan.withheld_for)
        for stage in self.stages:
            for uid in stage.living:
                pod = self.cluster.pods.get(uid)
                if pod is not None and pod.started:
                    found = min(found, self._due(stage, pod))
        return found

    def step(self) -> None:
        """Live on: begin, make tasks, end tasks, replace what was lost."""
        if self.over or not self._due_to_begin():
            return
        if not self.begun:
            self._begin()
            if self.plan.driver:
                self._new_driver()
        if self.plan.cancelled and self.cluster.now >= self.started + self.plan.cancelled - 1e-9:
            self._cancel()
            return
        for stage in self.stages:
            self._look(stage)
        if self.evicted > BACKOFF:
            self._give_up()
            return
        if self._led():
            for stage in self.stages:
                if self._open(stage):
                    self._fill(stage)
        if all(stage.done >= stage.plan.tasks for stage in self.stages):
            self.over = True
            if self.driver:
                self.cluster.finish(self.driver)

    @property
    def short(self) -> bool:
        """Whether tasks of its gang that were announced have not come."""
        until = self.started + self.plan.withheld_for if self.plan.withheld_for else float("inf")
        return not self.over and bool(self.plan.withheld) and self.cluster.now < until - 1e-9

    def follow(self, before: Life) -> None:
        """It comes again: not before the one of its name has ended."""
        self.before, self.started = before, float("inf")

    def _due_to_begin(self) -> bool:
        if self.before is not None and self.before.over and self.started == float("inf"):
            self.started = self.cluster.now + self.plan.after
        return self.cluster.now >= self.started - 1e-9

    def _begin(self) -> None:
        """Nothing is left of the one before but, at most, pods that have ended."""
        self.begun = True
        self.cluster.forget((self.plan.namespace, self.plan.name))
        if self.plan.tidy:
            self.cluster.delete(*self._pods())

    def use(self, pod: PodRecord) -> tuple[float, float]:
        """Cores and bytes that one of its pods uses now."""
        if not pod.started or pod.done:
            return 0.0, 0.0
        share = 1.0
        if self.plan.ramp:
            longest = max(stage.plan.seconds for stage in self.stages) or 1.0
            share = min(1.0, (self.cluster.now - pod.started + 1.0) / longest)
        return pod.declared["cpu"] * self.plan.cpu_use * share, pod.declared["memory"] * self.plan.memory_use * share

    def most_memory(self, pod: PodRecord) -> float:
        """Bytes that one of its pods comes to use."""
        return pod.declared["memory"] * self.plan.memory_use

    # -- its user -----------------------------------------------------------------------------------------------------

    def pause(self, *, on: bool) -> None:
        """Its user annotates all its pods and whatever makes them, or takes that back."""
        self.paused = on
        for pod in self._pods():
            others = {key: value for key, value in pod.annotations.items() if key != names.PAUSE}
            self.cluster.change(pod.uid, annotations={**others, **self._stopped})

    def _pods(self) -> list[PodRecord]:
        """Whatever carries its name, also what is left of the one before it."""
        mine = (pod for pod in self.cluster.pods.values() if pod.namespace == self.plan.namespace)
        return [pod for pod in mine if pod.labels.get(names.APP) == self.plan.name]

    @property
    def _stopped(self) -> dict[str, str]:
        return {names.PAUSE: "true"} if self.paused else {}

    def delete_pod(self, *, driver: bool) -> None:
        """Its user deletes its driver, or its youngest task: one that waits if there is any. It is made anew."""
        pods = [self.cluster.pods.get(uid) for stage in self.stages for uid in stage.living]
        tasks = [pod for pod in pods if pod is not None and not _gone(pod)]
        boss = self.cluster.pods.get(self.driver)
        if driver:
            tasks = [] if boss is None or boss.done or boss.deleted else [boss]
        if tasks:
            self.cluster.terminate(max(tasks, key=lambda pod: (not pod.node, pod.created, pod.uid)))

    def _cancel(self) -> None:
        """Its user deletes all of it."""
        self.over = self.cancelled = True
        for uid in (self.driver, *sorted(uid for stage in self.stages for uid in stage.living)):
            if uid in self.cluster.pods:
                self.cluster.terminate(self.cluster.pods[uid])

    # -- tasks --------------------------------------------------------------------------------------------------------

    def _look(self, stage: _Stage) -> None:
        for uid in sorted(stage.living):
            pod = self.cluster.pods.get(uid)
            if _gone(pod):
                stage.living.discard(uid)
                self.evicted += _killed(pod)
            elif pod is not None and pod.started and self.cluster.now >= self._due(stage, pod) - 1e-9:
                self.cluster.finish(uid)
                stage.living.discard(uid)
                stage.done += 1
                if stage.done >= stage.plan.tasks:
                    stage.finished_at = self.cluster.now

    def _due(self, stage: _Stage, pod: PodRecord) -> float:
        """When a task ends: it works from its start on, in a gang from the last one's, and never before its parents."""
        begin = pod.started
        if self.plan.gang and not any(each.done for each in self.stages):
            mates = [self.cluster.pods.get(uid) for each in self.stages for uid in each.living]
            if len(mates) < self.plan.tasks or any(mate is None or not mate.started for mate in mates):
                return float("inf")
            begin = max(mate.started for mate in mates if mate is not None)
        if stage.number and not self.plan.gang:
            before = self.stages[stage.number - 1].finished_at
            if before is None:
                return float("inf")
            begin = max(begin, before)
        return begin + stage.plan.seconds

    def _open(self, stage: _Stage) -> bool:
        """Whether a stage's tasks exist by now; those of a gang are sizes of pods that are there together."""
        return self.plan.upfront or stage.number == 0 or self.stages[stage.number - 1].finished_at is not None

    def _fill(self, stage: _Stage) -> None:
        away = self.plan.withheld if self.short and stage is self.stages[-1] else 0
        while stage.done + len(stage.living) < stage.plan.tasks - away:
            stage.living.add(self._task(stage).uid)

    def _task(self, stage: _Stage) -> PodRecord:
        self._made += 1
        self.shown = True
        annotations = self._stopped
        if self.plan.gang:
            left = self.plan.tasks - sum(each.done for each in self.stages)
            annotations |= {names.GANG: "true", names.TASKS: str(left)}
        elif not self.plan.driver and self.plan.announces:
            annotations |= self._announced()
        if stage.number and self.plan.upfront and not self.plan.gang:
            annotations[names.PARENTS] = f"s{stage.number - 1}"
        if self.plan.strict:
            annotations[names.DAG] = "strict"
        label = f"s{stage.number}" if len(self.stages) > 1 and not self.plan.gang else ""
        name = f"{self._prefix}-{stage.number}-{self._made}"
        size, plan = self._size(stage.plan), self._ranked
        return self.cluster.admit(plan, name, size, names.TASK, label, annotations, self._owners())

    def _size(self, stage: StagePlan) -> Resources:
        """What the next task of a stage asks for: in turns up to a share less than the largest."""
        if not self.plan.uneven:
            return stage.size
        part = 1.0 - self.plan.uneven * (self._made % VARIANTS) / (VARIANTS - 1)
        return amounts(int(stage.cpu * part * 1000) / 1000, stage.memory * part, stage.gpus)

    @property
    def _ranked(self) -> AppPlan:
        """The app with the priority of its next task."""
        ranks = self.plan.ranks
        return replace(self.plan, priority=ranks[self._made % len(ranks)]) if ranks else self.plan

    def _owners(self) -> tuple[OwnerRef, ...]:
        """Its driver, else a Job: what is lost is made anew, and programs can see that."""
        if self.driver:
            return (OwnerRef("Pod", f"{self.plan.name}-driver", self.driver, "", True, self.plan.namespace),)
        return (self._job,)

    @property
    def _job(self) -> OwnerRef:
        return OwnerRef("Job", self.plan.name, f"job-{self._prefix}", "batch", True, self.plan.namespace)

    @property
    def _prefix(self) -> str:
        """What the names of its pods begin with: no two runs have pods of one name."""
        return f"{self.plan.name}-run-{self.plan.run}" if self.plan.run else self.plan.name

    # -- the driver ---------------------------------------------------------------------------------------------------

    def _led(self) -> bool:
        """Whether tasks may be made: there is no driver, or it runs. A lost one comes back without its tasks."""
        if not self.plan.driver:
            return True
        boss = self.cluster.pods.get(self.driver)
        if _gone(boss):
            self.evicted += _killed(boss)
            self._orphan()
            self._new_driver()
            return False
        return boss is not None and bool(boss.started)

    def _give_up(self) -> None:
        self.over = self.failed = True
        self._orphan()
        if self.driver:
            self.cluster.finish(self.driver, phase="Failed")

    def _orphan(self) -> None:
        for stage in self.stages:
            gone = [pod for uid in sorted(stage.living) if (pod := self.cluster.pods.get(uid)) is not None]
            self.cluster.delete(*gone)
            stage.living.clear()

    def _new_driver(self) -> None:
        assert self.plan.driver is not None
        self._made += 1
        asked = amounts(*self.plan.driver)
        annotations = {**self._stopped, **(self._announced() if self.plan.announces else {})}
        name = f"{self._prefix}-driver-{self._made}"
        above = (self._job,)
        self.driver = self.cluster.admit(self.plan, name, asked, names.DRIVER, "", annotations, above).uid

    def _announced(self) -> dict[str, str]:
        first = self.plan.stages[0]
        said = {names.TASKS: str(max(stage.tasks for stage in self.plan.stages))}
        if first.cpu:
            said[names.TASK_CPU] = f"{round(first.cpu * 1000)}m"
        if first.memory:
            said[names.TASK_MEMORY] = str(int(first.memory * GIB))
        return said


def _gone(pod: PodRecord | None) -> bool:
    """Whether a controller makes another one for it: it is lost, was killed, or somebody deletes it."""
    return pod is None or pod.phase == "Failed" or bool(pod.deleted)


def _killed(pod: PodRecord | None) -> bool:
    return pod is not None and pod.phase == "Failed"
