"""A whole assessment: read the history once per kind, and say what was reserved, used, wasted and waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from slackwater_cluster import names
from slackwater_cluster.frameworks import FrameworkTable
from slackwater_monitor.assessment.lifetimes import LifetimeUsage
from slackwater_monitor.assessment.owners import Member, members
from slackwater_monitor.assessment.pods import PodHistory, census
from slackwater_monitor.assessment.reclaim import Ground, Offer, offers
from slackwater_monitor.assessment.savings import Place, places
from slackwater_monitor.assessment.spill import BUCKETS, Spool
from slackwater_monitor.assessment.usage import QUANTILES, Dense, UsageStatistics, measure
from slackwater_monitor.assessment.waits import Stall, Waits, stalls, waits
from slackwater_monitor.assessment.windows import CPU, MEMORY, Container, Floats, Index, Ints, interval, rows
from slackwater_monitor.history.fetch import History
from slackwater_monitor.history.grid import Grid
from slackwater_simulator.charts.amounts import count, seconds

KINDS = (CPU, MEMORY)
LEVELS = ("container", "pod", "app", "namespace", "user", "node")
Progress = Callable[[float], None]
Name = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RequestedAndUsed:
    """The whole cluster over time, one value per window; NaN where nothing was sampled."""

    used: Floats
    asked: Floats


@dataclass(frozen=True, slots=True)
class Assessment:
    """What came out. Amounts are cores and bytes, times Unix seconds."""

    grid: Grid
    interval: float  # seconds between samples
    total: Mapping[str, float]  # allocatable of all nodes, by kind; 0 where unknown
    levels: Mapping[str, Mapping[str, Mapping[Name, UsageStatistics]]]  # level → kind → name → figures
    members: Mapping[tuple[str, str], Member]
    census: PodHistory
    courses: Mapping[str, RequestedAndUsed]
    offers: Mapping[str, Sequence[Offer]]
    places: Sequence[Place]
    waits: Mapping[str, Waits]
    stalls: Sequence[Stall]
    seen: Mapping[tuple[str, str], float]  # when each pod was last measured
    # Kind → pod → for each of its containers, mean use per tenth of its life.
    curves: Mapping[str, Mapping[tuple[str, str], Sequence[Floats]]]
    notes: Sequence[str] = field(default=())

    def name(self, level: str, container: Container) -> Name:
        """What a container belongs to at a level."""
        return name_of(level, container, self.members)

    @property
    def drivers(self) -> dict[tuple[str, str], str]:
        """Apps that have a driver → the framework that was recognised, "" where they were known by owning pods."""
        return {
            (key[0], member.app): member.framework
            for key, member in self.members.items()
            if member.role == names.DRIVER
        }


def assess(
    history: History,
    table: FrameworkTable,
    scratch: Path,
    *,
    user_labels: Iterable[str] = (),
    progress: Progress | None = None,
) -> Assessment:
    """Assess a fetched period. `scratch` is a folder for temporary files (some 40 bytes per container and window)."""
    users = tuple(user_labels)
    index, gap = _containers(history), interval(history)
    people = census(history, table, users)
    for namespace, pod, _ in index.names:
        people.pod((namespace, pod))
    kin = members(people, table, users)
    study = _Study(history, index, people, kin, gap)
    with TemporaryDirectory(dir=scratch, prefix="rows-") as folder:
        for number, kind in enumerate(KINDS):
            study.run(kind, Path(folder))
            if progress is not None:
                progress((number + 1) / len(KINDS))
    total = {kind: sum(each.get(kind, 0.0) for each in people.allocatable.values()) for kind in KINDS}
    period = float(history.grid.step * history.grid.count)
    seen = study.last_seen()
    return Assessment(
        grid=history.grid,
        interval=gap,
        total=total,
        levels=study.levels,
        members=kin,
        census=people,
        courses=study.courses,
        offers=study.offers,
        places=places(study.of_containers(), kin, total, period),
        waits={role: waits(people, kin, role, history.grid.start) for role in (names.DRIVER, names.TASK)},
        stalls=stalls(people, kin, seen),
        seen=seen,
        curves={kind: _by_pod(index, means) for kind, means in study.curves.items()},
        notes=(*history.notes, *study.notes()),
    )


def name_of(level: str, container: Container, kin: Mapping[tuple[str, str], Member]) -> Name:
    """What a container belongs to at a level."""
    namespace, pod, _ = container
    member = kin[namespace, pod]
    return {
        "container": container,
        "pod": (namespace, pod),
        "app": (namespace, member.app),
        "namespace": (namespace,),
        "user": (member.user,),
        "node": (member.node or "unknown",),
    }[level]


def _by_pod(index: Index, means: Floats) -> dict[tuple[str, str], list[Floats]]:
    found: dict[tuple[str, str], list[Floats]] = {}
    for (namespace, pod, _), curve in zip(index.names, means, strict=True):
        found.setdefault((namespace, pod), []).append(curve)
    return found


def _containers(history: History) -> Index:
    index = Index()
    for kind in KINDS:
        for answer in history.answers(f"{kind}-count"):
            index.column(answer)
    return index


class _Study:
    """Goes through the rows of each kind and keeps what is asked of them."""

    def __init__(
        self, history: History, index: Index, people: PodHistory, kin: Mapping[tuple[str, str], Member], gap: float
    ) -> None:
        self.history, self.index, self.people, self.kin, self.gap = history, index, people, kin, gap
        self.levels: dict[str, dict[str, dict[Name, UsageStatistics]]] = {level: {} for level in LEVELS}
        self.courses: dict[str, RequestedAndUsed] = {}
        self.offers: dict[str, list[Offer]] = {}
        self.curves: dict[str, Floats] = {}
        self.covered = np.zeros(history.grid.count, np.bool_)
        self.last = np.zeros(len(index.names), np.int64)
        self.labels = {level: _numbered([name_of(level, each, kin) for each in index.names]) for level in LEVELS}
        self.lives = _lives(people, index, history.grid)
        self.task = np.array([kin[each[:2]].role == names.TASK for each in index.names], np.bool_)

    def run(self, kind: str, folder: Path) -> None:
        """One kind, in two passes: pieces of time, then buckets of apps."""
        if not self.history.has(f"{kind}-count"):
            return
        grid = self.history.grid
        dense = {
            level: Dense(self.labels[level][0], len(self.labels[level][1]), grid.count, grid.step)
            for level in ("namespace", "user", "node")
        }
        spool = Spool(folder, kind, self.labels["app"][0] % BUCKETS)
        curves = LifetimeUsage.of(self.people, self.index, grid)
        for whole in rows(self.history, kind, self.index, self.gap):
            piece = whole.within(*self.lives)
            spool.add(piece)
            curves.add(piece)
            for each in dense.values():
                each.add(piece)
            self.covered[np.unique(piece.window)] = True
            np.maximum.at(self.last, piece.container, grid.start + (piece.window + 1) * grid.step)
        spool.close()
        for level, each in dense.items():
            self.levels[level][kind] = self._named(level, each.figures())
        self.courses[kind] = _course(dense["node"])
        self.curves[kind] = curves.means()
        self._buckets(kind, spool)

    def _buckets(self, kind: str, spool: Spool) -> None:
        grid = self.history.grid
        for level in ("container", "pod", "app"):
            self.levels[level][kind] = {}
        for bucket in spool.buckets():
            for level in ("container", "pod", "app"):
                group = self.labels[level][0][bucket.container]
                found = measure(group, bucket, grid.count, grid.step, beside=level != "app")
                self.levels[level][kind].update(self._named(level, found))
        self.offers[kind] = offers(self._ground(kind), (spool.buckets() for _ in QUANTILES))

    def _ground(self, kind: str) -> Ground:
        figures = self.levels["container"][kind]
        known = [figures.get(name) for name in self.index.names]
        nothing = (float("nan"),) * len(QUANTILES)
        return Ground(
            asked=np.array([each.asked if each else 0.0 for each in known]),
            seconds=np.array([each.seconds if each else 0.0 for each in known]),
            quantiles=np.array([each.quantiles if each else nothing for each in known]),
            task=self.task,
            node=self.labels["node"][0],
            nodes=len(self.labels["node"][1]),
            windows=self.history.grid.count,
            step=self.history.grid.step,
        )

    def _named(self, level: str, found: Mapping[int, UsageStatistics]) -> dict[Name, UsageStatistics]:
        listed = self.labels[level][1]
        return {listed[number]: figures for number, figures in found.items()}

    def of_containers(self) -> dict[str, dict[Container, UsageStatistics]]:
        """Figures of containers by kind."""
        return {
            kind: {(name[0], name[1], name[2]): each for name, each in found.items()}
            for kind, found in self.levels["container"].items()
        }

    def last_seen(self) -> dict[tuple[str, str], float]:
        """When each pod was last measured."""
        found: dict[tuple[str, str], float] = {}
        for (namespace, pod, _), moment in zip(self.index.names, self.last.tolist(), strict=True):
            found[namespace, pod] = max(found.get((namespace, pod), 0.0), moment)
        return found

    def notes(self) -> list[str]:
        """What a reader must know about holes in the data."""
        grid = self.history.grid
        told = [
            f"no samples from {_in_utc(first)} to {_in_utc(last)} ({seconds(last - first)}): nothing ran or "
            "nothing was scraped; this stretch counts neither as used nor as reserved"
            for first, last in gaps(self.covered, grid)
        ]
        told += [
            f"{self.history.names.metrics[kind]} gave no value in any window: {kind} is left out"
            for kind in KINDS
            if self.history.has(f"{kind}-count") and not self.levels["container"][kind]
        ]
        bare = sum(1 for each in self.levels["container"].get(CPU, {}).values() if each.asked <= 0)
        if bare and self.history.has("requests"):
            told.append(f"{count(bare, 'container')} without a CPU request left out of efficiency and reclaiming")
        if not self.people.allocatable:
            told.append("the size of nodes is unknown, so shares of the cluster are not given")
        return told


def _lives(people: PodHistory, index: Index, grid: Grid) -> tuple[Ints, Ints]:
    """The first and last window of each container's life: some kubelets go on reporting pods that have ended."""
    first, last = np.zeros(len(index.names), np.int64), np.full(len(index.names), grid.count, np.int64)
    for number, (namespace, name, _) in enumerate(index.names):
        pod = people.pods[namespace, name]
        if pod.begun:
            first[number] = (pod.begun - grid.start) // grid.step
        # A pod of the same name that started later is alive beyond this one's end.
        if pod.completed and pod.completed >= pod.started:
            last[number] = (pod.completed - grid.start) // grid.step
    return first, last


def gaps(covered: np.ndarray[tuple[int], np.dtype[np.bool_]], grid: Grid) -> list[tuple[float, float]]:
    """Stretches of at least two windows in which nothing at all was sampled, as (from, to)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([1], covered.astype(np.int64), [1]))))
    pairs = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    return [
        (grid.start + first * grid.step, grid.start + last * grid.step) for first, last in pairs if last - first >= 2
    ]


def _numbered(labels: list[Name]) -> tuple[Ints, list[Name]]:
    """A number for each label, and the labels by number."""
    numbers: dict[Name, int] = {}
    column = np.fromiter((numbers.setdefault(label, len(numbers)) for label in labels), np.int64, len(labels))
    return column, list(numbers)


def _course(nodes: Dense) -> RequestedAndUsed:
    seen = nodes.present.any(axis=0)
    used, asked = (np.where(seen, each.sum(axis=0, dtype=np.float64), np.nan) for each in (nodes.used, nodes.asked))
    return RequestedAndUsed(used, asked)


def _in_utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
