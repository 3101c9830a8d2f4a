"""Apps that started take turns (decision 0030), and nobody's turn never comes."""

from __future__ import annotations

from support.fakes.cluster import enforcing, node


def test_a_second_task_is_not_overtaken_for_ever_by_jobs_that_came_after_it() -> None:
    """Its first task does not end, as of a Ray worker; one-task jobs come a little faster than the node serves them."""
    world = enforcing(node("a", cpu=3, memory=64))
    operator = world.operator()
    world.create("long-0", 1, app="long")
    for _ in range(2):
        operator.step(1.0)
        world.schedule()
    for number in range(4):
        world.create(f"job-{number}", 1, app=f"job-{number}")
    second = world.create("long-1", 1, app="long")
    came = world.now
    while not world.pods[second.uid].node and world.now - came < 600:
        number += 1
        world.create(f"job-{number}", 1, app=f"job-{number}")
        operator.step(5.0)
        world.schedule()
        for pod in [each for each in world.pods.values() if each.node and not each.name.startswith("long")]:
            if world.now - pod.started >= 10:
                world.delete(pod)
    assert world.pods[second.uid].node
    assert world.now - came > 200  # the turn of those that hold nothing comes first
