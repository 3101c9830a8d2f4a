"""The league's workloads: seeded, and scarce in what they put to the test."""

import pytest

from slackwater.errors import InvalidInput, UnknownName
from slackwater_lab.league.workloads import CORES, PRIORITIES, WORKLOADS, workload
from slackwater_lab.live.workload import checked


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_seed_makes_the_same_jobs_again_and_another_seed_makes_others(name: str) -> None:
    """Every scheduler of a round gets the same jobs; rounds differ."""
    assert workload(name, seed=3) == workload(name, seed=3)
    assert workload(name, seed=3).plays != workload(name, seed=4).plays


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("size", [0.1, 1.0])
def test_every_workload_can_be_played(name: str, size: float) -> None:
    """Names are unique, tasks fit a node, priorities exist, and the watched jobs are there."""
    made = workload(name, size)
    assert made.name == name
    checked(made.plays)
    assert all(part.size.cpu <= CORES for play in made.plays for part in play.parts)
    assert {play.priority for play in made.plays} - {""} <= set(PRIORITIES)
    assert made.watched <= {play.id for play in made.plays}


def test_drivers_alone_fill_the_cluster() -> None:
    """More drivers than cores within the time in which none asks for tasks."""
    made = workload("drivers")
    first, last = made.plays[0], made.plays[-1]
    assert sum(play.driver.cpu for play in made.plays if play.driver) > made.cores
    assert last.submit < first.submit + first.startup


@pytest.mark.parametrize("size", [0.34, 1.0])
def test_a_gang_finds_the_cluster_full(size: float) -> None:
    """What was submitted within the shortest task's time before it leaves no room for all its members."""
    made = workload("gang", size)
    (gang,) = (play for play in made.plays if play.gang)
    shortest = min(min(part.durations) for play in made.plays for part in play.parts)
    recent = [play for play in made.plays if gang.submit - shortest <= play.submit < gang.submit]
    held = sum(play.tasks + 1 for play in recent)
    assert held + gang.tasks > made.cores


def test_slack_is_asked_for_and_not_used() -> None:
    """At most six tenths of each request are used, and together the requests exceed the cluster."""
    made = workload("slack")
    parts = [part for play in made.plays for part in play.parts]
    assert max(part.size.used_cpu / part.size.cpu for part in parts) <= 0.6
    assert sum(part.size.cpu * len(part.durations) for part in parts) > 2 * made.cores


def test_a_smaller_size_keeps_what_is_scarce() -> None:
    """Nodes and jobs shrink alike; the stream has fewer pods only."""
    small, large = workload("drivers", 0.5), workload("drivers")
    assert len(small.plays) / small.cores == pytest.approx(len(large.plays) / large.cores, rel=0.1)
    assert workload("stream", 0.1).pods == 200


def test_a_wrong_name_or_size_is_told() -> None:
    """With what would be right."""
    with pytest.raises(UnknownName, match="slack"):
        workload("slak")
    with pytest.raises(InvalidInput, match="share"):
        workload("slack", 0)
