"""The page of a pod of a play that waits: the room that the gate saw, and no other."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from slackwater_monitor.settings import Settings
from slackwater_monitor.sources.simulated.play import Play
from slackwater_monitor.sources.simulated.podpage import explained
from slackwater_monitor.sources.simulated.replay import Replay
from slackwater_monitor.web.app import dashboard
from slackwater_simulator.results.outcome import Outcome, RoomSeen
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import uniform
from slackwater_simulator.workload.workload import GIBI
from support.builders.jobs import maps, workload


@pytest.fixture(scope="module")
def played() -> Outcome:
    """Eight apps of a driver and six tasks on two small nodes: some wait for room."""
    jobs = workload(*(maps(f"j{n}", 6, 40.0, submit=float(n)) for n in range(8)))
    return run(jobs, uniform(2, 4.0, 8 * GIBI), "slackwater", world="kubernetes", reasons=True)


def test_a_pod_that_waits_is_shown_the_room_that_the_gate_saw(played: Outcome) -> None:
    """Estimates that are shared out among nodes would show another; what they are made of is not told of it."""
    little = RoomSeen(0.0, np.tile([0.25, GIBI], (2, 1)), np.tile([9.0, 9 * GIBI], (2, 1)))
    play = Play(replace(played, rooms=(little,)))
    waits = next(hold.time for hold in played.holds if hold.job == 7) + 0.01
    found = explained(play, "j7-driver", waits)
    assert found is not None
    assert found.ledger is not None
    assert found.waits
    assert found.ledger["now"]["fitting"] == 0
    assert found.resources == {}
    pages = dashboard(Replay(play.outcome), Settings()).test_client()
    text = pages.get(f"/pods/simulated/j7-driver?t={waits}").text
    assert "0 of the 2 nodes it can use would serve it" in text
    assert text.count("""class="fine">0.25 cores<""") == 2, "the bars are of that room, too"
    assert "what the gate saw when it last looked" in text
    assert "How the room comes about" not in text


def test_where_no_node_has_room_the_gate_saw_none(played: Outcome) -> None:
    """The sentence and the numbers beside it are of one look."""
    requests = {number: job.driver.request for number, job in enumerate(played.workload.jobs) if job.driver}
    looks = {each.time: each for each in played.rooms}
    told = [
        hold for hold in played.holds if hold.reason == "no-node-has-room" and hold.time < played.jobs.driver[hold.job]
    ]
    assert told
    for hold in told:
        assert re.search("has room for", hold.sentence)
        assert not (looks[hold.time].drivers >= np.array(requests[hold.job])[:2]).all(axis=1).any()
