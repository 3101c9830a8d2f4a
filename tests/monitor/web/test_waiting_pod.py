"""The page of a pod that waits does not contradict itself, and of a node it says only what is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slackwater.cycle.appverdicts import WaitReason
from slackwater.placement.reasons import tallied
from slackwater_cluster.api.client import ApiClient, ExtenderClient
from slackwater_cluster.api.endpoint import endpoint
from slackwater_monitor.settings import Settings
from slackwater_monitor.sources.live import Live
from slackwater_monitor.sources.simulated.replay import Replay
from slackwater_monitor.web.app import dashboard
from slackwater_simulator.results.outcome import Hold, Outcome
from slackwater_simulator.workload.workload import GIBI, Job, Stage
from support.builders.outcomes import outcome
from support.fakes.httpcluster import GROUP, served, usual

WHY = Hold(1.0, 0, WaitReason.FRAGMENTED, "no single node has room for 1 cpu; it goes as soon as one has")
NAMED = 10  # of the nodes that would serve a pod, the best so many are named


def held(*, nodes: int, size: float = 1.0, policy: str = "slackwater") -> Outcome:
    """A job whose only task asks for so many of a node's four cores at 0 and starts at 5; the gate spoke at 1."""
    made = outcome([(0, 0, 5.0, 9.0)], nodes=nodes, policy=policy)
    one = Job("job-0", 0.0, (Stage("run", (size, GIBI), np.ones(1)),))
    return replace(made, workload=replace(made.workload, jobs=(one,)), holds=(WHY,))


def page(found: Outcome) -> str:
    """The page of its pod while it waits."""
    return dashboard(Replay(found), Settings()).test_client().get("/pods/simulated/job-0-run-0?t=2").text


def test_a_play_says_why_its_nodes_may_show_room_that_the_gate_did_not_see() -> None:
    """Else the page says in one breath that no node has room and that all of them do."""
    assert "a node may show room here that the gate did not see" in page(held(nodes=2))
    assert "the gate did not see" not in page(held(nodes=2, size=9.0))


def test_room_that_came_free_after_the_reason_is_told_of_a_cluster(tmp_path: Path) -> None:
    """The page says what `slackwater explain` says."""
    with served(usual()) as cluster:
        api = ApiClient(endpoint(cluster.kubeconfig(tmp_path)))
        made = dashboard(Live(api, ExtenderClient(api)), Settings()).test_client()
        assert "Since then" not in made.get("/pods/team-a/etl-0").text
        listed = cluster.answers[f"{GROUP}/trackedapps"]
        assert isinstance(listed, dict)
        listed["items"][0]["status"] |= {"reason": "no-node-has-room", "message": "no single node has room for 2 cores"}
        text = made.get("/pods/team-a/etl-0").text
    assert "Since then, room has come free after the round that gave this reason" in text


@pytest.mark.parametrize("nodes", [NAMED, NAMED + 3], ids=["all are named", "some are not"])
def test_no_node_is_said_to_refuse_a_pod_because_nobody_named_it(nodes: int) -> None:
    """All of them would serve it, also those that come after the ten best."""
    text = page(held(nodes=nodes))
    assert f"{nodes} of the {nodes} nodes it can use would serve it." in text
    assert "<td>no</td>" not in text
    assert (f"Of the {nodes} nodes that would serve it, the best 10 are shown." in text) == (nodes > NAMED)


def test_what_nobody_counts_has_no_column() -> None:
    """A play scores no nodes: a column of dashes would ask a question and not answer it."""
    assert 'scope="col">score<' not in page(held(nodes=2))


def test_reasons_are_counted_in_nodes() -> None:
    """Not "2 × too little memory", which is twice too little."""
    assert tallied({"too little memory": 2, "taint gpu": 1}) == "too little memory (2 nodes), taint gpu (1 node)"
    assert tallied({}) == ""
    assert "would serve it; too little CPU (2 nodes)." in page(held(nodes=2, size=9.0))


def test_the_numbers_of_nodes_have_their_units() -> None:
    """Also where two schedulers stand side by side."""
    made = dashboard(Replay(held(nodes=2), rival=held(nodes=2, policy="kube")), Settings()).test_client()
    for address in ("/nodes?t=2", "/nodes/node0?t=2", "/side-by-side?t=2"):
        assert "CPU in cores, memory in GiB." in made.get(address).text
