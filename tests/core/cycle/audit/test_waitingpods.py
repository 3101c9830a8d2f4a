"""What waits after a round, and what room the round leaves."""

from dataclasses import replace

import numpy as np
import pytest

from slackwater.cycle.audit.waitingpods import left, waiting
from slackwater.cycle.cycle import decide
from slackwater.cycle.queuepass import Release
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot
from slackwater.nodetable import NodeTable
from slackwater.resources import Resources
from slackwater.roles import Role
from support.builders.nodes import node_table

KINDS = ("cpu", "memory")


def snapshot(room: float, app: App) -> Snapshot:
    """One node of 8 cores, one queue."""
    total, here = np.array([[8.0, 8.0]]), np.array([[room, 8.0]])
    flags = np.ones(1, np.bool_)
    table = NodeTable(KINDS, ("n",), {"n": 0}, total, here, here, flags, here)
    all_ = Resources(cpu=8, memory=8)
    return Snapshot(0.0, (Queue("q", all_, free=Resources(cpu=room, memory=8), total=all_),), (app,), nodes=table)


def app(**more: object) -> App:
    """An app without a driver that holds three tasks of two cores."""
    group = PodGroup("g", Role.TASK, Resources(cpu=2, memory=1), held=("a", "b", "c"))
    return replace(App("app", "team", 0.0, (group,), queue="q", started=True, has_driver=False), **more)  # type: ignore[arg-type]  # fields by name


def test_released_pods_no_longer_wait_and_have_their_room() -> None:
    """Room for two of three: one waits for the rest."""
    seen = snapshot(5.0, app())
    decided = decide(seen, explain=False)
    (pods,) = waiting(seen, decided)
    assert len(decided.releases) == 2
    assert (pods.count, list(pods.declared)) == (1, [2.0, 1.0])
    table = left(seen, decided)
    assert table is not None
    assert table.room[0].tolist() == pytest.approx([1.0, 6.0])


def test_pods_of_a_paused_app_do_not_wait_for_room() -> None:
    """Their owner keeps them, not the cluster."""
    seen = snapshot(5.0, app(paused=True))
    assert waiting(seen, decide(seen, explain=False)) == []


@pytest.mark.parametrize("keeps", ["an incomplete gang", "a release in vain", "a draining queue"])
def test_pods_that_something_else_keeps_do_not_wait_for_room(keeps: str) -> None:
    """No core is idle because of them: more of them must come, a pause must pass, or nothing new starts there."""
    seen = snapshot(5.0, app())
    (group,) = app().groups
    (queue,) = seen.queues
    changed = {
        "an incomplete gang": replace(seen, apps=(app(gang=True, announced=4),)),
        "a release in vain": replace(seen, apps=(app(groups=(replace(group, pausing=True),)),)),
        "a draining queue": replace(seen, apps=(app(started=False),), queues=(replace(queue, draining=True),)),
    }[keeps]
    assert waiting(changed, decide(changed, explain=False)) == []


def test_pods_for_which_placement_found_no_node_wait_for_one() -> None:
    """A node is all they lack."""
    (group,) = app().groups
    seen = snapshot(5.0, app(groups=(replace(group, unplaceable=True),)))
    (pods,) = waiting(seen, decide(seen, explain=False))
    assert pods.count == 3


def test_a_driver_has_its_room_on_a_node_that_it_may_take() -> None:
    """The smaller node would be left with less, but its task runs nowhere else."""
    lead = PodGroup("d", Role.DRIVER, Resources(cpu=2), held=("d",))
    task = PodGroup("t", Role.TASK, Resources(cpu=4), held=("t",), constraints="small")
    led = App("app", "team", 0.0, (lead, task), queue="q", has_driver=True)
    table = node_table([[4.0], [8.0]], kinds=("cpu",))
    on = Queue("q", Resources(cpu=12), free=Resources(cpu=12), total=Resources(cpu=12))
    seen = Snapshot(0.0, (on,), (led,), nodes=table, reach={"small": np.array([True, False])})
    after = left(seen, decide(seen, explain=False))
    assert after is not None
    assert after.room.tolist() == [[4.0], [6.0]]


def test_what_has_no_node_yet_takes_no_room_of_a_gang() -> None:
    """The pod stands first among the releases; on the smaller node it would have the room that was found for others."""
    single = App(
        "app", "team", 0.0, (PodGroup("s", Role.TASK, Resources(cpu=2), held=("s",)),), queue="a", started=True
    )
    pods = PodGroup("g", Role.TASK, Resources(cpu=3), held=("g0", "g1"))
    gang = App("gang", "team", 0.0, (pods,), queue="b", gang=True, started=True)
    queues = tuple(Queue(name, Resources(cpu=9), free=Resources(cpu=9), total=Resources(cpu=9)) for name in "ab")
    seen = Snapshot(0.0, queues, (single, gang), nodes=node_table([[4.0], [5.0]], kinds=("cpu",)))
    decided = decide(seen, explain=False)
    assert [release.uid for release in decided.releases] == ["s", "g0", "g1"]
    after = left(seen, decided)
    assert after is not None
    assert after.room.tolist() == [[1.0], [0.0]]


def test_a_driver_has_its_room_even_if_that_is_only_left_where_it_should_not_go() -> None:
    """The round gave the nodes in another order: the pod before it has the room on the node that was the driver's."""
    pods = [
        PodGroup(name, role, Resources(cpu=2), held=(name,)) for name, role in (("t", Role.TASK), ("d", Role.DRIVER))
    ]
    one = App("app", "team", 0.0, tuple(pods), queue="q", started=True)
    on = Queue("q", Resources(cpu=7), free=Resources(cpu=7), total=Resources(cpu=7))
    seen = Snapshot(0.0, (on,), (one,), nodes=node_table([[4.0], [3.0]], kinds=("cpu",)))
    task, driver = (Release(group.key, "app", group, queue="q") for group in pods)
    after = left(seen, replace(decide(seen), releases=(task, driver._replace(avoid=("node-0",)))))
    assert after is not None
    assert after.room.tolist() == [[2.0], [1.0]]
