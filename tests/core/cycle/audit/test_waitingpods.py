"""What waits after a round, and what room the round leaves."""

from dataclasses import replace

import numpy as np
import pytest

from slackwater.cycle.audit.waitingpods import left, waiting
from slackwater.cycle.cycle import decide
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot
from slackwater.nodetable import NodeTable
from slackwater.resources import Resources
from slackwater.roles import Role

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
