"""Further runs of a recorded app: the pods as its controller wrote them, with a name, ids and owners of their own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from slackwater_cluster import names
from slackwater_cluster.pods.quantities import parse_quantity

Object = dict[str, Any]
OURS = "slackwater.io/"
SPARK_ID = "spark-app-selector"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
# Kubernetes' own controller leaves a Job alone that somebody else manages.
MANAGER = "slackwater.io/lab-player"
NOBODY = "slackwater.io/lab-nobody"  # the label that the ReplicaSets here select: no pod has it
USED = {names.DRIVER: 0.3, names.TASK: 0.6}  # the share of the declared cores and bytes that a pod uses


@dataclass(frozen=True)
class Recording:
    """What one real run of a framework left: its pods, and by uid the owners of owners that are no pods."""

    title: str
    pods: tuple[Object, ...]
    above: Mapping[str, list[Object]]

    @classmethod
    def read(cls, path: Path) -> Recording:
        """From a file; pods that took the place of failed ones are left out, because here none fails."""
        kept = json.loads(path.read_text())
        first = [pod for pod in kept["pods"] if pod["metadata"]["annotations"].get(FAILURES, "0") == "0"]
        return cls(path.stem, tuple(first), kept["above"])

    @cached_property
    def name(self) -> str:
        """By what its pods tell their app from others: the name of the topmost owner, else Spark's id."""
        return str(self.owners[0]["name"] if self.owners else self.pods[0]["metadata"]["labels"][SPARK_ID])

    @cached_property
    def drivers(self) -> tuple[Object, ...]:
        """The pods that the admission policy took for drivers."""
        return tuple(pod for pod in self.pods if _role(pod) == names.DRIVER)

    @cached_property
    def tasks(self) -> tuple[Object, ...]:
        """All others."""
        return tuple(pod for pod in self.pods if _role(pod) != names.DRIVER)

    @cached_property
    def owners(self) -> list[Object]:
        """Owners that are no pods, the topmost first."""
        found: dict[str, Object] = {}
        for pod in self.pods:
            found |= {owner["uid"]: owner for owner in self.chain(pod)}
        return sorted(found.values(), key=lambda owner: sum(1 for _ in self._climb(self.above.get(owner["uid"], []))))

    def chain(self, pod: Object) -> list[Object]:
        """The owners above a pod that are no pods, the nearest first."""
        return list(self._climb(pod["metadata"].get("ownerReferences", [])))

    def _climb(self, references: list[Object]) -> Iterator[Object]:
        for owner in references:
            if owner["kind"] != "Pod":
                yield owner
                yield from self._climb(self.above.get(owner["uid"], []))


@dataclass
class Run:
    """One more run of a recorded app."""

    recording: Recording
    id: str
    uids: dict[str, str] = field(default_factory=dict)  # of recorded owners → of this run's

    def owner(self, recorded: Object) -> Object:
        """An owner as it must be created; those above it were created before, and `uids` knows them."""
        above = self.recording.above.get(recorded["uid"], [])
        return {
            "apiVersion": recorded["apiVersion"],
            "kind": recorded["kind"],
            "metadata": {
                "name": self._own(recorded["name"]),
                "labels": {NOBODY: self.id},
                "ownerReferences": self._own(above),
            },
            "spec": _content(self, recorded),
        }

    def driver(self) -> Object:
        """Its driver."""
        return self._pod(self.recording.drivers[0])

    def task(self, number: int, leader: Mapping[str, str] | None) -> Object:
        """One of its tasks; `leader` is name and uid of the driver's pod, where that is to own the task."""
        made = self._pod(self.recording.tasks[number])
        for owner in made["metadata"]["ownerReferences"]:
            if owner["kind"] == "Pod" and leader is not None:
                owner.update(leader)
        return made

    def template(self, recorded: Object) -> Object:
        """The pod template of an owner, from one of its pods."""
        return {"metadata": {"labels": {NOBODY: self.id}}, "spec": self._pod(recorded)["spec"]}

    def _pod(self, recorded: Object) -> Object:
        """The pod as its controller wrote it: without what Slackwater wrote, and asking for what it declared."""
        metadata, notes = recorded["metadata"], recorded["metadata"]["annotations"]
        spec = {key: value for key, value in recorded["spec"].items() if key != "schedulerName"}
        kept = {key: value for key, value in notes.items() if not key.startswith(OURS)}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "labels": self._own(metadata["labels"]),
                "annotations": {**self._own(kept), **_use(recorded)},
                "ownerReferences": [self._reference(owner) for owner in metadata.get("ownerReferences", [])],
            },
            "spec": {**self._own(spec), "containers": _containers(recorded), "terminationGracePeriodSeconds": 1},
        }

    def _reference(self, recorded: Object) -> Object:
        """A ReplicaSet's controller would replace or delete pods that it controls: to it they must not belong."""
        made: Object = self._own(recorded)
        return {**made, "controller": False} if recorded["kind"] == "ReplicaSet" else made

    def _own(self, value: Any) -> Any:
        """The same with the name and the ids of this run."""
        if isinstance(value, dict):
            return {key: self._own(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._own(each) for each in value]
        old = self.recording.name
        if isinstance(value, str) and (value == old or value.startswith(f"{old}-")):
            return self._name + value.removeprefix(old)
        return self.uids.get(value, value) if isinstance(value, str) else value

    @cached_property
    def _name(self) -> str:
        digest = hashlib.md5(self.id.encode(), usedforsecurity=False).hexdigest()
        return f"spark-{digest}" if self.recording.name.startswith("spark-") else self.id


def _role(pod: Object) -> str:
    return str(pod["metadata"]["annotations"].get(names.ADMITTED_ROLE, ""))


def _declared(pod: Object) -> dict[str, str]:
    notes = pod["metadata"]["annotations"]
    return {"cpu": notes[names.DECLARED_CPU], "memory": notes[names.DECLARED_MEMORY]}


def _use(pod: Object) -> dict[str, str]:
    """How much of it simulated nodes pretend to see in use."""
    share, declared = USED[_role(pod)], _declared(pod)
    return {
        "kwok.x-k8s.io/usage-cpu": f"{round(1000 * share * parse_quantity(declared['cpu']))}m",
        "kwok.x-k8s.io/usage-memory": str(round(share * parse_quantity(declared["memory"]))),
    }


def _containers(pod: Object) -> list[Object]:
    """The containers as declared: the first one that requests something requests all of it."""
    made = [{**each, "image": "none"} for each in pod["spec"]["containers"]]
    asking = next(each for each in made if each["resources"].get("requests"))
    asking["resources"] = {**asking["resources"], "requests": _declared(pod)}
    return made


def _content(run: Run, owner: Object) -> Object:
    """What an owner says of its tasks: their number and size, as the framework's users write it."""
    below = [task for task in run.recording.tasks if owner["uid"] in {up["uid"] for up in run.recording.chain(task)}]
    template = run.template((below or run.recording.pods)[0])
    made: Object = {}
    match owner["kind"]:
        case "Job":
            made = {"managedBy": MANAGER, "parallelism": len(below), "completions": len(below), "template": template}
        case "Deployment" | "ReplicaSet" as kind:  # nothing is left to do for their controllers
            template["spec"]["restartPolicy"] = "Always"
            made = {"replicas": 0, "selector": {"matchLabels": {NOBODY: run.id}}, "template": template}
            made |= {"paused": True} if kind == "Deployment" else {}
        case "RayCluster":
            made = {"workerGroupSpecs": [{"replicas": len(below), "template": template}]}
        case "SparkApplication":
            cores = int(parse_quantity(_declared(below[0])["cpu"]))
            made = {"executor": {"instances": len(below), "cores": cores}}
        case "MPIJob":
            made = {"mpiReplicaSpecs": {"Worker": {"replicas": len(below), "template": template}}}
        case "DaskCluster":
            made = {"worker": {"replicas": len(below), "spec": template["spec"]}}
        case "JobSet":
            jobs = [job for job in run.recording.owners if job["kind"] == "Job"]
            made = {"replicatedJobs": [_replicated(run, job) for job in jobs]}
    return made


def _replicated(run: Run, job: Object) -> Object:
    return {"name": job["name"], "replicas": 1, "template": {"spec": _content(run, job)}}
