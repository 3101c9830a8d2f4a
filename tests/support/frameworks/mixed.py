"""Many apps of mixed frameworks at once: a small player stands for every controller, and the clock for their work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic

from slackwater_cluster import names
from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.paths import api_path
from slackwater_cluster.objects.records import PodRecord
from slackwater_lab.league.measures import percentile
from slackwater_lab.live.drivers import Ask, Course
from slackwater_lab.live.play import Create, Player
from slackwater_lab.live.pods import PLAYED, Stage
from slackwater_lab.live.workload import Part, Play, Size
from support.frameworks.clones import Object, Recording, Run

PART = "task"
SECONDS = 10.0  # that each task runs
STARTUP = 2.0  # seconds from a driver's start until its controller or itself asks for tasks
UNSAID = Size(0.0, 0.0)  # sizes are the recorded pods' own
KINDS = {  # custom resources that own recorded pods: group, version
    "RayCluster": ("ray.io", "v1"),
    "RayJob": ("ray.io", "v1"),
    "DaskCluster": ("kubernetes.dask.org", "v1"),
    "DaskWorkerGroup": ("kubernetes.dask.org", "v1"),
    "JobSet": ("jobset.x-k8s.io", "v1alpha2"),
    "Workflow": ("argoproj.io", "v1alpha1"),
    "SparkApplication": ("sparkoperator.k8s.io", "v1beta2"),
    "MPIJob": ("kubeflow.org", "v2beta1"),
    "TrainJob": ("trainer.kubeflow.org", "v1alpha1"),
}


def definition(kind: str) -> Object:
    """A custom resource of this name that accepts every field."""
    group, version = KINDS[kind]
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [served],
        },
    }


def mixed(recordings: Sequence[Recording], count: int) -> list[Run]:
    """So many runs, of each recording in turn."""
    found = []
    for number in range(count):
        recording = recordings[number % len(recordings)]
        plain = "shuffle" if recording.name.startswith("spark-") else recording.name
        found.append(Run(recording, f"{plain}-{number:04}"))
    return found


def cores_of_drivers(runs: Sequence[Run]) -> float:
    """What all drivers together request; each asks for one core or a few."""
    asked = [run.driver()["spec"]["containers"][0]["resources"]["requests"]["cpu"] for run in runs if _led(run)]
    return sum(float(amount.removesuffix("m")) / 1000 for amount in asked)


def make_owners(api: ApiClient, namespace: str, runs: Sequence[Run]) -> int:
    """Create the owners of all runs, as users and controllers have before there are pods; returns how many."""
    with ThreadPoolExecutor(8) as pool:
        return sum(pool.map(lambda run: _make_owners(api, namespace, run), runs))


def _make_owners(api: ApiClient, namespace: str, run: Run) -> int:
    for recorded in run.recording.owners:
        group, _, version = recorded["apiVersion"].rpartition("/")
        path = api_path(f"{recorded['kind'].lower()}s", group=group, version=version, namespace=namespace)
        run.uids[recorded["uid"]] = api.post(path, run.owner(recorded))["metadata"]["uid"]
    return len(run.recording.owners)


def _led(run: Run) -> bool:
    return bool(run.recording.drivers)


class MixedPlayer(Player):
    """Plays runs of recorded apps, and notes when each pod was released; where nobody holds pods, when it was bound."""

    def __init__(self, where: Endpoint, stage: Stage, runs: Sequence[Run], patience: float) -> None:
        super().__init__(where, stage, creates=self._bodies, patience=patience, clean=False)
        self.runs = {run.id: run for run in runs}
        self.released: dict[str, float] = {}
        self._gates = stage.scheduler == names.SCHEDULER
        self._leaders: dict[str, Mapping[str, str]] = {}

    def plays(self) -> list[Play]:
        """All runs, submitted at once."""
        return [
            Play(
                run.id,
                0.0,
                (Part(PART, UNSAID, (SECONDS,) * len(run.recording.tasks)),),
                UNSAID if _led(run) else None,
                STARTUP,
            )
            for run in self.runs.values()
        ]

    def changed(self, records: Sequence[PodRecord]) -> None:
        """Pods as they are now."""
        now = monotonic()
        for pod in records:
            if not pod.gated if self._gates else pod.node:
                self.released.setdefault(pod.name, now)
            if f"-{PART}-" not in pod.name:
                self._leaders[pod.name.partition("-driver")[0]] = {"name": pod.name, "uid": pod.uid}
        super().changed(records)

    def _bodies(self, ask: Ask, stage: Stage) -> list[Create]:
        run = self.runs[ask.play.id]
        if ask.part is None:
            body = run.driver()
        else:
            number = int(ask.name.removeprefix(f"{run.id}-{PART}-").partition("-")[0])
            body = run.task(number, self._leaders.get(run.id))
            body["metadata"]["annotations"]["slackwater.io/lab-duration"] = f"{SECONDS:.3f}"
        body["metadata"]["name"] = ask.name
        body["metadata"]["labels"][PLAYED] = stage.play
        body["spec"]["schedulerName"] = stage.scheduler
        return [(api_path("pods", namespace=stage.namespace), body)]


@dataclass(frozen=True, slots=True)
class Line:
    """What came of the runs of one recording, or of all; seconds from the submission of all."""

    recording: str
    apps: int
    finished: int
    pods: int
    makespan: float | None  # until the last app ended; None where one never did
    rate: float | None  # pods released per second, from the first to the last
    wait: float | None  # 95th percentile, until an app's first task ran; None where more than that waited for ever


@dataclass
class Outcome:
    """A whole play."""

    player: MixedPlayer
    courses: Sequence[Course]
    doubts: int  # pods whose labels nothing vouched for
    lines: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        titles = sorted({run.recording.title for run in self.player.runs.values()})
        self.lines = [self._line(title, {title}) for title in titles] + [self._line("all", set(titles))]

    def _line(self, name: str, titles: set[str]) -> Line:
        own = [course for course in self.courses if self._title(course.play.id) in titles]
        ended = [course.ended for course in own if course.over]
        waits = sorted(math.inf if math.isnan(course.first) else course.first - course.submitted for course in own)
        wait = percentile(waits, 0.95)
        ids = {course.play.id for course in own}
        moments = [at for pod, at in self.player.released.items() if _app(pod) in ids]
        span = max(moments) - min(moments) if len(moments) > 1 else 0.0
        return Line(
            name,
            len(own),
            len(ended),
            len(moments),
            round(max(ended), 1) if len(ended) == len(own) else None,
            round(len(moments) / span, 1) if span else None,
            round(wait, 1) if wait < math.inf else None,
        )

    def _title(self, app: str) -> str:
        return self.player.runs[app].recording.title


def _app(pod: str) -> str:
    """The app of a pod, by the name that the player gave it."""
    return pod.partition(f"-{PART}-")[0].partition(f"-{names.DRIVER}")[0]
