"""Where the cores are at one moment: each cause by a small case, and the parts add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.cycle.audit.idle import Cause, NodeCharges, WaitingPods, split
from slackwater.nodetable import NodeTable

Pairs = list[tuple[float, float]]


def node(
    used: tuple[float, float] = (0, 0),
    *,
    room: tuple[float, float] = (16, 64),
    native: tuple[float, float] | None = None,
    charged: tuple[float, float] | None = None,
    drivers: tuple[float, float] = (0, 0),
    takes: bool = True,
) -> NodeCharges:
    """One node of 16 cores and 64 GiB; `drivers` are the cores they are charged and those they use."""
    total = np.array([[16.0, 64.0]])
    here, flags = np.array([room], float), np.array([takes])
    left = here if native is None else np.array([native], float)
    table = NodeTable(("cpu", "memory"), ("n",), {"n": 0}, total, here, left, flags)
    taken = total - here if charged is None else np.array([charged], float)
    return NodeCharges(table, np.array([used], float), taken, np.array([drivers[0]]), np.array([drivers[1]]))


def pod(cpu: float, memory: float, count: int = 1, *, shrunk: float = 1.0, reach: bool = True) -> WaitingPods:
    """Waiting pods of one shape."""
    return WaitingPods(
        count, (cpu, memory), (cpu / shrunk, memory / shrunk), None if reach else np.zeros(1, dtype=np.bool_)
    )


def there(nodes: NodeCharges, *waiting: WaitingPods) -> dict[Cause, float]:
    """The causes that have cores."""
    return {cause: cores for cause, cores in split(nodes, waiting).items() if cores}


def test_cores_without_a_waiting_pod_idle_because_nothing_waits() -> None:
    """Whatever else is charged or kept back: nobody is kept from them."""
    nodes = node((10, 8), room=(1, 8), drivers=(2, 0))
    assert there(nodes) == {Cause.BUSY: 10, Cause.NOTHING_WAITS: 6}
    assert there(nodes, pod(1, 1, count=0)) == {Cause.BUSY: 10, Cause.NOTHING_WAITS: 6}


def test_room_for_a_waiting_pod_counts_against_the_gate() -> None:
    """As many cores as such pods ask for; nobody waits for the others."""
    assert there(node((4, 8), room=(12, 56)), pod(1, 1, count=20)) == {Cause.BUSY: 4, Cause.GATE: 12}
    few = there(node((4, 8), room=(12, 56)), pod(2, 1, count=3))
    assert few == {Cause.BUSY: 4, Cause.GATE: 6, Cause.NOTHING_WAITS: 6}


def test_a_pod_that_does_not_reach_the_node_is_no_claim_on_its_room() -> None:
    """Its selector or taints keep it away."""
    assert there(node(), pod(1, 1, reach=False)) == {Cause.FRAGMENT: 16}


def test_charges_beyond_use_are_told_by_drivers_and_tasks() -> None:
    """Of 16 charged cores 10 are used: drivers are charged 4 and use 1, tasks are charged 12 and use 9."""
    nodes = node((10, 8), room=(0, 56), drivers=(4, 1))
    assert there(nodes, pod(1, 1)) == {Cause.BUSY: 10, Cause.DRIVERS: 3, Cause.TASKS: 3}


def test_what_is_neither_charged_nor_offered_is_kept_back() -> None:
    """An allowance of 2 of 16 cores."""
    nodes = node((10, 8), room=(0, 56), charged=(14, 8))
    assert there(nodes, pod(1, 1)) == {Cause.BUSY: 10, Cause.TASKS: 4, Cause.KEPT_BACK: 2}


def test_cores_beside_memory_that_is_kept_back_count_as_kept_back() -> None:
    """8 GiB are not charged, but an allowance offers only 1 of them."""
    nodes = node((8, 56), room=(8, 1), charged=(8, 56))
    assert there(nodes, pod(1, 4)) == {Cause.BUSY: 8, Cause.KEPT_BACK: 8}


def test_cores_beside_memory_that_is_charged_and_not_used() -> None:
    """Memory of the node is given away and half of it is used."""
    nodes = node((8, 32), room=(8, 0))
    assert there(nodes, pod(1, 4)) == {Cause.BUSY: 8, Cause.MEMORY: 8}
    assert there(node((8, 64), room=(8, 0)), pod(1, 4)) == {Cause.BUSY: 8, Cause.FRAGMENT: 8}


def test_room_that_the_ceiling_keeps_from_pods() -> None:
    """By measurement there is room, but requests as kube-scheduler counts them are given away."""
    nodes = node((8, 32), room=(8, 32), native=(0.25, 32))
    assert there(nodes, pod(1, 4, shrunk=2)) == {Cause.BUSY: 8, Cause.CEILING: 8}
    assert Cause.GATE in there(nodes, pod(0.5, 4, shrunk=2))


def test_a_rest_that_is_too_small_is_a_fragment() -> None:
    """One core is left and every waiting pod asks for two."""
    assert there(node((15, 8), room=(1, 56)), pod(2, 1)) == {Cause.BUSY: 15, Cause.FRAGMENT: 1}


def test_overload_is_busy_and_no_more() -> None:
    """Tasks that want more than the node has use what it has."""
    assert there(node((20, 8), room=(-4, 56)), pod(1, 1)) == {Cause.BUSY: 16}


def test_closed_nodes_have_no_cores() -> None:
    """A node that takes nobody is no loss of the scheduler's."""
    assert there(node((4, 8), takes=False), pod(1, 1)) == {}


amounts = st.tuples(st.floats(0, 20), st.floats(0, 80))
rooms = st.tuples(st.floats(-8, 16), st.floats(-8, 64))


@given(used=amounts, room=rooms, native=rooms, charged=amounts, drivers=amounts, shapes=st.lists(amounts, max_size=3))
def test_parts_add_up_to_the_cores_of_the_node(
    used: tuple[float, float],
    room: tuple[float, float],
    native: tuple[float, float],
    charged: tuple[float, float],
    drivers: tuple[float, float],
    shapes: Pairs,
) -> None:
    """Whatever the numbers, each core has one cause and no cause has less than none."""
    nodes = node(used, room=room, native=native, charged=charged, drivers=drivers)
    parts = split(nodes, [pod(*shape, count=2) for shape in shapes])
    assert sum(parts.values()) == pytest.approx(16)
    assert min(parts.values()) >= -1e-9
