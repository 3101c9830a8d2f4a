"""One app as its pods show it: groups of equal pods by state, and what their labels say about the whole."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

from slackwater.admission import currentrun, standing
from slackwater.admission.currentrun import PodLife
from slackwater.cycle.snapshot import PodGroup
from slackwater.resources import total
from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.apps import statements
from slackwater_cluster.apps.membership import app_id
from slackwater_cluster.apps.resolver import own
from slackwater_cluster.apps.size import HISTORY, AppSize
from slackwater_cluster.frameworks import FrameworkTable
from slackwater_cluster.objects.records import Constraints, PodRecord
from slackwater_operator.cache.apps.appindex import Pod
from slackwater_operator.cache.apps.appstages import AwaitedStages, levelled
from slackwater_operator.cache.apps.podtally import GroupTally, PodCounts, PodTallies
from slackwater_operator.cache.podstate import InFlightPods, state, withdrawn
from slackwater_operator.cache.rooms import named


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
    owner_version: str = ""  # of the API in which its pods name that owner
    job: str = ""  # the Job that makes tasks of it; one that makes drivers only says nothing of tasks
    submitted: float = 0.0
    priority: int = 0
    backed: bool = True  # what passed the gate speaks for what waits (`admission.standing`)
    began: float = 0.0  # when the first and the last pod of its present run were created
    latest: float = 0.0
    first_task: float | None = None  # when its first and its last task were created
    last_task: float | None = None
    led_since: float | None = None  # when the oldest of its drivers that are not over was created
    driver_bound: float | None = None  # when the first of those came to its node
    served: float | None = None  # when a task came to its node last
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
        return app_id(self.namespace, self.app)

    @property
    def started(self) -> bool:
        """Whether it passed admission: it holds something, or ended something and asks for no new driver."""
        if not self.backed:
            return False
        if self.counts.released or self.counts.bound:
            return True
        driver_waits = any(group.driver and group.held for group in self.groups)
        return self.counts.done > 0 and not driver_waits

    @property
    def over(self) -> bool:
        """Whether nothing of it waits or runs."""
        counts = self.counts
        held = counts.held or counts.blocked or counts.parked
        return not (held or counts.released or counts.stranded or counts.bound or counts.foreign)


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
    tallies = PodTallies()
    for pod in run:
        tallies.add(pod, state(pod.record, in_flight), in_flight.get(pod.uid))
    ordered = tallies.ordered()
    parts = [each.groups(number) for number, each in enumerate(ordered)]
    groups = tuple(group for part in parts for group in part)
    backed = _backed(groups)
    groups, awaited, problems = levelled(groups, run)
    said = _statements(run, tallies.begun, problems)
    tasks = [pod.record.created for pod in run if pod.role is not Role.DRIVER]
    return AppView(
        namespace=namespace,
        app=app,
        groups=_expected(groups, said["announced"]),
        counts=tallies.counts(),
        began=run[0].record.created if run else 0.0,
        latest=run[-1].record.created if run else 0.0,
        first_task=tasks[0] if tasks else None,
        last_task=tasks[-1] if tasks else None,
        led_since=next((pod.record.created for pod in run if pod.role is Role.DRIVER and not pod.record.done), None),
        driver_bound=min((pod.record.scheduled for pod in run if _holds_node(pod)), default=None),
        served=max((pod.record.scheduled for pod in run if _task_on_node(pod)), default=None),
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
        pending=_pending([part[0] for part in parts], ordered),
        constraints={named(each.constraints): each.constraints for each in ordered},
        **_identity(run),
        **_framework(run, groups, table),
        **said,
    )


def _holds_node(pod: Pod) -> bool:
    """Whether it is a driver that came to its node and is not over."""
    return pod.role is Role.DRIVER and pod.record.scheduled > 0 and not pod.record.done


def _task_on_node(pod: Pod) -> bool:
    """Whether it is no driver and came to a node."""
    return pod.role is not Role.DRIVER and pod.record.scheduled > 0


def _present_run(pods: Sequence[Pod], left: float) -> list[Pod]:
    """The pods of the app's present run, oldest first; without those that were withdrawn, if others are there."""
    ordered = sorted(pods, key=lambda pod: (pod.record.created, pod.record.name, pod.uid))
    if not any(pod.record.done or pod.record.deleted for pod in ordered):
        return ordered
    gone = PodLife(ordered[0].record.created, left)
    start = currentrun.began([gone, *(_life(pod.record) for pod in ordered)])
    run = [pod for pod in ordered if pod.record.created >= start]
    return [pod for pod in run if not withdrawn(pod.record)] or run


def _life(pod: PodRecord) -> PodLife:
    """Where nobody wrote down when a pod ended, it was when it was last seen to do something."""
    over = pod.done or withdrawn(pod)
    ended = (pod.finished or pod.deleted or max(pod.started, pod.created)) if over else math.inf
    return PodLife(pod.created, ended, frozenset({pod.uid, *(owner.uid for owner in pod.owners)}))


def _pending(groups: Sequence[PodGroup], ordered: Sequence[GroupTally]) -> dict[str, tuple[str, ...]]:
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
    owner_version: str
    job: str


def _identity(pods: Sequence[Pod]) -> _Identity:
    """What the app is called, and what stands above its pods; the oldest that knows it says so."""
    naming = _naming(pods)
    owned = next((pod.member for pod in pods if pod.member.owner), None)
    return _Identity(
        name=naming.member.name if naming else "",
        named_by_driver=naming is not None and naming.role is Role.DRIVER,
        series=naming.member.series if naming else "",
        owner=owned.owner if owned else "",
        owner_version=owned.version if owned else "",
        job=next((name for pod in pods if pod.role is not Role.DRIVER and (name := _job(pod))), ""),
    )


class _OfFramework(TypedDict):
    framework: str
    leads: bool
    led: bool
    has_driver: bool


def _framework(pods: Sequence[Pod], groups: Sequence[PodGroup], table: FrameworkTable) -> _OfFramework:
    """What the framework's row says of its apps, and whether this one has a driver."""
    row = table.named(next((pod.member.framework for pod in pods if pod.member.framework), ""))
    led = any(group.driver for group in groups)
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


def _promoted(pod: Pod) -> bool:
    return pod.role is Role.DRIVER and pod.record.annotations.get(names.ADMITTED_ROLE) != names.DRIVER


def _job(pod: Pod) -> str:
    """The Job that made this very pod."""
    return next((each.name for each in pod.record.owners if (each.group, each.kind) == ("batch", "Job")), "")


def _naming(pods: Sequence[Pod]) -> Pod | None:
    """The pod that names the app: its driver, because tasks may be labelled with another name; else the oldest."""
    return min(pods, key=lambda pod: (pod.role is not Role.DRIVER, pod.record.created, pod.uid), default=None)


def _backed(groups: Sequence[PodGroup]) -> bool:
    """Whether a driver passed the gate, or tasks that are worth half of the largest pod that waits."""
    passed = [(group, group.charged + group.finished) for group in groups]
    if any(count and group.driver for group, count in passed):
        return True
    return standing.backed((g.request for g in groups if g.held), ((g.request, count) for g, count in passed if count))


def _expected(groups: tuple[PodGroup, ...], announced: int) -> tuple[PodGroup, ...]:
    """A gang's tasks, as many as it announced; where they are of several kinds, nobody knows how many of which."""
    tasks = [group for group in groups if not group.driver]
    if not announced or len(tasks) != 1:
        return groups
    return tuple(replace(group, expected=announced) if group is tasks[0] else group for group in groups)


def run_size(each: AppView) -> AppSize | None:
    """What a run turned out to be: its tasks and their mean request; None where it had none."""
    tasks = [group for group in each.groups if not group.driver]
    count = sum(group.total for group in tasks)
    if not count:
        return None
    return AppSize(count, total(group.request * group.total for group in tasks) * (1 / count), HISTORY)


def _lead(pods: Sequence[Pod]) -> str:
    living = [pod for pod in pods if not pod.record.done] or list(pods)
    return (
        min(living, key=lambda pod: (pod.role is not Role.DRIVER, pod.record.created, pod.record.name)).uid
        if living
        else ""
    )
