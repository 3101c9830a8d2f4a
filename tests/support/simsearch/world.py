"""One small world for the simulator: nodes, jobs and outages, written as one line of JSON so that it can be kept."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from slackwater_simulator.workload.cluster import Cluster, Node
from slackwater_simulator.workload.readers.schema import JobEntry, job_entry
from slackwater_simulator.workload.workload import GIBI, Job, Workload

GPU = "nvidia.com/gpu"
KINDS = ("cpu", "memory", GPU)


@dataclass(frozen=True, slots=True)
class Host:
    """One node: cores, GiB, devices and its rack."""

    name: str
    cpu: float
    memory: float
    gpus: int = 0
    rack: str = "rack0"

    @property
    def capacity(self) -> tuple[float, ...]:
        """What it offers, in the order of the kinds."""
        return self.cpu, self.memory * GIBI, float(self.gpus)


@dataclass(frozen=True, slots=True)
class SmallWorld:
    """A whole world; `policies` are played beside those that are compared in every world, as world:policy."""

    seed: int
    hosts: tuple[Host, ...]
    jobs: tuple[Job, ...]
    outages: tuple[tuple[str, float, float], ...] = ()
    policies: tuple[str, ...] = ()

    @property
    def cluster(self) -> Cluster:
        """Its nodes as the simulator takes them."""
        nodes = tuple(Node(host.name, host.capacity, host.rack) for host in self.hosts)
        return Cluster(f"seed {self.seed}", nodes, KINDS)

    @property
    def workload(self) -> Workload:
        """Its jobs as the simulator takes them."""
        return Workload(f"seed {self.seed}", self.jobs, KINDS)


def written(world: SmallWorld) -> str:
    """The world as a line of JSON; jobs as in our own trace format."""
    hosts = [asdict(host) for host in world.hosts]
    jobs = [json.loads(orjson.dumps(job_entry(job))) for job in world.jobs]
    entry = {"seed": world.seed, "hosts": hosts, "jobs": jobs, "outages": world.outages, "policies": world.policies}
    return json.dumps(entry)


def read(entry: dict[str, Any]) -> SmallWorld:
    """The world of such a line."""
    return SmallWorld(
        entry["seed"],
        tuple(Host(**host) for host in entry["hosts"]),
        tuple(JobEntry.model_validate(job).build() for job in entry["jobs"]),
        tuple((name, fails, returns) for name, fails, returns in entry["outages"]),
        tuple(entry["policies"]),
    )
