"""Scenario 4: many drivers at once fill a small cluster; the tasks they need do not fit any more."""

from collections.abc import Callable

import pytest

from support.field import Field
from support.ground import OURS, PLAIN, Ground, Object, bound, phase, until
from support.troupe import job, perform

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


def test_ray_workers_never_start_before_their_head(arena: Field) -> None:
    """Six clusters whose workers came first would fill the nodes with workers; all heads and workers get to run."""
    with arena.ground("ray") as ground:
        for kind, count, lasts in (("worker", 3, 2.0), ("head", 1, None)):
            ground.create(
                ground.pod(
                    f"{kind}-{c}-{i}",
                    app=f"ray-{c}",
                    role="",
                    cpu="2",
                    use=("2", "1Gi"),
                    lasts=lasts,
                    labels={"ray.io/cluster": f"ray-{c}", "ray.io/node-type": kind},
                )
                for c in range(6)
                for i in range(count)
            )
        until("all six clusters have run", lambda: _clusters_over(ground), 85)


def _clusters_over(ground: Ground) -> bool:
    """Whether all have ended; a head whose workers are done is ended, as a job's end would."""
    pods = ground.pods()
    for cluster in {_cluster(pod) for pod in bound(pods)}:
        (head,) = (pod for pod in pods if _cluster(pod) == cluster and "head" in pod["metadata"]["name"])
        assert bound([head]), "a worker was bound before its head"
        workers = [pod for pod in pods if _cluster(pod) == cluster and pod is not head]
        if phase(head) == "Running" and all(phase(pod) == "Succeeded" for pod in workers):
            path = f"{ground.pods_path}/{head['metadata']['name']}/status"
            ground.api.patch(path, {"status": {"phase": "Succeeded"}})
    return all(phase(pod) == "Succeeded" for pod in pods)


def _cluster(pod: Object) -> str:
    return str(pod["metadata"]["labels"]["ray.io/cluster"])
