"""One order of kinds of resources for a workload and the cluster that it is played on: kinds meet by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from slackwater_simulator.workload.cluster import Cluster
from slackwater_simulator.workload.workload import Job, Request, Workload


def aligned(workload: Workload, cluster: Cluster) -> tuple[Workload, Cluster]:
    """Both with the cluster's kinds, followed by those that only the workload names: no node has any of them."""
    missing = tuple(kind for kind in workload.kinds if kind not in cluster.kinds)
    kinds = cluster.kinds + missing
    if missing:
        none = (0.0,) * len(missing)
        nodes = tuple(replace(node, capacity=node.capacity + none) for node in cluster.nodes)
        cluster = replace(cluster, nodes=nodes, kinds=kinds)
    if workload.kinds == kinds[: len(workload.kinds)]:
        return workload, cluster  # what a request leaves out at its end is nothing

    def ordered(request: Request) -> Request:
        amounts = dict(zip(workload.kinds, request, strict=False))
        return tuple(amounts.get(kind, 0.0) for kind in kinds)

    return replace(workload, jobs=tuple(_with(job, ordered) for job in workload.jobs), kinds=kinds), cluster


def _with(job: Job, ordered: Callable[[Request], Request]) -> Job:
    stages = tuple(replace(stage, request=ordered(stage.request)) for stage in job.stages)
    driver = replace(job.driver, request=ordered(job.driver.request)) if job.driver is not None else None
    return replace(job, stages=stages, driver=driver)
