"""One app as its pods show it: groups of equal pods by state, and what their labels say about the whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from slackwater.admission import standing
from slackwater.cycle.snapshot import PodGroup
from slackwater.errors import InvalidInput, SlackwaterError
from slackwater.ordering.daglevels import level_of
from slackwater.resources import Resources, total
from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.apps.frameworks import FrameworkTable
from slackwater_cluster.apps.resolver import own, role_of
from slackwater_cluster.apps.size import AppSize, announced
from slackwater_cluster.pods import metadata
from slackwater_cluster.watch.records import Constraints
from slackwater_operator.cache.apps import Pod
from slackwater_operator.cache.podstate import InFlight, InFlightPods, PodState, state
from slackwater_operator.cache.rooms import named

_WAITING = frozenset({PodState.HELD, PodState.PARKED, PodState.BLOCKED, PodState.FOREIGN})
# Dependencies between the stages of one app that are put into levels; they are looked at whenever a pod changes.
MOST_EDGES = 10_000
# Text from labels that is shown to people and put into names is cut and cleaned.
_BREAKS = str.maketrans({"\n": " ", "\r": " ", "\t": " "})


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
    has_driver: bool = False
    leads: bool = False  # its framework's driver makes the tasks: they come after it
    gang: bool = False
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


def app_view(namespace: str, app: str, pods: Sequence[Pod], in_flight: InFlightPods, table: FrameworkTable) -> AppView:
    """Put an app together from its pods."""
    tallies: dict[tuple[Role, str, Resources, Constraints], _Tally] = {}
    totals: dict[PodState, int] = {}
    waiting: list[Pod] = []
    for pod in pods:
        where = state(pod.record, in_flight)
        if where in _WAITING:
            waiting.append(pod)
        totals[where] = totals.get(where, 0) + 1
        # Pods that may use different nodes are not equal: one may find no node where the other does.
        key = (role(pod), pod.member.stage, pod.record.declared, pod.record.constraints)
        tallies.setdefault(key, _Tally(*key, pod.record.native)).add(pod, where, in_flight.get(pod.uid))
    ordered = sorted(
        tallies.values(), key=lambda each: (each.role is not Role.DRIVER, each.stage, sorted(each.request.items()))
    )
    groups = tuple(each.group(number) for number, each in enumerate(ordered))
    pending = {
        group.key: tuple(uid for _, _, uid in sorted(each.pending))
        for group, each in zip(groups, ordered, strict=True)
        if each.pending
    }
    backed = _backed(groups)
    problems = [doubt for pod in pods[:50] for doubt in pod.member.doubts]
    strict = any(own(pod.record, names.DAG) == "strict" for pod in pods)
    groups = _levelled(groups, pods, problems)
    size = _size(pods, problems)
    gang = any(own(pod.record, names.GANG) == "true" for pod in pods)
    naming = _naming(pods)
    row = table.named(next((pod.member.framework for pod in pods if pod.member.framework), ""))
    return AppView(
        namespace=namespace,
        app=app,
        name=naming.member.name if naming else "",
        named_by_driver=naming is not None and role(naming) is Role.DRIVER,
        groups=_expected(groups, size) if gang else groups,
        counts=_counts(totals),
        framework=row.name if row else "",
        owner=next((pod.member.owner for pod in pods if pod.member.owner), ""),
        job=next((name for pod in pods if role(pod) is not Role.DRIVER and (name := _job(pod))), ""),
        submitted=min((pod.record.created for pod in (pods if backed else waiting)), default=0.0),
        priority=standing.priority(
            (pod.record.priority for pod in waiting), (pod.record.priority for pod in pods if not pod.record.done)
        ),
        backed=backed,
        leads=bool(row and row.has_driver),
        has_driver=any(group.role is Role.DRIVER for group in groups)
        or bool(row and row.has_driver and not any(pod.member.client for pod in pods))
        or bool(row and row.coordinator and any(own(pod.record, row.coordinator) for pod in pods)),
        gang=gang,
        strict=strict,
        **_iterations(pods, in_flight, problems),
        pause=next((value for pod in pods if (value := own(pod.record, names.PAUSE)) in ("true", "drain")), ""),
        size=size,
        lead=_lead(pods),
        problems=tuple(dict.fromkeys(problems)),
        settled=all(pod.member.settled for pod in pods),
        series=naming.member.series if naming else "",
        pending=pending,
        constraints={named(each): each for _, _, _, each in tallies},
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


def clean(text: str) -> str:
    """A name without line breaks."""
    return text.translate(_BREAKS).strip()[:253]


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


def _levelled(groups: tuple[PodGroup, ...], pods: Sequence[Pod], problems: list[str]) -> tuple[PodGroup, ...]:
    """Levels of the stages (paper 003), and which groups wait on an earlier one (paper 001)."""
    edges = {(parent, pod.member.stage) for pod in pods for parent in metadata.parents(own(pod.record, names.PARENTS))}
    if not edges:
        return groups
    if len(edges) > MOST_EDGES:
        problems.append(f"{names.PARENTS}: {len(edges)} dependencies between stages; at most {MOST_EDGES} are read")
        return groups
    try:
        levels = level_of(sorted({group.stage for group in groups}), sorted(edges))
    except SlackwaterError as problem:
        # Parents that have not come yet are not wrong: the app is then ordered without levels.
        problems.append(f"{names.PARENTS}: {problem}")
        return groups
    unfinished = [levels[g.stage] for g in groups if g.role is not Role.DRIVER and (g.held or g.charged or g.blocked)]
    first = min(unfinished, default=0)
    return tuple(
        replace(g, level=levels[g.stage], waiting=g.role is not Role.DRIVER and levels[g.stage] > first) for g in groups
    )


def _size(pods: Iterable[Pod], problems: list[str]) -> AppSize | None:
    for pod in pods:
        if names.TASKS in pod.record.annotations:
            try:
                return announced(pod.record.annotations)
            except InvalidInput as problem:
                problems.append(str(problem))
    return None


def _expected(groups: tuple[PodGroup, ...], size: AppSize | None) -> tuple[PodGroup, ...]:
    """A gang's tasks, as many as it announced."""
    tasks = [group for group in groups if group.role is not Role.DRIVER]
    if size is None or len(tasks) != 1:
        return groups
    return tuple(replace(group, expected=size.tasks) if group is tasks[0] else group for group in groups)


def _iterations(pods: Sequence[Pod], in_flight: InFlightPods, problems: list[str]) -> dict[str, int]:
    """Where an iterative app stands: the number of its stages that began, of how many."""
    text = next((value for pod in pods if (value := own(pod.record, names.ITERATIVE))), "")
    if not text:
        return {}
    stages = metadata.count(text)
    if stages is None:
        said = metadata.shortened(clean(text))
        problems.append(f"{names.ITERATIVE}: {said} is not a number of stages; write 0 where it is not known")
        return {}
    begun = {
        pod.member.stage
        for pod in pods
        if state(pod.record, in_flight) in (PodState.RELEASED, PodState.BOUND, PodState.DONE)
    }
    # Of an app that does not say how many there are, one more is expected; the last of m is m of m.
    return {"stage": max(1, len(begun)), "stages": max(stages, len(begun)) if stages else len(begun) + 1}
