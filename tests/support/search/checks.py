"""What must hold in every world, judged from the cluster itself and not from what the programs say about it.

given twice     native requests of pods that are bound, nominated or placed never exceed a node
ceiling         declared requests of what is bound never exceed the node times the ceiling
priority        no pod is released before one of higher priority that could have had its node
idle room       no pod waits before room that stock would give it while everything stands still
paused          no pod is released of an app or a queue that its owner has paused
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from slackwater.cycle.audit.claims import Claim, holds
from slackwater.pools.pools import Category
from slackwater.resources import CPU, MEMORY, NOTHING, Resources, total
from slackwater_cluster import names
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.pods.nodefit import allows
from support.search.cluster import Cluster, likes
from support.search.lives import Life
from support.search.plan import Failure, StagePlan
from support.search.programs import OperatorProgram

SLACK = 1e-6
ROUNDS = 3  # rounds in which nothing may move before idle room is called so …
SECONDS = 12.0  # … and how long they must have lasted: a refused pod steps aside for 2 s, an idle round comes after 5
VISITED = 15.0  # seconds after a visitor's bind in which pods that were on their way to its node may be in its way
PATIENCE = 302.0  # seconds after which nobody leaves room for a gang whose missing pods have not come
ALLOWANCE = 0.875  # of a node's memory in use: beyond it measurement may refuse what requests would allow


class Checks:
    """One world's checks, told of every step."""

    def __init__(self, cluster: Cluster, lives: Mapping[str, Life]) -> None:
        self.cluster, self.plan, self.lives = cluster, cluster.plan, lives
        self.queues = {name: self.plan.queue(name) for name in self.plan.namespaces}
        self.failures: list[Failure] = []
        self._moves, self._still, self._since = -1, 0, 0.0
        self._seen = 0  # releases looked at
        self.excused = False  # writes fail: what is held may be held for that

    def after_round(self, operator: OperatorProgram) -> None:
        """After a round of the operator."""
        self._given_twice()
        self._priority(operator)
        self._paused()
        self._seen = len(self.cluster.released)
        self._standing_still()
        if self._still > ROUNDS and self.cluster.now - self._since >= SECONDS:
            self._idle_room(operator)

    def after_binds(self) -> None:
        """After a pass of the scheduler."""
        ceiling = {CPU: self.plan.ceiling_cpu / 100, MEMORY: self.plan.ceiling_memory / 100}
        for name, node in self.cluster.nodes.items():
            declared = total(pod.declared for pod in self.cluster.on[name].values())
            for kind, value in declared.items():
                if value > node.allocatable[kind] * ceiling.get(kind, 1.0) * (1 + SLACK):
                    self._fail("ceiling", f"{name} holds {value:g} {kind} of {node.allocatable[kind]:g}", node=name)

    # -- room given twice ---------------------------------------------------------------------------------------------

    def _given_twice(self) -> None:
        nominated: dict[str, list[PodRecord]] = {}
        for pod in self.cluster.waiting.values():
            ours = not pod.gates and pod.namespace not in self.cluster.unmanaged  # nobody moves what was let go
            if (node := self.cluster.destination(pod)) in self.cluster.nodes and ours:
                nominated.setdefault(node, []).append(pod)
        for name, pods in nominated.items():
            if self.cluster.now - self.cluster.visited_at.get(name, -VISITED) < VISITED:
                continue
            left = self.cluster.free(name)
            for kind, value in total(pod.native for pod in pods).items():
                if value > left.get(kind, 0.0) + SLACK * max(1.0, value):
                    text = f"{name} has {left.get(kind, 0.0):g} {kind} left, pods on their way there ask for {value:g}"
                    self._fail("given twice", text, pods=[pod.uid for pod in pods])

    # -- priority turned round ----------------------------------------------------------------------------------------

    def _priority(self, operator: OperatorProgram) -> None:
        fresh = [self.cluster.pods[uid] for uid in self.cluster.released[self._seen :] if uid in self.cluster.pods]
        fresh = [pod for pod in fresh if pod.namespace not in self.cluster.unmanaged]
        lower = [pod for pod in fresh if self.cluster.destination(pod) in self.cluster.nodes]
        if not lower or self.excused:
            return
        for held in self._held():
            if held.created > self._known - 1.0 or not self._ready(held) or self._life(held).plan.gang:
                continue
            for pod in lower:
                if self._turned_round(operator, held, pod):
                    node = self.cluster.destination(pod)
                    text = f"{pod.uid} ({pod.priority}) got {node} before {held.uid} ({held.priority})"
                    self._fail("priority", text)
                    return

    @property
    def _known(self) -> float:
        """What happened up to then both programs know."""
        return self.cluster.now - self.plan.operator_lag - self.plan.extender_lag

    def _turned_round(self, operator: OperatorProgram, held: PodRecord, pod: PodRecord) -> bool:
        """Whether a pod of higher priority, no larger and allowed on the same node, was passed over."""
        mine, other = self._life(held), self._life(pod)
        if mine is other or self._standing(held) <= pod.priority:
            return False
        node = self.cluster.nodes[self.cluster.destination(pod)]
        category = operator.cache.views.histories.category
        return (
            self.queues[held.namespace] == self.queues[pod.namespace]
            and category(mine.id) == category(other.id)
            and _role(held) == _role(pod) == names.TASK
            and self._awaited(held).fits(pod.declared)
            and held.native.fits(pod.native)
            and allows(held.constraints, node)
            and self.cluster.changed_at[node.name] <= self._known
            and not _unwritten(operator, held)
        )

    def _standing(self, pod: PodRecord) -> int:
        """The priority of its app: the lowest of its pods that wait."""
        if not self._life(pod).plan.ranks:
            return pod.priority
        near = [each for each in self.cluster.waiting.values() if each.namespace == pod.namespace]
        return min(each.priority for each in near if each.labels.get(names.APP) == pod.labels[names.APP])

    def _awaited(self, pod: PodRecord) -> Resources:
        """The room a pod waits for: of memory more than it declares, where one of its likes was killed for that.

        So it does where it uses more and any pod of its app was: which of them a kubelet chooses is chance.
        """
        killed, mine = self.cluster.outgrown, likes(pod)
        known = mine in killed or (self._life(pod).plan.memory_use > 1 and any(each[:2] == mine[:2] for each in killed))
        return pod.declared + Resources(memory=pod.declared[MEMORY] * known)

    # -- owners -------------------------------------------------------------------------------------------------------

    def _paused(self) -> None:
        for uid in self.cluster.released[self._seen :]:
            pod = self.cluster.pods.get(uid)
            if pod is not None and self._stopped_long(pod):
                self._fail("paused", f"{uid} was released although its owner paused it")

    def _stopped_long(self, pod: PodRecord) -> bool:
        """Whether its owner stopped it, and both programs know."""
        if pod.namespace in self.cluster.unmanaged or self.cluster.stopped_at > self._known - 1.0:
            return False
        return self._life(pod).paused or self.cluster.stopped.get(self.queues[pod.namespace].name) == "true"

    def _stopped(self, pod: PodRecord) -> bool:
        """Whether an owner lets a pod wait."""
        return self._life(pod).paused or self.cluster.queue_stops(pod)

    def _in_vain(self, life: Life) -> bool:
        """Whether an app's tasks go nowhere whatever room there is: no driver leaves room for them."""
        queue = self.cluster.stopped.get(self.queues[life.plan.namespace].name)
        if life.paused or queue == "true":
            return True
        waiting = [pod.created for pod in self._held() if self._life(pod) is life]
        return life.short and bool(waiting) and self.cluster.now - min(waiting) > PATIENCE

    def _bounded(self, operator: OperatorProgram, pod: PodRecord) -> bool:
        """Whether a bound of delta that the pool's owner wrote may keep the room for the other side, kind by kind."""
        planned, category = self.queues[pod.namespace], operator.cache.views.histories.category
        queue = self.cluster.terms[planned.name]
        if not queue.pooled or not (queue.minimum or queue.maximum):
            return False
        small = category(self._life(pod).id) is Category.SMALL
        share = (queue.maximum or 1.0) if small else 1.0 - queue.minimum
        mine = [each for each in self._charged() if self.queues.get(each.namespace) == planned]
        side = total(p.declared for p in mine if (category(self._life(p).id) is Category.SMALL) == small)
        free = total(self._declared_room(name).at_least(NOTHING) for name in self._nodes(pod))
        whole = free + total(each.declared for each in mine)
        return any(
            asked > 0 and side[kind] + asked > share * whole[kind] * (1 - SLACK) for kind, asked in pod.declared.items()
        )

    def _charged(self) -> Iterator[PodRecord]:
        """Pods that are bound or on their way to a node."""
        for pods in self.cluster.on.values():
            yield from (pod for pod in pods.values() if pod.namespace in self.queues)
        yield from (pod for pod in self.cluster.waiting.values() if self.cluster.destination(pod))

    # -- idle room ----------------------------------------------------------------------------------------------------

    def _standing_still(self) -> None:
        if self.cluster.moves != self._moves or self.excused:  # rounds in which writes fail count for nothing
            self._moves, self._still, self._since = self.cluster.moves, 0, self.cluster.now
        self._still += 1

    def _idle_room(self, operator: OperatorProgram) -> None:
        if self.excused or operator.client.silent or self._reserved_for_gangs():
            return
        refused = self._refused(operator) | self._assembled(operator)
        for held in self._held():
            if not self._ready(held) or self._kept_for_tasks(held) or self._life(held).id in refused:
                continue
            if self._bounded(operator, held):
                continue
            if self._life(held).evicted:  # its tasks were killed for their memory: they wait for a node with more
                continue
            for name in self._nodes(held):
                left = self._declared_room(name)
                roomy = self._awaited(held).fits(left) and held.native.fits(Resources(self.cluster.free(name)))
                if roomy and not self._last_place(held, name):
                    text = (
                        f"{held.uid} ({held.declared}) has waited {self.cluster.now - held.created:g} s, {name} has "
                        f"{left}, and nothing moved for {self.cluster.now - self._since:g} s"
                    )
                    self._fail("idle room", text)
                    return

    def _refused(self, operator: OperatorProgram) -> set[str]:
        """Apps that were told that they can never run; whether that is true is asked when the world is over."""
        result = operator.releaser.result
        return {app for app, said in result.round.verdicts.items() if said.refused} if result is not None else set()

    def _assembled(self, operator: OperatorProgram) -> set[str]:
        """Apps held for one that lost its patience and is being put together, by the core's own rule."""
        result = operator.releaser.result
        found = holds(result.snapshot, result.round) if result is not None else []
        return {each.app for each in found if each.claim is Claim.ASSEMBLY}

    def _declared_room(self, name: str) -> Resources:
        """What a node has left when every pod bound or nominated there counts in full; no memory where it runs out.

        A pod that uses more memory than it declared counts by its use; where pods of its app were killed for that, by
        the use it will come to: who goes beside it now is killed with it.
        """
        node = self.cluster.nodes[name]
        nominated = (pod for pod in self.cluster.waiting.values() if self.cluster.destination(pod) == name)
        there = [pod for pods in (self.cluster.on[name].values(), nominated) for pod in pods]
        outgrown = sum(max(0.0, self._memory(pod) - pod.declared[MEMORY]) for pod in there)
        left = node.allocatable - total(pod.declared for pod in there) - Resources(memory=outgrown)
        if self.cluster.memory_used(name) > ALLOWANCE * node.allocatable[MEMORY]:
            return Resources({kind: value for kind, value in left.items() if kind != MEMORY})
        return left

    def _memory(self, pod: PodRecord) -> float:
        """Bytes that a pod is known to use: those it uses now, or all that it will if its app's pods were killed."""
        life = self.lives.get(f"{pod.namespace}/{pod.labels.get(names.APP, '')}")
        return life.most_memory(pod) if life is not None and life.evicted else self.cluster.uses_of(pod)[1]

    def _nodes(self, pod: PodRecord) -> Iterator[str]:
        group = self.queues[pod.namespace].group
        for name, node in self.cluster.nodes.items():
            if node.open and allows(pod.constraints, node) and (not group or node.labels.get("group") == group):
                yield name

    def _kept_for_tasks(self, pod: PodRecord) -> bool:
        """002's reserve is a better claim while a started app of the queue waits for tasks, or has announced some."""
        if _role(pod) != names.DRIVER:
            return False
        mine = self.queues[pod.namespace]
        others = [life for life in self.lives.values() if self.queues[life.plan.namespace] == mine]
        if any(self._started(life) and not life.over and not self._in_vain(life) for life in others):
            return True
        started = [life for life in others if self._started(life) and not life.over]
        return bool(started) and not self._leaves_a_task(pod, started)

    def _leaves_a_task(self, driver: PodRecord, started: list[Life]) -> bool:
        """Whether beside all drivers and this one the largest task of any of their apps fits."""
        nodes = list(self._nodes(driver))
        whole = total(self.cluster.nodes[name].allocatable for name in nodes)
        there = [pod for pod in self._charged() if _role(pod) == names.DRIVER]
        daemons = total(p.declared for name in nodes for p in self.cluster.on[name].values() if p.daemon)
        largest = driver.declared
        for life in (self._life(driver), *started):
            for stage in life.plan.stages:
                largest = largest.at_least(stage.size)
        return (total(pod.declared for pod in there) + daemons + driver.declared + largest).fits(whole)

    def _started(self, life: Life) -> bool:
        boss = self.cluster.pods.get(life.driver)
        return boss is not None and bool(boss.node)

    def _last_place(self, driver: PodRecord, node: str) -> bool:
        """A driver may not take the last node for its own tasks, or for tasks that wait of an app that has begun.

        Nor any while its own gang has too few places beside it.

        Counted without the tasks that run, which end: by what drivers and daemons leave of each node.
        """
        if _role(driver) != names.DRIVER:
            return False
        left = {name: self._left_to_tasks(name) for name in self.cluster.nodes}
        beside = {**left, node: left[node] - driver.declared}
        life = self._life(driver)
        own = [_task(stage, driver) for stage in life.known]
        if life.plan.gang and not all(self._at_once(stage, life, driver, beside) for stage in life.known):
            return True
        tasks = (pod for pod in self._held() if _role(pod) == names.TASK)
        for task in (*own, *(pod for pod in tasks if not self._in_vain(self._life(pod)))):
            mine = task.uid == driver.uid
            if not any(task.declared.fits(beside[name]) for name in self._nodes(task)) and (
                mine or any(task.declared.fits(left[name]) for name in self._nodes(task))
            ):
                return True
        return False

    def _at_once(self, stage: StagePlan, life: Life, driver: PodRecord, left: Mapping[str, Resources]) -> bool:
        """Whether all tasks of a gang's stage that come find places at once in what is left."""
        count = stage.tasks - life.plan.withheld * (life.short and stage is life.plan.stages[-1])
        asked = [(kind, amount) for kind, amount in stage.size.items() if amount > 0]
        nodes = self._nodes(_task(stage, driver)) if asked else ()
        places = (min(left[name][kind] / amount for kind, amount in asked) for name in nodes)
        return not asked or sum(max(0, int(each + SLACK)) for each in places) >= count

    def _left_to_tasks(self, name: str) -> Resources:
        nominated = (pod for pod in self.cluster.waiting.values() if self.cluster.destination(pod) == name)
        stay = (pod for pods in (self.cluster.on[name].values(), nominated) for pod in pods if _role(pod) != names.TASK)
        return self.cluster.nodes[name].allocatable - total(pod.declared for pod in stay)

    def _reserved_for_gangs(self) -> bool:
        """A gang that is being put together holds room on purpose, for as long as patience allows."""
        gangs = (self._life(pod) for pod in self._held() if self._life(pod).plan.gang)
        return any(not self._in_vain(gang) and not gang.short for gang in gangs)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _held(self) -> Iterator[PodRecord]:
        return (pod for pod in list(self.cluster.waiting.values()) if pod.gates or pod.parked)

    def _ready(self, pod: PodRecord) -> bool:
        """Whether nothing of its own app keeps it back: its driver runs, and its parents are placed."""
        life = self._life(pod)
        if self._stopped(pod):
            return False
        if _role(pod) == names.DRIVER:
            return True
        boss = self.cluster.pods.get(life.driver)
        led = not life.plan.driver or (boss is not None and bool(boss.started))
        stage = int(pod.labels.get(names.STAGE, "s0")[1:])
        return led and not (life.plan.upfront and self._unplaced(life, stage)) and not life.short

    def _unplaced(self, life: Life, stage: int) -> bool:
        """Whether a task of an earlier stage has no node yet: children that name their parents wait for that."""
        earlier = [each for each in life.stages if each.number < stage]
        return any(
            each.done + len(each.living) < each.plan.tasks or any(uid in self.cluster.waiting for uid in each.living)
            for each in earlier
        )

    def _life(self, pod: PodRecord) -> Life:
        return self.lives[f"{pod.namespace}/{pod.labels[names.APP]}"]

    def _fail(self, kind: str, text: str, **numbers: object) -> None:
        self.failures.append(Failure(kind, self.cluster.now - 1000.0, text, numbers))


def _task(stage: StagePlan, driver: PodRecord) -> PodRecord:
    """A task of a stage, as a pod of its driver's app."""
    return msgspec.structs.replace(driver, declared=stage.size)


def _role(pod: PodRecord) -> str:
    return pod.annotations.get(names.ADMITTED_ROLE, "")


def _unwritten(operator: OperatorProgram, pod: PodRecord) -> bool:
    """Whether a pod lets others go first for the few seconds after its release could not be written."""
    return pod.uid in operator.cache.paused and operator.cache.paused.unbound(pod.uid) is None
