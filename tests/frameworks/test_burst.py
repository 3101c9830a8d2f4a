"""Many Spark applications at once whose drivers alone would fill the nodes: with Slackwater all end."""

import os
import time
from dataclasses import dataclass

import pytest

from slackwater_lab.frameworks import layers
from slackwater_lab.frameworks.spark import Submission, submit
from support.frameworks.patience import SLOW
from support.frameworks.playground import Playground, phase
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(7200)]
ROUNDS = int(os.environ.get("SLACKWATER_FRAMEWORK_ROUNDS", "1"))
SETTINGS = {
    **SLOW,
    # Drivers of 2 cores and executors of 2: seven drivers fill both nodes of 8 cores.
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
PER_APP = 150.0  # seconds
GIVEN_UP = 300.0  # for stock, where nothing moves any more


def patience(world: str, apps: int) -> float:
    """How long a round may take."""
    return PER_APP * apps if world == "slackwater" else GIVEN_UP


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one round."""

    ended: int
    right: int
    seconds: int


@pytest.mark.parametrize("world", ["slackwater", "stock"])
@pytest.mark.parametrize("apps", [8, 24])
def test_a_burst_of_drivers_beside_tainted_nodes(world: str, apps: int, ground: Playground, recorder: Recorder) -> None:
    """Stock deadlocks: drivers hold both nodes and no executor finds room. Slackwater lets in what can run."""
    ground.load("spark")
    case = f"{apps} apps at once, half dynamic, 2 tainted nodes beside, {world}"
    outcomes: list[Outcome] = []
    for number in range(ROUNDS):
        outcomes.append(play(ground, world, apps, number))
        recorder.add(Row("Spark", layers.SPARK, case, told(outcomes, apps), max(each.seconds for each in outcomes)))
    if world == "slackwater":
        assert [(each.ended, each.right) for each in outcomes] == [(apps, apps)] * ROUNDS


def told(outcomes: list[Outcome], apps: int) -> str:
    """Every round, as the table tells it."""
    rounds = "; ".join(f"{each.ended} of {apps} ended, {each.right} right" for each in outcomes)
    return f"{len(outcomes)} round{'s' if len(outcomes) > 1 else ''}: {rounds}"


def play(ground: Playground, world: str, apps: int, number: int) -> Outcome:
    """Submit all while the nodes are closed, open the nodes, and wait until all have ended or time is up."""
    team = ground.team(f"burst-{world}-{apps}-{number}", managed=world == "slackwater")
    ground.cordon(closed=True)  # all drivers become schedulable at one moment, however slowly they are submitted
    for pair in range(0, apps, 2):
        started = [submit(ground.lab.site, submission(team, n)) for n in (pair, pair + 1)]
        assert [each.wait(600) for each in started] == [0, 0]
    start = time.monotonic()
    ground.cordon(closed=False)

    def ended() -> int:
        return sum(phase(pod) in ("Succeeded", "Failed") for pod in ground.pods(team, spark_role="driver"))

    while ended() < apps and time.monotonic() - start < patience(world, apps):
        time.sleep(5)
    seconds = round(time.monotonic() - start)
    right = sum("RESULT right" in ground.log(pod) for pod in ground.pods(team, spark_role="driver"))
    outcome = Outcome(ended(), right, seconds)
    ground.clear(team)
    return outcome


def submission(team: str, number: int) -> Submission:
    """Every second application asks for its executors while it runs."""
    settings = {**SETTINGS, **DYNAMIC} if number % 2 else SETTINGS
    return Submission(f"{team}-{number}", team, "shuffle.py", ("20000", "2", "1", "0"), settings)
