"""One app as its pods show it: groups of equal pods by state, and what their labels say about the whole."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypedDict

from slackwater.admission import currentrun, standing
from slackwater.admission.currentrun import PodLife
from slackwater.cycle.snapshot import PodGroup
from slackwater.errors import SlackwaterError
from slackwater.ordering.daglevels import level_of
from slackwater.resources import Resources, total
from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.apps import statements
from slackwater_cluster.apps.frameworks import FrameworkTable
from slackwater_cluster.apps.resolver import own, role_of
from slackwater_cluster.apps.size import AppSize
from slackwater_cluster.pods import metadata
from slackwater_cluster.watch.records import Constraints, PodRecord
from slackwater_operator.cache.apps import Pod
from slackwater_operator.cache.podstate import InFlight, InFlightPods, PodState, state
from slackwater_operator.cache.rooms import named

_WAITING = frozenset({PodState.HELD, PodState.PARKED, PodState.BLOCKED, PodState.FOREIGN})
_PASSED = frozenset({PodState.RELEASED, PodState.BOUND, PodState.DONE})
# Dependencies between the stages of one app that are put into levels; they are looked at whenever a pod changes.
MOST_EDGES = 10_000


@dataclass(frozen=True, slots=True)
class PodCounts:
    """The app's pods by state."""

    held: int = 0
    blocked: int = 0
    released: int = 0
    parked: int = 0
    bound: int = 0
    done: int = 0
    foreign: int = 0


class AwaitedStages(NamedTuple):
    """A stage whose parents have no pod there, and when its first pod was created."""

    stage: str
    parents: frozenset[str]
    since: float


@dataclass(frozen=True, slots=True)
class AppView:
    """All that a round needs to know of an app, but for queue, pool and history."""

    namespace: str
    app: str
    groups: tuple[PodGroup, ...]
    counts: PodCounts
    name: str = ""  # what people call it
    named_by_driver: bool = False  # tasks may be labelled with another name
    framework: str = ""
    owner: str = ""
    job: str = ""  # the Job that makes tasks of it; one that makes drivers only says nothing of tasks
    submitted: float = 0.0
    priority: int = 0
    backed: bool = True  # what passed the gate speaks for what waits (`admission.standing`)
    began: float = 0.0  # when the first and the last pod of its present run were created
    latest: float = 0.0
    first_task: float | None = None  # when its first task was created
    waits_since: float = 0.0  # when the first pod that waits was created
    awaited: tuple[AwaitedStages, ...] = ()  # parents of its stages that are not there
    has_driver: bool = False  # it has one, or its framework's apps have
    led: bool = False  # a driver is there
    promoted: frozenset[str] = frozenset()  # drivers that were no drivers when they were created
    leads: bool = False  # its framework's driver makes the tasks: they come after it
    gang: bool = False
    announced: int = 0  # tasks of a gang, as its pods say; 0: they do not
    strict: bool = False
    stage: int = 0
    stages: int = 0
    pause: str = ""
    size: AppSize | None = None
    lead: str = ""  # the pod that events are about: the driver, else the oldest
    problems: tuple[str, ...] = ()  # what its labels say and cannot be meant
    settled: bool = True  # whether every pod's owners are known
    series: str = ""  # the name that runs of this app share
    # Pods that wait for a scheduler without being held, by group: what would be held if the mode were enforce.
    pending: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    constraints: Mapping[str, Constraints] = field(default_factory=dict)  # of its groups, by their names

    @property
    def id(self) -> str:
        """The app's name in the whole cluster."""
        return f"{self.namespace}/{self.app}"

    @property
    def started(self) -> bool:
        """Whether it passed admission: it holds something, or ended something and asks for no new driver."""
        if not self.backed:
            return False
        if self.counts.released or self.counts.bound:
            return True
        driver_waits = any(group.role is Role.DRIVER and group.held for group in self.groups)
        return self.counts.done > 0 and not driver_waits

    @property
    def over(self) -> bool:
        """Whether nothing of it waits or runs."""
        counts = self.counts
        return not (counts.held or counts.blocked or counts.released or counts.parked or counts.bound or counts.foreign)


@dataclass(slots=True)
class _Tally:
    """A group while its pods are counted."""

    role: Role
    stage: str
    request: Resources
    constraints: Constraints
    native: Resources
    held: list[tuple[float, str, str]] = field(default_factory=list)
    pending: list[tuple[float, str, str]] = field(default_factory=list)
    counts: dict[PodState, int] = field(default_factory=dict)
    seats: list[str] = field(default_factory=list)
    growing: list[tuple[float, str, str]] = field(default_factory=list)

    def add(self, pod: Pod, where: PodState, flight: InFlight | None) -> None:
        nominated = flight.node if flight is not None else ""
        if where is PodState.RELEASED and flight is not None and flight.growth:
            self.growing.append((pod.record.created, pod.record.name, pod.uid))
        self.counts[where] = self.counts.get(where, 0) + 1
        if where in (PodState.HELD, PodState.PARKED):
            self.held.append((pod.record.created, pod.record.name, pod.uid))
        elif where is PodState.BOUND and self.role is Role.DRIVER:
            self.seats.append(pod.record.node)
        elif where in (PodState.FOREIGN, PodState.RELEASED):
            if nominated and self.role is Role.DRIVER:
                self.seats.append(nominated)
            self.pending.append((pod.record.created, pod.record.name, pod.uid))

    def group(self, number: int) -> PodGroup:
        running = self.counts.get(PodState.BOUND, 0)
        return PodGroup(
            key=f"{self.role.value}/{self.stage}/{number}",
            role=self.role,
            request=self.request,
            held=tuple(uid for _, _, uid in sorted(self.held)),
            released=self.counts.get(PodState.RELEASED, 0),
            running=running,
            finished=self.counts.get(PodState.DONE, 0),
            stage=self.stage,
            blocked=self.counts.get(PodState.BLOCKED, 0) + self.counts.get(PodState.FOREIGN, 0),
            seats=tuple(sorted(self.seats)),
            native=None if self.native == self.request else self.native,
            constraints=named(self.constraints),
            growing=tuple(uid for _, _, uid in sorted(self.growing)),
        )


@dataclass(slots=True)
class _Tallies:
    """All groups of an app while its pods are counted."""

    groups: dict[tuple[Role, str, Resources, Constraints], _Tally] = field(default_factory=dict)
    totals: dict[PodState, int] = field(default_factory=dict)
    waiting: list[Pod] = field(default_factory=list)
    begun: set[str] = field(default_factory=set)  # stages of which a pod has passed the gate

    def add(self, pod: Pod, where: PodState, flight: InFlight | None) -> None:
        self.totals[where] = self.totals.get(where, 0) + 1
        if where in _WAITING:
            self.waiting.append(pod)
        if where in _PASSED:
            self.begun.add(pod.member.stage)
        # Pods that may use different nodes are not equal: one may find no node where the other does.
        key = (role(pod), pod.member.stage, pod.record.declared, pod.record.constraints)
        self.groups.setdefault(key, _Tally(*key, pod.record.native)).add(pod, where, flight)

    def ordered(self) -> list[_Tally]:
        return sorted(
            self.groups.values(),
            key=lambda each: (
                each.role is not Role.DRIVER,
                each.stage,
                sorted(each.request.items()),
                named(each.constraints),
            ),
        )


def app_view(
    namespace: str,
    app: str,
    pods: Sequence[Pod],
    in_flight: InFlightPods,
    table: FrameworkTable,
    left: float = 0.0,
) -> AppView:
    """Put an app together from its pods; in which order they came, and are given, makes no difference.

    `left` is when a pod of the app was last taken away: until then it was at work, whatever the others say.
    """
    run = _present_run(pods, left)
    tallies = _Tallies()
    for pod in run:
        tallies.add(pod, state(pod.record, in_flight), in_flight.get(pod.uid))
    ordered = tallies.ordered()
    groups = tuple(each.group(number) for number, each in enumerate(ordered))
    backed = _backed(groups)
    groups, awaited, problems = _levelled(groups, run)
    said = _statements(run, tallies.begun, problems)
    return AppView(
        namespace=namespace,
        app=app,
        groups=_expected(groups, said["announced"]),
        counts=_counts(tallies.totals),
        began=run[0].record.created if run else 0.0,
        latest=run[-1].record.created if run else 0.0,
        first_task=min((pod.record.created for pod in run if role(pod) is not Role.DRIVER), default=None),
        submitted=min((pod.record.created for pod in (run if backed else tallies.waiting)), default=0.0),
        waits_since=min((pod.record.created for pod in tallies.waiting), default=0.0),
        priority=standing.priority(
            (pod.record.priority for pod in tallies.waiting),
            (pod.record.priority for pod in run if not pod.record.done),
        ),
        backed=backed,
        awaited=awaited,
        lead=_lead(run),
        promoted=frozenset(pod.uid for pod in run if _promoted(pod)),
        settled=all(pod.member.settled for pod in run),
        pending=_pending(groups, ordered),
        constraints={named(each.constraints): each.constraints for each in ordered},
        **_identity(run),
        **_framework(run, groups, table),
        **said,
    )


def _present_run(pods: Sequence[Pod], left: float) -> list[Pod]:
    """The pods of the app's present run, oldest first."""
    ordered = sorted(pods, key=lambda pod: (pod.record.created, pod.record.name, pod.uid))
    if not any(pod.record.done or pod.record.deleted for pod in ordered):
        return ordered
    gone = PodLife(ordered[0].record.created, left)
    start = currentrun.began([gone, *(_life(pod.record) for pod in ordered)])
    return [pod for pod in ordered if pod.record.created >= start]


def _life(pod: PodRecord) -> PodLife:
    """Where nobody wrote down when a pod ended, it was when it was last seen to do something."""
    over = pod.done or (pod.deleted and not pod.node)
    ended = (pod.finished or pod.deleted or max(pod.started, pod.created)) if over else math.inf
    return PodLife(pod.created, ended, frozenset({pod.uid, *(owner.uid for owner in pod.owners)}))


def _pending(groups: Sequence[PodGroup], ordered: Sequence[_Tally]) -> dict[str, tuple[str, ...]]:
    return {
        group.key: tuple(uid for _, _, uid in sorted(each.pending))
        for group, each in zip(groups, ordered, strict=True)
        if each.pending
    }


class _Identity(TypedDict):
    name: str
    named_by_driver: bool
    series: str
    owner: str
    job: str


def _identity(pods: Sequence[Pod]) -> _Identity:
    """What the app is called, and what stands above its pods; the oldest that knows it says so."""
    naming = _naming(pods)
    return _Identity(
        name=naming.member.name if naming else "",
        named_by_driver=naming is not None and role(naming) is Role.DRIVER,
        series=naming.member.series if naming else "",
        owner=next((pod.member.owner for pod in pods if pod.member.owner), ""),
        job=next((name for pod in pods if role(pod) is not Role.DRIVER and (name := _job(pod))), ""),
    )


class _OfFramework(TypedDict):
    framework: str
    leads: bool
    led: bool
    has_driver: bool


def _framework(pods: Sequence[Pod], groups: Sequence[PodGroup], table: FrameworkTable) -> _OfFramework:
    """What the framework's row says of its apps, and whether this one has a driver."""
    row = table.named(next((pod.member.framework for pod in pods if pod.member.framework), ""))
    led = any(group.role is Role.DRIVER for group in groups)
    stated = bool(row and row.has_driver and not any(pod.member.client for pod in pods))
    named_one = bool(row and row.coordinator and any(own(pod.record, row.coordinator) for pod in pods))
    return _OfFramework(
        framework=row.name if row else "",
        leads=bool(row and row.has_driver),
        led=led,
        has_driver=led or stated or named_one,
    )


class _Statements(TypedDict):
    size: AppSize | None
    gang: bool
    announced: int
    strict: bool
    pause: str
    stage: int
    stages: int
    problems: tuple[str, ...]


def _statements(pods: Sequence[Pod], begun: Collection[str], more: Iterable[str]) -> _Statements:
    """What its pods say about the whole, and what of it cannot be meant."""
    records = [pod.record for pod in pods]
    size, unread = statements.size(records)
    stages, uncounted = statements.stages(records)
    doubts = [doubt for pod in pods[:50] for doubt in pod.member.doubts]
    gang = statements.says(records, names.GANG, "true")
    return _Statements(
        size=size,
        gang=gang,
        announced=size.tasks if gang and size is not None else 0,
        strict=statements.says(records, names.DAG, "strict"),
        pause=statements.pause(records),
        # Of an app that does not say how many stages there are, one more is expected; the last of m is m of m.
        stage=max(1, len(begun)) if stages is not None else 0,
        stages=(max(stages, len(begun)) if stages else len(begun) + 1) if stages is not None else 0,
        problems=tuple(dict.fromkeys([*doubts, *more, *unread, *uncounted])),
    )


def _backed(groups: Sequence[PodGroup]) -> bool:
    """Whether a driver passed the gate, or tasks that are worth half of the largest pod that waits."""
    passed = [(group, group.charged + group.finished) for group in groups]
    if any(count and group.role is Role.DRIVER for group, count in passed):
        return True
    return standing.backed((g.request for g in groups if g.held), ((g.request, count) for g, count in passed if count))


def role(pod: Pod) -> Role:
    """The role for admission."""
    return role_of(pod.record, pod.member)


def _promoted(pod: Pod) -> bool:
    return role(pod) is Role.DRIVER and pod.record.annotations.get(names.ADMITTED_ROLE) != names.DRIVER


def _job(pod: Pod) -> str:
    """The Job that made this very pod."""
    return next((each.name for each in pod.record.owners if (each.group, each.kind) == ("batch", "Job")), "")


def _naming(pods: Sequence[Pod]) -> Pod | None:
    """The pod that names the app: its driver, because tasks may be labelled with another name; else the oldest."""
    return min(pods, key=lambda pod: (role(pod) is not Role.DRIVER, pod.record.created, pod.uid), default=None)


def run_size(each: AppView) -> AppSize | None:
    """What a run turned out to be: its tasks and their mean request; None where it had none."""
    tasks = [group for group in each.groups if group.role is not Role.DRIVER]
    count = sum(group.total for group in tasks)
    if not count:
        return None
    return AppSize(count, total(group.request * group.total for group in tasks) * (1 / count), "history")


def _counts(totals: Mapping[PodState, int]) -> PodCounts:
    return PodCounts(**{where.value: totals.get(where, 0) for where in PodState})


def _lead(pods: Sequence[Pod]) -> str:
    living = [pod for pod in pods if not pod.record.done] or list(pods)
    return (
        min(living, key=lambda pod: (role(pod) is not Role.DRIVER, pod.record.created, pod.record.name)).uid
        if living
        else ""
    )


def _expected(groups: tuple[PodGroup, ...], announced: int) -> tuple[PodGroup, ...]:
    """A gang's tasks, as many as it announced; where they are of several kinds, nobody knows how many of which."""
    tasks = [group for group in groups if group.role is not Role.DRIVER]
    if not announced or len(tasks) != 1:
        return groups
    return tuple(replace(group, expected=announced) if group is tasks[0] else group for group in groups)


def _levelled(
    groups: tuple[PodGroup, ...], pods: Sequence[Pod]
) -> tuple[tuple[PodGroup, ...], tuple[AwaitedStages, ...], list[str]]:
    """Levels of the stages (paper 003), and which groups wait on an earlier one (paper 001).

    A stage that is named as a parent counts although no pod of it is there: it may come, or have come and gone.
    """
    edges = {(parent, pod.member.stage) for pod in pods for parent in metadata.parents(own(pod.record, names.PARENTS))}
    if not edges:
        return groups, (), []
    if len(edges) > MOST_EDGES:
        told = f"{names.PARENTS}: {len(edges)} dependencies between stages; at most {MOST_EDGES} are read"
        return groups, (), [told]
    here = {group.stage for group in groups}
    try:
        levels = level_of(sorted(here | {parent for parent, _ in edges}), sorted(edges))
    except SlackwaterError as problem:
        return groups, (), [f"{names.PARENTS}: {problem}"]
    unfinished = [levels[g.stage] for g in groups if g.role is not Role.DRIVER and (g.held or g.charged or g.blocked)]
    first = min(unfinished, default=0)
    found = tuple(
        replace(g, level=levels[g.stage], waiting=g.role is not Role.DRIVER and levels[g.stage] > first) for g in groups
    )
    return found, _absent(edges, here, pods), []


def _absent(edges: Iterable[tuple[str, str]], here: Collection[str], pods: Sequence[Pod]) -> tuple[AwaitedStages, ...]:
    """Stages that name parents of which no pod is there."""
    lacking: dict[str, set[str]] = {}
    for parent, stage in edges:
        if parent not in here:
            lacking.setdefault(stage, set()).add(parent)
    first: dict[str, float] = {}
    for pod in pods:  # the oldest first
        first.setdefault(pod.member.stage, pod.record.created)
    return tuple(AwaitedStages(stage, frozenset(each), first[stage]) for stage, each in sorted(lacking.items()))
