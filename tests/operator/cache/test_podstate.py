"""Where a pod stands, and releases under way."""

from typing import Any

import pytest

from slackwater_cluster import names
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.podstate import InFlight, InFlightPods, PodState, state


def pod(**fields: Any) -> PodRecord:
    """A pod of ours behind the gate, unless said otherwise."""
    return PodRecord(**{"name": "p", "uid": "u", "scheduler": names.SCHEDULER, "gates": (names.GATE,), **fields})


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, PodState.HELD),
        ({"gates": (names.GATE, "example.com/x")}, PodState.BLOCKED),
        ({"gates": ("example.com/x",)}, PodState.BLOCKED),
        ({"gates": ()}, PodState.RELEASED),
        ({"gates": (), "annotations": {names.PARKED: "now"}}, PodState.PARKED),
        ({"gates": (), "node": "a"}, PodState.BOUND),
        ({"gates": (), "node": "a", "deleted": 5.0}, PodState.BOUND),
        ({"gates": (), "node": "a", "phase": "Succeeded"}, PodState.DONE),
        ({"deleted": 5.0}, PodState.WITHDRAWN),
        ({"gates": (), "scheduler": "default-scheduler"}, PodState.FOREIGN),
    ],
    ids=[
        "held",
        "two gates",
        "foreign gate",
        "released",
        "parked",
        "bound",
        "terminating",
        "done",
        "withdrawn",
        "foreign",
    ],
)
def test_states_by_what_the_watch_shows(fields: dict[str, Any], expected: PodState) -> None:
    """Each shape of a pod is exactly one state."""
    assert state(pod(**fields), InFlightPods()) is expected


def test_a_release_counts_before_the_watch_shows_it() -> None:
    """The gate is still there in what the watch showed last; the pod is charged all the same."""
    in_flight = InFlightPods()
    in_flight.begin("u", 10.0, "a")
    assert state(pod(), in_flight) is PodState.RELEASED
    in_flight.observe(pod(), 10.1)
    assert "u" in in_flight


def test_bind_end_and_deletion_end_a_flight() -> None:
    """What has a node, ended or goes is not on its way."""
    for fields in ({"node": "a"}, {"phase": "Failed"}, {"deleted": 3.0}):
        in_flight = InFlightPods()
        in_flight.begin("u", 10.0, "a")
        in_flight.observe(pod(**fields), 11.0)
        assert len(in_flight) == 0


def test_a_new_leader_times_old_releases_from_now() -> None:
    """A pod found released belongs to a leader before us: its time begins when it is first seen."""
    in_flight = InFlightPods()
    in_flight.observe(pod(gates=(), nominated="b"), 50.0)
    flight = in_flight.get("u")
    assert flight is not None
    assert (flight.since, flight.node, flight.seen) == (50.0, "b", True)


def test_unparking_is_a_new_flight() -> None:
    """The mark is still shown for a moment; the flight stays."""
    in_flight = InFlightPods()
    in_flight.begin("u", 10.0, "a")
    parked = pod(gates=(), annotations={names.PARKED: "x"})
    in_flight.observe(parked, 10.1)
    assert state(parked, in_flight) is PodState.RELEASED
    in_flight.observe(pod(gates=()), 10.2)
    found = in_flight.get("u")
    assert found is not None
    assert found.seen


def test_pods_of_other_schedulers_never_fly() -> None:
    """What is not ours is not timed."""
    in_flight = InFlightPods()
    in_flight.observe(pod(gates=(), scheduler="default-scheduler"), 1.0)
    assert len(in_flight) == 0


def test_a_growth_pod_that_gets_its_node_is_on_its_way_from_then_on() -> None:
    """Its time as one that waits for a machine is over, and counts for nothing."""
    in_flight = InFlightPods()
    in_flight.begin("u", 10.0, "", growth=True)
    in_flight.moved("u", 20.0, "")
    assert in_flight.get("u") == InFlight(10.0, growth=True, tried=20.0)
    in_flight.moved("u", 300.0, "a")
    assert in_flight.get("u") == InFlight(300.0, "a", tried=300.0)
