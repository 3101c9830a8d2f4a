"""Batch placement: a node for each of many pods, each placement seen by the next."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from slackwater.errors import BadNumber, InvalidInput
from slackwater.network.arrivals import Arrivals
from slackwater.nodetable import PodAsk
from slackwater.placement.batch import Batch, Placement, Refusal, Weights, fit_one
from slackwater.placement.reasons import FilterReason
from support.builders.nodes import ask, in_order, node_table, place

NAN, INF = float("nan"), float("inf")


def test_each_placement_is_seen_by_the_next() -> None:
    """One slot on each of two nodes serves two pods, not three; the table itself stays as it was."""
    table = node_table([[1, 1], [1, 1]])
    found = place(table, [ask(f"pod-{i}", 1, 1) for i in range(3)])
    assert [outcome.uid for outcome in found] == ["pod-0", "pod-1", "pod-2"]
    assert nodes_of(found) == {"node-0": 1, "node-1": 1}
    assert found[2] == Refusal("pod-2", FilterReason.MEMORY, ((FilterReason.MEMORY, 2),))
    assert table.room.tolist() == [[1, 1], [1, 1]]


def test_the_native_residual_falls_too() -> None:
    """Room for four, native for one: kube-scheduler would refuse the second."""
    found = place(node_table([[4, 4]], native=[[1, 1]]), [ask("a", 1, 1), ask("b", 1, 1)])
    assert isinstance(found[1], Refusal)
    assert found[1].reason == FilterReason.NATIVE


def test_the_worked_example_of_the_documentation() -> None:
    """Equal pods spread, unlike pods share a node, and the seventh finds nothing."""
    kinds = {"cpu": (4, 2), "memory": (1, 6)}
    pods = [ask(f"{kind}-{i}", *kinds[kind], group=kind, submitted=len(kind)) for kind in kinds for i in range(4)]
    found = Batch(node_table([[8, 16]] * 3), pods).step(8)
    assert [(one.uid, one.row) for one in found if isinstance(one, Placement)] == [
        *[("cpu-0", 0), ("cpu-1", 1), ("cpu-2", 2), ("memory-0", 0), ("memory-1", 1), ("memory-2", 2)],
        ("memory-3", 0),
    ]
    assert found[6] == Refusal("cpu-3", FilterReason.CPU, ((FilterReason.CPU, 3),))


@pytest.mark.parametrize("ordered", [False, True])
def test_a_burst_of_equal_pods_spreads_over_equal_nodes(ordered: bool) -> None:
    """200 pods, 50 nodes, 4 on each: a filled node falls behind."""
    asks = [ask(f"pod-{i}", 1, 1) for i in range(200)]
    found = nodes_of(place(node_table([[16, 64]] * 50), in_order(asks) if ordered else asks))
    assert Counter(found.values()) == {4: 50}


@pytest.mark.parametrize("ordered", [False, True])
def test_pods_of_which_nobody_knows_what_they_use_leave_half_of_the_memory_free(ordered: bool) -> None:
    """World 50184: 47 tasks filled the small nodes, used twice what they ask for, and seven of them were killed."""
    table = node_table([[4, 4], [4, 8], [32, 64]])
    asks = [ask(f"pod-{i}", 0.5, 2, unproven=True) for i in range(9)]
    assert nodes_of(place(table, in_order(asks) if ordered else asks)) == {"node-0": 1, "node-1": 2, "node-2": 6}
    known = [replace(each, unproven=False) for each in asks]
    assert nodes_of(place(table, in_order(known) if ordered else known)) == {"node-0": 2, "node-1": 4, "node-2": 3}


def test_beyond_half_of_the_memory_they_fill_all_nodes_alike() -> None:
    """None of them is filled to its brim while another has a third left; all that fits is placed."""
    asks = [ask(f"pod-{i}", 0.5, 2, unproven=True) for i in range(16)]
    assert nodes_of(place(node_table([[32, 16], [64, 32]]), asks[:12])) == {"node-0": 4, "node-1": 8}
    assert nodes_of(place(node_table([[32, 16], [64, 32]]), asks[:15])) == {"node-0": 5, "node-1": 10}
    assert nodes_of(place(node_table([[4, 16], [4, 16]]), asks)) == {"node-0": 8, "node-1": 8}


def test_pods_that_are_known_are_packed_beside_those_that_are_not() -> None:
    """Each by its own rule, in one batch: the known one has the small node."""
    asks = [ask("known", 1, 3, group="a"), ask("new", 1, 3, group="b", unproven=True)]
    found = place(node_table([[4, 4], [32, 64]]), asks)
    assert [outcome.node for outcome in found if isinstance(outcome, Placement)] == ["node-0", "node-1"]


def arrivals(*bandwidth: float) -> Arrivals:
    """Links of so many bytes per second on which nothing flows."""
    return Arrivals({f"node-{i}": i for i in range(len(bandwidth))}, np.array(bandwidth), np.zeros(len(bandwidth)))


def test_a_burst_spreads_also_when_data_time_counts() -> None:
    """Equally near nodes share the burst; the node that holds the data is closed."""
    asks = [ask(f"pod-{i}", 1, 1, inputs=(("node-10", 50.0),)) for i in range(40)]
    table = node_table([[16, 64]] * 11, closed=[10])
    found = place(table, asks, arrivals=arrivals(*[10.0] * 11))
    assert Counter(nodes_of(found).values()) == {4: 10}


def test_tasks_go_near_their_data_and_drivers_do_not_care() -> None:
    """T_in moves a task to the near node although the other is emptier."""
    table = node_table([[3.9, 4], [4, 4]], total=[[4, 4]] * 2)
    pods = [ask("task", 1, 1, inputs=(("node-0", 90.0),)), ask("driver", 1, 1, driver=True, inputs=(("node-0", 90.0),))]
    found = place(table, pods, arrivals=arrivals(10.0, 10.0), balance=Weights(0.3, 0.7))
    assert [outcome.node for outcome in found if isinstance(outcome, Placement)] == ["node-0", "node-1"]


def test_each_task_is_placed_by_its_own_weights() -> None:
    """Two namespaces in one batch: one goes by its data, the other packs, whoever stands first."""
    table = node_table([[2, 4], [4, 4]], total=[[4, 4]] * 2)
    pods = [ask(name, 1, 1, inputs=(("node-0", 90.0),)) for name in ("near", "fit")]
    balance = {"near": Weights(0.0, 1.0), "fit": Weights(1.0, 0.0)}
    for asks in (pods, pods[::-1]):
        found = place(table, asks, arrivals=arrivals(10.0, 10.0), balance=balance)
        placed = {outcome.uid: outcome.node for outcome in found if isinstance(outcome, Placement)}
        assert placed == {"near": "node-0", "fit": "node-1"}


def test_a_batch_sees_the_links_it_has_made_busy() -> None:
    """Data on a full node, two equal nodes beside it, nothing but T_in counts: the tasks take turns."""
    table = node_table([[0, 0], [8, 8], [8, 8]], total=[[8, 8]] * 3)
    asks = [ask(f"pod-{i}", 1, 1, inputs=(("node-0", 100.0),)) for i in range(4)]
    found = place(table, asks, arrivals=arrivals(10.0, 10.0, 10.0), balance=Weights(0.0, 1.0))
    assert nodes_of(found) == {"node-1": 2, "node-2": 2}


def test_a_busy_link_is_seen_by_tasks_of_other_stages() -> None:
    """The first stage makes the fast link busy; the second reads over it too, and takes the slower one."""
    table = node_table([[0, 0], [8, 8], [8, 8]], total=[[8, 8]] * 3)
    first = ask("first", 1, 1, group="a", urgency=1.0, inputs=(("node-0", 100.0),))
    second = ask("second", 1, 1, group="b", inputs=(("node-0", 99.0),))
    found = place(table, [first, second], arrivals=arrivals(99.0, 30.0, 20.0), balance=Weights(0.0, 1.0))
    assert [outcome.node for outcome in found if isinstance(outcome, Placement)] == ["node-1", "node-2"]


def test_equal_times_go_to_the_quiet_node_and_then_to_the_one_that_holds_more() -> None:
    """The paper's priority and Cnt0, where T_in does not tell nodes apart."""
    table = node_table([[8, 8]] * 3, total=[[8, 8]] * 3, closed=[2])
    busy = Arrivals(table.index, np.full(3, 10.0), np.array([50.0, 0.0, 0.0]))
    pod = ask("pod", 1, 1, inputs=(("node-2", 0.0),))
    weights = Weights(0.0, 0.0)
    assert nodes_of(place(table, [pod], arrivals=busy, balance=weights)) == {"node-1": 1}
    held = ask("pod", 1, 1, inputs=(("node-1", 1.0), ("node-2", 0.0)))
    assert nodes_of(place(table, [held], arrivals=arrivals(10.0, 10.0, 10.0), balance=weights)) == {"node-1": 1}


def test_bad_inputs_are_refused_by_name() -> None:
    """The error says whose."""
    pods = [ask("pod", 1, 1, inputs=(("node-0", NAN),))]
    with pytest.raises(BadNumber, match=r"asks\[pod\].inputs"):
        place(node_table([[1, 1]]), pods, arrivals=arrivals(1.0))


def test_drivers_win_outright() -> None:
    """The last slot goes to the driver, however urgent and early the task."""
    pods = [ask("task", 1, 1, urgency=9.0, submitted=0.0), ask("driver", 1, 1, driver=True, submitted=5.0)]
    found = place(node_table([[1, 1]]), pods)
    assert [type(outcome) for outcome in found] == [Refusal, Placement]


@pytest.mark.parametrize(
    ("first", "second", "alpha", "expected"),
    [
        pytest.param({"urgency": 1.0}, {"urgency": 2.0}, 0, "second", id="urgency"),
        pytest.param({"alignment": 0.1}, {"alignment": 0.9}, 0.8, "second", id="alignment"),
        pytest.param({"alignment": 0.1}, {"alignment": 0.9}, 0, "first", id="alignment-without-factor"),
        pytest.param({"submitted": 2.0}, {"submitted": 1.0}, 0, "second", id="submission"),
    ],
)
def test_the_greatest_preference_goes_first(
    first: dict[str, float], second: dict[str, float], alpha: float, expected: str
) -> None:
    """Equally large groups, one slot."""
    pods = [ask("first", 1, 1, group="first", **first), ask("second", 1, 1, group="second", **second)]
    batch = Batch(node_table([[4, 4]]), pods, alpha=alpha)
    assert batch.step(1)[0].uid == expected


def test_the_better_fit_goes_first_when_nothing_else_differs() -> None:
    """On a node short of memory the cpu-heavy group has the larger dot product."""
    pods = [ask("memory", 1, 3, group="m"), ask("cpu", 3, 1, group="c", submitted=1.0)]
    batch = Batch(node_table([[8, 4]], total=[[8, 8]]), pods)
    assert batch.step(1)[0].uid == "cpu"


def test_a_rank_each_keeps_the_given_order() -> None:
    """A refused pod does not hold up the next."""
    pods = [ask("big", 9, 9), ask("late", 1, 1, submitted=9.0), ask("early", 1, 1)]
    batch = Batch(node_table([[1, 1]]), in_order(pods))
    assert [(outcome.uid, type(outcome)) for outcome in batch.step(9)] == [
        ("big", Refusal),
        ("late", Placement),
        ("early", Refusal),
    ]


@pytest.mark.parametrize("cold", [False, True])
def test_a_lower_rank_is_placed_before_a_better_fit(cold: bool) -> None:
    """Rooms 4.0 and 0.8: the small pod of high priority takes the one node it fits; HaSTE would place the large one."""
    pods = [ask("low", 3.5, 3.5, rank=1), ask("high", 1, 1, rank=0)]
    table = node_table([[4, 4], [0.8, 0.8]])
    assert nodes_by_uid(place(table, pods, cold=cold)) == {"high": "node-0"}
    assert nodes_by_uid(place(table, [replace(pod, rank=0) for pod in pods], cold=cold)) == {"low": "node-0"}


def test_haste_orders_the_pods_of_one_rank() -> None:
    """Two ranks of two groups each, given mixed: ranks one after the other, and in each the urgent group first."""
    pods = [
        ask(f"{group}-{rank}", 1, 1, group=group, urgency=urgency, rank=rank)
        for rank in (1, 0)
        for group, urgency in (("calm", 0.0), ("urgent", 1.0))
    ]
    found = Batch(node_table([[8, 8]]), pods).step(9)
    assert [outcome.uid for outcome in found] == ["urgent-0", "calm-0", "urgent-1", "calm-1"]


@pytest.mark.parametrize("cold", [False, True])
def test_slices_give_what_one_go_gives(cold: bool) -> None:
    """The extender stops after each slice and goes on later."""
    table, pods = node_table([[8, 8]] * 7), mixed(60)
    batch = Batch(table, pods, cold=cold)
    sliced: dict[str, Placement | Refusal] = {}
    while not batch.done:
        sliced |= {outcome.uid: outcome for outcome in batch.step(7)}
    assert [sliced[pod.uid] for pod in pods] == place(table, pods, cold=cold)
    assert batch.step(7) == []


@pytest.mark.parametrize("ordered", [False, True])
def test_more_shapes_than_the_window_are_all_served(ordered: bool) -> None:
    """Shapes enter as earlier ones are done, and return when their turn comes again."""
    pods = [ask(f"pod-{i}", 1 + (i % 100) / 1000, 1) for i in range(200)]
    found = place(node_table([[16, 64]] * 20), in_order(pods) if ordered else pods)
    assert all(isinstance(outcome, Placement) for outcome in found)


def test_a_cold_start_packs_by_knapsack() -> None:
    """HST-10's tasks on one node: greed takes the 5 first, and a 2; the knapsack fills the node to the brim."""
    sizes = [(5, 5), (4, 4), (4, 4), (2, 1)]
    pods = [ask(f"pod-{i}", *size, submitted=float(i)) for i, size in enumerate(sizes)]
    found = place(node_table([[8, 8]]), pods, cold=True)
    assert nodes_by_uid(found).keys() == {"pod-1", "pod-2"}


@pytest.mark.parametrize("cold", [False, True])
def test_a_cold_start_does_not_crowd_what_fits_otherwise(cold: bool) -> None:
    """World 95121: seventeen tasks that use twice their memory were packed onto two nodes of three, and killed."""
    found = place(node_table([[8, 32]] * 3), [ask(f"pod-{i}", 0.8, 3.2) for i in range(17)], cold=cold)
    assert sorted(nodes_of(found).values()) == [5, 6, 6]


def test_a_cold_start_with_a_single_kind() -> None:
    """Room and native residual of the one kind are then the two axes."""
    pods = [ask(f"pod-{i}", size, native=(size / 2,)) for i, size in enumerate([5, 4, 4])]
    found = place(node_table([[8]], kinds=("cpu",)), pods, cold=True)
    assert [type(outcome) for outcome in found] == [Refusal, Placement, Placement]


@pytest.mark.parametrize(("pods", "nodes"), [(501, 2), (4, 65)], ids=["too-many-pods", "too-many-nodes"])
def test_a_cold_start_past_the_bounds_is_placed_as_usual(pods: int, nodes: int) -> None:
    """Then real-time assignment does it."""
    asks = [ask(f"pod-{i}", 1, 1) for i in range(pods)]
    table = node_table([[300, 300]] * nodes)
    assert place(table, asks, cold=True) == place(table, asks)


@pytest.mark.parametrize("cold", [False, True])
def test_nothing_to_do_is_no_error(cold: bool) -> None:
    """No pods, no nodes, no capacity."""
    assert place(node_table([]), [], cold=cold) == []
    assert place(node_table([[1, 1]]), [], cold=cold) == []
    for table in (node_table([]), node_table([[0, 0]])):
        assert isinstance(place(table, [ask("pod", 1, 1)], cold=cold)[0], Refusal)
    assert fit_one(node_table([]), ask("pod", 1, 1)).fits.size == 0


@pytest.mark.parametrize(
    ("pods", "field"),
    [
        pytest.param([ask("x", NAN, 1)], r"asks\[x\]\.declared\.cpu", id="declared"),
        pytest.param([ask("x", 1, 1, native=(1, INF))], r"asks\[x\]\.native\.memory", id="native"),
        pytest.param([ask("x", 1, 1, urgency=NAN)], r"asks\[x\]\.urgency", id="urgency"),
        pytest.param([ask("x", 1, 1, alignment=INF)], r"asks\[x\]\.alignment", id="alignment"),
        pytest.param([ask("x", 1, 1, submitted=NAN)], r"asks\[x\]\.submitted", id="submitted"),
        pytest.param([ask("x", 1, 1), ask("x", 1, 1)], r"asks\.uid", id="twice"),
        pytest.param([ask("x", 1, 1, allowed=np.ones(3, dtype=bool))], "allowed", id="mask-of-wrong-length"),
    ],
)
def test_a_bad_ask_is_refused_by_name(pods: list[PodAsk], field: str) -> None:
    """The error says which pod and which field."""
    with pytest.raises(InvalidInput, match=field):
        place(node_table([[1, 1]]), pods)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"room": np.array([[NAN, 1.0]])}, r"table\.room", id="room"),
        pytest.param({"native": np.array([[1.0, INF]])}, r"table\.native", id="native"),
        pytest.param({"total": np.array([[1.0, -INF]])}, r"table\.total", id="total"),
    ],
)
def test_a_bad_number_in_the_table_is_refused_by_name(change: dict[str, np.ndarray], field: str) -> None:
    """For one pod and for many."""
    table = replace(node_table([[1, 1]]), **change)  # type: ignore[arg-type] # one of three fields
    for decide in (lambda: fit_one(table, ask("pod", 1, 1)), lambda: place(table, [ask("pod", 1, 1)])):
        with pytest.raises(BadNumber, match=field):
            decide()


def nodes_of(outcomes: list[Placement | Refusal]) -> Counter[str]:
    """How many pods each node got."""
    return Counter(outcome.node for outcome in outcomes if isinstance(outcome, Placement))


def nodes_by_uid(outcomes: list[Placement | Refusal]) -> dict[str, str]:
    """The node of each pod that got one."""
    return {outcome.uid: outcome.node for outcome in outcomes if isinstance(outcome, Placement)}


def mixed(count: int) -> list[PodAsk]:
    """Pods of a few groups and sizes."""
    return [
        ask(f"pod-{i}", 1 + i % 3, 1 + i % 2, group=f"group-{i % 6}", urgency=float(i % 4), submitted=float(i % 5))
        for i in range(count)
    ]
