"""Which node could take a pod: room, native requests, the queue's nodes and the pod's own constraints."""

import numpy as np

from slackwater.cycle.feasibility import fitting, reachable
from slackwater.cycle.snapshot import PodGroup, Queue, Snapshot
from slackwater.resources import Resources
from slackwater.roles import Role
from support.builders.nodes import node_table

TABLE = node_table(
    [[4.0, 8.0], [1.0, 8.0], [4.0, 8.0], [4.0, 8.0]], total=[[8.0, 16.0]] * 4, native=[[8.0, 16.0]] * 4, closed=[2]
)


def world(**more: object) -> Snapshot:
    """Four nodes, of which the second is nearly full and the third is closed."""
    return Snapshot(0.0, (), (), nodes=TABLE, **more)  # type: ignore[arg-type]


def pods(cpu: float, memory: float = 1.0, **more: object) -> PodGroup:
    """A group of equal pods."""
    return PodGroup("g", Role.TASK, Resources(cpu=cpu, memory=memory), **more)  # type: ignore[arg-type]


ANY = Queue("q", Resources(cpu=32))


def test_a_pod_fits_where_an_open_node_has_room_in_every_kind() -> None:
    """Neither a full node nor a closed one."""
    assert np.asarray(fitting(world(), ANY, pods(2.0))).tolist() == [True, False, False, True]
    assert not np.asarray(fitting(world(), ANY, pods(2.0, memory=9.0))).any()


def test_native_requests_count_beside_declared_ones() -> None:
    """Room for what is declared is of no use where kube-scheduler has no requests left."""
    tight = node_table([[4.0, 8.0]], native=[[0.5, 8.0]])
    snapshot = Snapshot(0.0, (), (), nodes=tight)
    assert not np.asarray(fitting(snapshot, ANY, pods(1.0))).any()
    assert np.asarray(fitting(snapshot, ANY, pods(1.0, native=Resources(cpu=0.5)))).all()


def test_the_queue_and_the_pod_both_choose_nodes() -> None:
    """A name that the snapshot does not know asks for nothing special."""
    queue = Queue("q", Resources(cpu=32), nodes=np.array([True, True, True, False]))
    snapshot = world(reach={"gpu": np.array([False, True, False, True])})
    assert np.asarray(reachable(snapshot, queue, "")).tolist() == [True, True, True, False]
    assert np.asarray(reachable(snapshot, queue, "gpu")).tolist() == [False, True, False, False]
    assert np.asarray(fitting(snapshot, ANY, pods(2.0, constraints="gpu"))).tolist() == [False, False, False, True]


def test_without_nodes_nothing_is_known_node_by_node() -> None:
    """Sums alone say nothing about a node."""
    assert fitting(Snapshot(0.0, (), ()), ANY, pods(1.0)) is None
