"""Many Spark applications at once whose drivers alone would fill the nodes: with Slackwater all end."""

import time

import pytest

from slackwater_lab.frameworks import layers
from slackwater_lab.frameworks.spark import Submission, submit
from support.frameworks.playground import Playground, phase
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(3600)]
APPS = 8
SETTINGS = {
    # Drivers of 2 cores and executors of 2: seven drivers fill both nodes of 8 cores.
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.instances": "1",
    "spark.kubernetes.driver.request.cores": "2",
    "spark.kubernetes.executor.request.cores": "2",
    "spark.network.timeout": "1200s",
    "spark.executor.heartbeatInterval": "60s",
    "spark.kubernetes.allocation.driver.readinessTimeout": "300s",
}
LIMIT = {"slackwater": 1200.0, "stock": 300.0}


@pytest.mark.parametrize("world", ["slackwater", "stock"])
def test_a_burst_of_drivers_beside_tainted_nodes(world: str, ground: Playground, recorder: Recorder) -> None:
    """Stock deadlocks: drivers hold both nodes and no executor finds room. Slackwater lets in what can run."""
    ground.load("spark")
    team = ground.team(f"burst-{world}", managed=world == "slackwater")
    ground.cordon(closed=True)  # all drivers become schedulable at one moment, however slowly they are submitted
    for pair in range(0, APPS, 2):
        started = [
            submit(ground.lab.site, Submission(f"{world}-{n}", team, "shuffle.py", ("20000", "2", "1", "0"), SETTINGS))
            for n in (pair, pair + 1)
        ]
        assert [each.wait(600) for each in started] == [0, 0]
    start = time.monotonic()
    ground.cordon(closed=False)

    def ended() -> int:
        return sum(phase(pod) in ("Succeeded", "Failed") for pod in ground.pods(team, spark_role="driver"))

    while ended() < APPS and time.monotonic() - start < LIMIT[world]:
        time.sleep(5)
    count, seconds = ended(), round(time.monotonic() - start)
    right = sum("RESULT right" in ground.log(pod) for pod in ground.pods(team, spark_role="driver"))
    case = f"{APPS} apps at once, 2 tainted nodes beside, {world}"
    recorder.add(Row("Spark", layers.SPARK, case, f"{count} of {APPS} ended, {right} right", seconds))
    ground.clear(team)
    if world == "slackwater":
        assert (count, right) == (APPS, APPS)
