"""Many Spark applications at once whose drivers alone would fill the nodes: with Slackwater all end."""

import json
import os
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from slackwater_lab.frameworks.spark import Submission, submit
from support.frameworks.burstpage import Round, page
from support.frameworks.patience import SLOW
from support.frameworks.playground import Playground, phase

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(7200)]
ROUNDS = int(os.environ.get("SLACKWATER_FRAMEWORK_ROUNDS", "1"))
SETTINGS = {
    **SLOW,
    # Drivers of 2 cores and executors of 2: three drivers fill a node of 8 cores, of which pods get a little less.
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.instances": "1",
    "spark.kubernetes.driver.request.cores": "2",
    "spark.kubernetes.executor.request.cores": "2",
}
DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.initialExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": "2",
}
KEPT = Path(__file__).parent / "burst.json"
TABLE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "frameworks.md"
PER_APP = 150.0  # seconds
GIVEN_UP = 300.0  # for stock, where nothing moves any more


def patience(world: str, apps: int) -> float:
    """How long a round may take."""
    return PER_APP * apps if world == "slackwater" else GIVEN_UP


@pytest.mark.parametrize("world", ["slackwater", "stock"])
@pytest.mark.parametrize("apps", [8, 24])
def test_a_burst_of_drivers_beside_tainted_nodes(world: str, apps: int, ground: Playground) -> None:
    """Stock deadlocks: drivers hold both nodes and no executor finds room. Slackwater lets in what can run."""
    ground.load("spark")
    played: list[Round] = []
    for number in range(ROUNDS):
        played.append(play(ground, world, apps, number))
        keep(played[-1])
    if world == "slackwater":
        assert [(each.ended, each.right) for each in played] == [(apps, apps)] * ROUNDS


def keep(played: Round) -> None:
    """Beside all rounds that were played before."""
    known = [Round(**each) for each in json.loads(KEPT.read_text())] if KEPT.exists() else []
    known.append(played)
    KEPT.write_text(json.dumps([asdict(each) for each in known], indent=1) + "\n")
    TABLE.write_text(page(TABLE.read_text(), known))


def play(ground: Playground, world: str, apps: int, number: int) -> Round:
    """Submit all while the nodes are closed, open the nodes, and wait until all have ended or time is up."""
    team = ground.team(f"burst-{world}-{apps}-{number}", managed=world == "slackwater")
    try:
        with ground.closed():  # all drivers become schedulable at one moment, however slowly they are submitted
            for pair in range(0, apps, 2):
                started = [submit(ground.lab.site, submission(team, n)) for n in (pair, pair + 1)]
                assert [each.wait(600) for each in started] == [0, 0]
        return result(ground, world, apps, team)
    finally:
        ground.clear(team)


def result(ground: Playground, world: str, apps: int, team: str) -> Round:
    """What comes of all applications from the moment at which the nodes were opened."""
    start = time.monotonic()

    def ended() -> int:
        return sum(phase(pod) in ("Succeeded", "Failed") for pod in ground.pods(team, spark_role="driver"))

    while ended() < apps and time.monotonic() - start < patience(world, apps):
        time.sleep(5)
    seconds = round(time.monotonic() - start)
    right = sum("RESULT right" in ground.log(pod) for pod in ground.pods(team, spark_role="driver"))
    return Round(apps, world, ended(), right, seconds)


def submission(team: str, number: int) -> Submission:
    """Every second application asks for its executors while it runs."""
    settings = {**SETTINGS, **DYNAMIC} if number % 2 else SETTINGS
    return Submission(f"{team}-{number}", team, "shuffle.py", ("20000", "2", "1", "0"), settings)
