"""Which world suits a workload."""

from __future__ import annotations

import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.simulation import choose
from support.builders.jobs import job, rigid, stage, workload


def test_jobs_with_a_driver_or_with_stages_run_task_by_task() -> None:
    """`simulate gen:haste` stood still: its jobs of two stages were played as jobs that need all nodes at once."""
    stages = stage("map", 4, 10.0), stage("reduce", 2, 10.0, parents=("map",))
    assert choose(workload(job("a", stages[0]))) == "yarn"
    assert choose(workload(job("a", *stages, driver=None))) == "yarn"
    assert choose(rigid([0.0], [2], [10.0])) == "ideal"


def test_policies_choose_too() -> None:
    """The world that all of them live in, or a clear no."""
    assert choose(rigid([0.0], [2], [10.0]), ["kube"]) == "kubernetes"
    with pytest.raises(InvalidInput, match="no world in common"):
        choose(rigid([0.0], [2], [10.0]), ["kube", "capacity"])
