"""Incoming data and where tasks of a level go (paper 003)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater.network.transfer import Transfers, incoming, measured, nearest, pairwise, priority, start_times
from slackwater_simulator.workload.generators import network
from support.builders.oracles import Oracle, rows
from support.builders.paperformulas import node_order

Array = Any  # numpy arrays of the test data, whose shapes differ


def matrix(rows_: list[list[float]]) -> Array:
    """A float array."""
    return np.array(rows_, dtype=np.float64)


@rows("NET-03")
def test_priority_is_the_slowest_inbound_link(row: Oracle) -> None:
    """Seconds of queued data; less is earlier."""
    found = priority(matrix(row.inputs["Trans_MB"]), matrix(row.inputs["BPre_MBps"]))
    assert found.tolist() == row.expected["priority_s"]
    assert node_order(found) == row.expected["order"]


@rows("NET-05")
def test_no_bandwidth_is_harmless_without_traffic(row: Oracle) -> None:
    """Traffic over no bandwidth takes for ever, and comes last."""
    found = priority(matrix(row.inputs["Trans"]), matrix(row.inputs["BPre"]))
    assert found.tolist() == [float(value) for value in row.expected["priority"]]
    assert node_order(found) == row.expected["order"]


@rows("NET-06")
def test_task_length_on_the_published_host(row: Oracle) -> None:
    """Every task of the simulator's generator takes as long."""
    assert row.inputs["MI"] / row.inputs["MIPS"] == row.expected["seconds"]
    stages = [stage for job in network.generate(jobs=1).jobs for stage in job.stages]
    assert {float(seconds) for stage in stages for seconds in stage.durations} == {row.expected["seconds"]}


@rows("NET-07")
def test_start_waits_for_the_node_and_for_the_data(row: Oracle) -> None:
    """The node that holds the input starts at once, the other one after the transfer."""
    given_, want = row.inputs, row.expected
    bandwidth = matrix([[given_["Mbps"] / 8] * 2])
    starts = start_times(
        matrix([[given_["node_free"]] * 2])[0], [0], [given_["size_MB"]], [given_["pred_finish"]], bandwidth
    )
    local, remote = starts.tolist()
    assert remote - given_["pred_finish"] == row.near(want["transfer_s"])
    assert (local, remote) == row.near((want["start_local"], want["start_remote"]))
    ends = (local + given_["run_s"], remote + given_["run_s"])
    assert ends == row.near((want["finish_local"], want["finish_remote"]))


@rows("NET-08")
def test_incoming_time_prefers_the_node_with_most_of_the_data(row: Oracle) -> None:
    """A reads its own 64 MB for nothing."""
    names = list(row.expected["T_in"])
    senders = [names.index(name) for name in row.inputs["inputs"]]
    bandwidth = np.full((len(senders), len(names)), float(row.inputs["MBps"]))
    found = incoming(senders, list(row.inputs["inputs"].values()), np.zeros_like(bandwidth), bandwidth)
    assert found.tolist() == row.near(list(row.expected["T_in"].values()))
    assert names[int(found.argmin())] == row.expected["winner"]


def test_queued_bytes_delay_the_input_behind_them() -> None:
    """T_in counts what the link already has to carry."""
    found = incoming([0], [50.0], matrix([[0, 30, 0]]), matrix([[10, 10, 10]]))
    assert found.tolist() == [0, 8, 5]


def test_task_without_inputs_waits_for_nothing() -> None:
    """No sender, no wait, on any node."""
    nothing = np.zeros((0, 3))
    assert incoming([], [], nothing, nothing).tolist() == [0, 0, 0]
    assert start_times(matrix([[1, 2, 3]])[0], [], [], [], nothing).tolist() == [1, 2, 3]
    assert priority(np.zeros((0, 0)), np.zeros((0, 0))).tolist() == []


def test_traffic_decays_when_transfers_end() -> None:
    """The paper only adds; a link that is quiet again must count as quiet."""
    traffic = Transfers()
    traffic.begin(0, 1, 100)
    traffic.begin(0, 1, 50)
    traffic.begin(2, 2, 70)  # already there
    traffic.end(0, 1, 100)
    assert traffic.matrix(3).tolist() == [[0, 50, 0], [0, 0, 0], [0, 0, 0]]
    traffic.end(0, 1, 60)
    traffic.end(1, 0, 5)  # an end without a beginning, as after a restart
    assert not traffic.matrix(3).any()


def test_rows_follow_the_senders_asked_for() -> None:
    """Few senders, all receivers; a copy is independent."""
    traffic = Transfers()
    traffic.begin(4, 1, 8)
    twin = traffic.copy()
    twin.begin(3, 0, 9)
    assert traffic.rows([3, 4], 5).tolist() == [[0, 0, 0, 0, 0], [0, 8, 0, 0, 0]]
    assert twin.rows([3], 2).tolist() == [[9, 0]]


def test_pair_is_as_fast_as_its_slower_end() -> None:
    """One figure per node gives rows for the senders."""
    assert pairwise(matrix([[10, 40, 0]])[0], [1]).tolist() == [[10, 40, 0]]


def test_live_traffic_is_what_flows_over_the_horizon() -> None:
    """Bytes per second times seconds."""
    assert measured(matrix([[0, 3]]), 10).tolist() == [[0, 30]]


def test_sub_tasks_go_near_the_first() -> None:
    """Same node, same rack, then the fastest link."""
    bandwidth = matrix([[0, 5, 9, 7]] * 4)
    assert nearest(0, ["r1", "r1", "r2", "r2"], bandwidth) == [0, 1, 2, 3]
    assert nearest(0, ["r1", "r2", "r2", "r2"], bandwidth) == [0, 2, 3, 1]


@pytest.mark.parametrize(
    ("bad", "field"),
    [(float("nan"), "Trans"), (float("inf"), "Trans"), (-1.0, "Trans")],
    ids=["nan", "inf", "negative"],
)
def test_bad_number_names_its_field(bad: float, field: str) -> None:
    """An array that cannot be used says which one it is."""
    with pytest.raises(BadNumber) as caught:
        priority(matrix([[0, bad], [0, 0]]), np.ones((2, 2)))
    assert caught.value.field == field


numbers = st.just(0.0) | st.floats(1e-3, 1e6)


@given(st.data(), st.integers(1, 5))
def test_vectorised_incoming_equals_the_formula(data: st.DataObject, nodes: int) -> None:
    """The array form is the sum written node by node."""
    senders = data.draw(st.lists(st.integers(0, nodes - 1), unique=True))
    cells = st.lists(numbers, min_size=nodes, max_size=nodes)
    traffic = np.array([data.draw(cells) for _ in senders]).reshape(len(senders), nodes)
    bandwidth = np.array([data.draw(cells) for _ in senders]).reshape(len(senders), nodes)
    sizes = [data.draw(numbers) for _ in senders]
    found = incoming(senders, sizes, traffic, bandwidth)
    for node in range(nodes):
        want = 0.0
        for place, sender in enumerate(senders):
            volume, speed = traffic[place, node] + sizes[place], bandwidth[place, node]
            if sender != node and volume > 0:
                want = max(want, volume / speed if speed > 0 else math.inf)
        assert found[node] == want
