"""Kubeflow's Spark operator: its controller submits, its webhook changes the pods, Slackwater holds and releases."""

import time

import pytest

from slackwater_lab.frameworks import layers, operators, sparkoperator
from slackwater_lab.frameworks.imagefiles import SPARK
from slackwater_lab.frameworks.spark import ACCOUNT, JOBS
from slackwater_lab.programs.build import missing
from support.frameworks.patience import SLOW
from support.frameworks.playground import Object, Playground, notes, phase, requests, role, until
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(1500)]
TEAM = "spark-operator-team"
APPS = f"/apis/sparkoperator.k8s.io/v1beta2/namespaces/{TEAM}/sparkapplications"
GRACE = 7  # seconds that only the webhook writes into an executor
PATIENCE = 900.0
VERSION = f"{layers.SPARK}, operator {operators.version('spark-operator')}"


@pytest.fixture(scope="module")
def spark(ground: Playground) -> Playground:
    """The operator with its webhook, Spark's image on the nodes, and a team."""
    if missing(["spark-operator"]):
        pytest.skip("the Spark operator is not built; run: python -m slackwater_lab build spark-operator")
    ground.load("spark")
    ground.team(TEAM)
    operators.start(ground.lab, "spark-operator", print)
    return ground


def application(name: str, executors: int, **driver: str) -> Object:
    """A SparkApplication that shuffles, as the operator's examples write it."""
    size = {"cores": 1, "memory": "512m"}
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {
            "type": "Python",
            "pythonVersion": "3",
            "mode": "cluster",
            "image": SPARK,
            "imagePullPolicy": "Never",
            "mainApplicationFile": f"{JOBS}/shuffle.py",
            "arguments": ["200000", "8", "2", "1"],
            "sparkVersion": layers.SPARK,
            "sparkConf": dict(SLOW),
            "restartPolicy": {"type": "Never"},
            "driver": {**size, "serviceAccount": ACCOUNT, **driver},
            "executor": {**size, "instances": executors, "terminationGracePeriodSeconds": GRACE},
        },
    }


def state(spark: Playground, name: str) -> str:
    """What the operator says of an application."""
    said = (spark.api.find(f"{APPS}/{name}") or {}).get("status", {})
    return str(said.get("applicationState", {}).get("state", ""))


def ended(spark: Playground, name: str) -> bool:
    """Whether an application goes no further."""
    return state(spark, name) in ("COMPLETED", "FAILED", "SUBMISSION_FAILED", "FAILING")


def pods(spark: Playground, name: str, **labels: str) -> list[Object]:
    """The pods of an application."""
    return spark.pods(TEAM, **{"sparkoperator.k8s.io/app-name": name}, **labels)


def test_an_application_is_held_released_and_ends_right(spark: Playground, recorder: Recorder) -> None:
    """Driver and executors are one app, its driver is held first, and what the webhook adds is in the pods."""
    start = time.monotonic()
    seen: dict[str, Object] = {}
    spark.cordon(closed=True)
    try:
        operators.create(spark.api, application("etl", 2))
        until("the driver is held", lambda: [phase(pod) for pod in pods(spark, "etl")] == ["Gated"], 300)
        time.sleep(20)
        assert [phase(pod) for pod in pods(spark, "etl")] == ["Gated"]
    finally:
        spark.cordon(closed=False)

    def over() -> bool:
        seen.update({pod["metadata"]["name"]: pod for pod in pods(spark, "etl")})
        return ended(spark, "etl")

    until("it ends", over, PATIENCE)
    [boss] = pods(spark, "etl", spark_role="driver")
    workers = [pod for pod in seen.values() if pod["metadata"]["labels"]["spark-role"] == "executor"]
    assert state(spark, "etl") == "COMPLETED", spark.api.find(f"{APPS}/etl")
    assert "RESULT right" in spark.log(boss)
    assert (role(boss), requests(boss)["cpu"]) == ("driver", "1")
    assert {role(pod) for pod in workers} == {"task"}
    assert len(workers) == 2
    assert {requests(pod)["cpu"] for pod in workers} == {"500m"}
    assert {notes(pod)["slackwater.io/declared-cpu"] for pod in workers} == {"1000m"}
    assert {pod["spec"]["terminationGracePeriodSeconds"] for pod in workers} == {GRACE}
    assert len(spark.tracked(TEAM)) == 1
    recorder.keep(f"spark-operator-{operators.version('spark-operator')}", seen.values(), spark.api)
    result = (
        "driver held for 20 s and released; one app, driver 1 cpu kept, executors 1 → 0.5 cpu, what the webhook adds "
        "is in the pods, shuffle right"
    )
    recorder.add(Row("Spark", VERSION, "SparkApplication, with the webhook", result, round(time.monotonic() - start)))


def test_a_small_application_is_known_as_small_without_the_webhook(spark: Playground, recorder: Recorder) -> None:
    """The SparkApplication states its size before executors exist; an app of unknown size would count as large.

    Half a core for the driver and one for the executor are less than a tenth of the 16 cores, which is small.
    """
    start = time.monotonic()
    for path in sparkoperator.CONFIGURATIONS:
        spark.api.delete(path)
    operators.create(spark.api, application("little", 1, coreRequest="500m"))
    until("it ends", lambda: ended(spark, "little"), PATIENCE)
    assert state(spark, "little") == "COMPLETED", spark.api.find(f"{APPS}/little")
    [boss] = pods(spark, "little", spark_role="driver")
    assert "RESULT right" in spark.log(boss)
    [app] = [found for app, found in spark.tracked(TEAM).items() if "little" in app]
    assert (app["spec"]["owner"], app["status"]["category"]) == ("SparkApplication/little", "small")
    result = "one executor, which the SparkApplication states: known as small from the start; one app, shuffle right"
    recorder.add(Row("Spark", VERSION, "SparkApplication, no webhook", result, round(time.monotonic() - start)))
