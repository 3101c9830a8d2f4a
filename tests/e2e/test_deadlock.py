"""Scenario 4: many drivers at once fill a small cluster; the tasks they need do not fit any more."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from slackwater_cluster.api.contenttypes import STRATEGIC
from support.lab.livejobs import job, perform
from support.lab.testcluster import Field
from support.lab.testnamespace import OURS, PLAIN, Ground, Object, bound, phase, until

pytestmark = pytest.mark.lab
JOBS = 40


def test_the_plain_scheduler_deadlocks_on_drivers(arena: Field) -> None:
    """16 drivers take all 16 CPUs, and no task ever runs."""
    with arena.ground("stall", managed=False) as ground:
        courses = perform(ground, arena.where, [job(f"job-{i:02}", 2, 1) for i in range(JOBS)], 12, PLAIN)
        assert sum(course.driver == course.driver for course in courses) == 16
        assert not any(course.first == course.first for course in courses)


def test_slackwater_lets_all_forty_finish(arena: Field, tell: Callable[[str], None]) -> None:
    """The same 40 jobs on the same nodes."""
    with arena.ground("flow") as ground:
        courses = perform(ground, arena.where, [job(f"job-{i:02}", 2, 1) for i in range(JOBS)], 80, OURS)
        assert all(course.over for course in courses)
        tell(f"40 jobs of 1 driver and 2 tasks over after {max(course.ended for course in courses):.1f} s")


def test_the_plain_scheduler_deadlocks_on_ray_heads(arena: Field) -> None:
    """16 heads take all 16 CPUs, and no worker ever runs."""
    with arena.ground("heads", managed=False) as ground:
        _create_clusters(ground, ("head", "worker"), schedulerName=PLAIN)
        ground.until_bound(16, 30)
        until("all others were tried", lambda: sum(map(_refused, ground.pods())) == 2 * JOBS - 16, 40, 0.3)
        assert all("head" in pod["metadata"]["name"] for pod in bound(ground.pods()))


def test_slackwater_lets_all_ray_clusters_finish(arena: Field, tell: Callable[[str], None]) -> None:
    """The same 40 clusters, workers first: they would fill the nodes without their heads, but none starts before it."""
    with arena.ground("ray") as ground:
        began = time.monotonic()
        _create_clusters(ground, ("worker", "head"))
        until("all clusters have run", lambda: _clusters_over(ground), 85)
        tell(f"40 Ray clusters over after {time.monotonic() - began:.1f} s")


def _create_clusters(ground: Ground, order: tuple[str, str], **spec: Any) -> None:
    """40 clusters of a head, which runs until its workers are done, and one worker; as the Ray operator labels them."""
    for kind in order:
        ground.create(
            ground.pod(
                f"{kind}-{number:02}",
                app=f"ray-{number:02}",
                role="",
                use=("1", "500Mi"),
                lasts=1.0 if kind == "worker" else None,
                labels={"ray.io/cluster": f"ray-{number:02}", "ray.io/node-type": kind},
                **spec,
            )
            for number in range(JOBS)
        )


def _refused(pod: Object) -> bool:
    return any(each.get("reason") == "Unschedulable" for each in pod["status"].get("conditions", []))


def _clusters_over(ground: Ground) -> bool:
    """Whether all have ended; a head whose worker is done is ended, as a job's end would."""
    pods = {str(pod["metadata"]["name"]): pod for pod in ground.pods()}
    for number in range(JOBS):
        head, worker = pods[f"head-{number:02}"], pods[f"worker-{number:02}"]
        assert bound([head]) or not bound([worker]), "a worker was bound before its head"
        if phase(head) == "Running" and phase(worker) == "Succeeded":
            path = f"{ground.pods_path}/{head['metadata']['name']}/status"
            ground.api.patch(path, {"status": {"phase": "Succeeded"}}, STRATEGIC)
    return all(phase(pod) == "Succeeded" for pod in pods.values())
