"""Real Spark: submitted by `spark-submit`, recognised, held, released, and right in the end."""

import re
import shlex
import subprocess
import time
from pathlib import Path

import httpx2
import pytest

from slackwater_cluster.pods.quantities import resources
from slackwater_lab.frameworks import layers
from slackwater_lab.frameworks.spark import Submission, client_command, environment, home, submit
from slackwater_lab.nodes import network
from support.frameworks.patience import SLOW
from support.frameworks.playground import Object, Playground, notes, phase, requests, role, until
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(1500)]
TEAM = "spark-team"
SMALL = {
    **SLOW,
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.instances": "2",
}
PATIENCE = 900.0
PAGE = Path(__file__).resolve().parents[2] / "docs" / "users" / "spark.md"
USE = 'max(container_memory_working_set_bytes{pod=~"hold-.*-exec-.*",container!=""})'


@pytest.fixture(scope="module")
def spark(ground: Playground) -> Playground:
    """The image on the nodes, and a team."""
    ground.load("spark")
    ground.team(TEAM)
    return ground


def play(ground: Playground, name: str, program: str, *arguments: str, **settings: str) -> tuple[Object, float]:
    """Submit one application and wait until its driver has ended; the driver, and the seconds it took."""
    start = time.monotonic()
    wanted = Submission(name, TEAM, program, arguments, {**SMALL, **settings})
    submission = submit(ground.lab.site, wanted)
    assert submission.wait(300) == 0, (ground.lab.site.folder / "logs" / f"submit-{name}.log").read_text()[-2000:]
    until(f"{name} ends", lambda: phase(driver(ground, name)) in ("Succeeded", "Failed"), PATIENCE)
    return driver(ground, name), time.monotonic() - start


def driver(ground: Playground, name: str) -> Object:
    """The driver's pod; Spark puts the name's label on it."""
    [found] = ground.pods(TEAM, spark_app_name=name, spark_role="driver")
    return found


def test_cluster_mode_runs_a_shuffle_with_the_right_result(spark: Playground, recorder: Recorder) -> None:
    """Driver and executors are recognised; the driver keeps its request, executors get lower ones and keep limits."""
    seen: dict[str, Object] = {}
    wanted = Submission("shuffle", TEAM, "shuffle.py", ("200000", "8", "2", "1"), SMALL)
    start = time.monotonic()
    assert submit(spark.lab.site, wanted).wait(300) == 0

    def ended() -> bool:
        seen.update({pod["metadata"]["name"]: pod for pod in spark.pods(TEAM, spark_app_name="shuffle")})
        return phase(driver(spark, "shuffle")) in ("Succeeded", "Failed")

    until("shuffle ends", ended, PATIENCE)
    boss = driver(spark, "shuffle")
    workers = [pod for pod in seen.values() if pod["metadata"]["labels"]["spark-role"] == "executor"]
    assert "RESULT right" in spark.log(boss)
    assert (role(boss), requests(boss)["cpu"]) == ("driver", "1")
    assert len(workers) == 2
    assert {role(pod) for pod in workers} == {"task"}
    assert {requests(pod)["cpu"] for pod in workers} == {"500m"}
    assert {notes(pod)["slackwater.io/declared-cpu"] for pod in workers} == {"1000m"}
    recorder.keep(f"spark-{layers.SPARK}-cluster-mode", seen.values(), spark.api)
    result = "recognised as one app, driver 1 cpu kept, executors 1 → 0.5 cpu, shuffle right"
    recorder.add(Row("Spark", layers.SPARK, "cluster mode, PySpark shuffle", result, round(time.monotonic() - start)))


def test_the_example_of_the_page_for_users_runs_as_it_stands_there(spark: Playground, recorder: Recorder) -> None:
    """Only the address of the API server and the place of `spark-submit` are put in."""
    start = time.monotonic()
    written = [block for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL) if "API-SERVER" in block]
    line = written[0].replace("\\\n", "").replace("https://API-SERVER", spark.lab.site.url("apiserver", "https"))
    [program, *words] = shlex.split(line)
    assert (len(written), program) == (1, "spark-submit")
    name = words[words.index("--name") + 1]
    before = {pod["metadata"]["uid"] for pod in spark.pods(TEAM, spark_app_name=name)}
    command = [str(home() / "bin" / "spark-submit"), *words]
    ended = subprocess.run(command, env=environment(spark.lab.site), capture_output=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 0, ended.stderr.decode()[-2000:]
    [boss] = [
        pod
        for pod in spark.pods(TEAM, spark_app_name=name, spark_role="driver")
        if pod["metadata"]["uid"] not in before
    ]
    assert "RESULT right" in spark.log(boss)
    spark.api.delete(f"/api/v1/namespaces/{TEAM}/pods/{boss['metadata']['name']}")
    case = "the example in docs/users/spark.md"
    recorder.add(
        Row("Spark", layers.SPARK, case, "submitted as it stands there, right", round(time.monotonic() - start))
    )


def test_dynamic_allocation_grows_and_ends(spark: Playground, recorder: Recorder) -> None:
    """Every executor that Spark asks for later is a question of its own at the gate."""
    dynamic = {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.initialExecutors": "1",
        "spark.dynamicAllocation.maxExecutors": "3",
    }
    boss, seconds = play(spark, "dynamic", "shuffle.py", "200000", "12", "2", "2", **dynamic)
    assert "RESULT right" in spark.log(boss)
    recorder.add(Row("Spark", layers.SPARK, "dynamic allocation, 1 to 3 executors", "ends right", round(seconds)))


def test_executors_that_were_held_come_when_there_is_room(spark: Playground, recorder: Recorder) -> None:
    """The nodes are closed for a minute; the driver waits for executors that are gated, and ends right."""
    start = time.monotonic()
    wanted = Submission("patient", TEAM, "shuffle.py", ("200000", "4", "1", "0"), SMALL)
    assert submit(spark.lab.site, wanted).wait(300) == 0
    until("the driver runs", lambda: phase(driver(spark, "patient")) == "Running", 300, 0.2)
    spark.cordon(closed=True)

    def held() -> list[str]:
        return [phase(pod) for pod in spark.pods(TEAM, spark_app_name="patient", spark_role="executor")]

    try:
        until("both executors are held", lambda: held() == ["Gated"] * 2, 300)
        time.sleep(60)
        assert held() == ["Gated"] * 2
    finally:
        spark.cordon(closed=False)
    until("it ends", lambda: phase(driver(spark, "patient")) in ("Succeeded", "Failed"), PATIENCE)
    assert "RESULT right" in spark.log(driver(spark, "patient"))
    result = "two executors held for a minute, then released; right, and no time-out of Spark's ran out"
    recorder.add(Row("Spark", layers.SPARK, "held and released", result, round(time.monotonic() - start)))


def test_an_executor_that_dies_is_replaced(spark: Playground, recorder: Recorder) -> None:
    """Deleted while its task runs: Spark asks for another one, which passes the gate, and nothing is lost."""
    start = time.monotonic()
    wanted = Submission("bereft", TEAM, "hold.py", ("2", "50", "45"), SMALL)
    assert submit(spark.lab.site, wanted).wait(300) == 0

    def executors() -> list[Object]:
        return spark.pods(TEAM, spark_app_name="bereft", spark_role="executor")

    until("both run", lambda: [phase(pod) for pod in executors()] == ["Running"] * 2, 300)
    time.sleep(20)
    victim = executors()[0]["metadata"]["name"]
    spark.api.delete(f"/api/v1/namespaces/{TEAM}/pods/{victim}", {"gracePeriodSeconds": "0"})
    seen: set[str] = set()

    def ended() -> bool:
        seen.update(pod["metadata"]["name"] for pod in executors())
        return phase(driver(spark, "bereft")) in ("Succeeded", "Failed")

    until("it ends", ended, PATIENCE)
    assert "RESULT right" in spark.log(driver(spark, "bereft"))
    assert len(seen - {victim}) >= 2
    recorder.add(
        Row("Spark", layers.SPARK, "an executor is killed", "replaced, right", round(time.monotonic() - start))
    )


def test_client_mode_with_a_driver_outside_the_cluster(spark: Playground, recorder: Recorder) -> None:
    """As a notebook does it: no driver pod exists; the executors are one app, and get their turn."""
    start = time.monotonic()
    site = spark.lab.site
    wanted = Submission("notebook", TEAM, "shuffle.py", ("200000", "8", "1", "15"), SMALL)
    command = client_command(site, wanted, network.of(site.ports).gateway)
    seen: dict[str, Object] = {}
    with subprocess.Popen(command, env=environment(site), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        while process.poll() is None and time.monotonic() - start < PATIENCE:
            seen.update({pod["metadata"]["name"]: pod for pod in spark.pods(TEAM, spark_app_name="notebook")})
            time.sleep(2)
        process.kill()
        said = process.stdout.read().decode() if process.stdout else ""
    assert "RESULT right" in said, said[-3000:]
    assert len(seen) == 2
    assert {role(pod) for pod in seen.values()} == {"task"}
    recorder.keep(f"spark-{layers.SPARK}-client-mode", seen.values(), spark.api)
    result = "no driver pod, 2 executors recognised as tasks, right"
    recorder.add(Row("Spark", layers.SPARK, "client mode", result, round(time.monotonic() - start)))


def test_memory_above_the_lowered_request_and_below_the_limit_is_kept(spark: Playground, recorder: Recorder) -> None:
    """Heap and Python worker use more than the lowered request: nothing is killed while the node has memory."""
    start = time.monotonic()
    settings = {**SMALL, "spark.executor.memoryOverhead": "1000m"}
    wanted = Submission("hold", TEAM, "hold.py", ("2", "700", "40"), settings)
    assert submit(spark.lab.site, wanted).wait(300) == 0
    seen: dict[str, Object] = {}
    peak = 0.0

    def ended() -> bool:
        nonlocal peak
        seen.update(
            {pod["metadata"]["name"]: pod for pod in spark.pods(TEAM, spark_app_name="hold", spark_role="executor")}
        )
        peak = max(peak, measured(spark, USE))
        return phase(driver(spark, "hold")) in ("Succeeded", "Failed")

    until("it ends", ended, PATIENCE)
    assert "RESULT right" in spark.log(driver(spark, "hold"))
    [request] = {value(requests(pod)["memory"]) for pod in seen.values()}
    [limit] = {value(pod["spec"]["containers"][0]["resources"]["limits"]["memory"]) for pod in seen.values()}
    assert request < peak < limit
    assert not [pod for pod in seen.values() if pod["status"].get("reason") == "Evicted"]
    mebi = 2**20
    result = (
        f"kubelet: {peak / mebi:.0f} MiB in use, request lowered to {request / mebi:.0f}, limit {limit / mebi:.0f}: "
        "no eviction, no OOM kill, right"
    )
    case = "memory above the lowered request"
    recorder.add(Row("Spark", layers.SPARK, case, result, round(time.monotonic() - start)))


def measured(ground: Playground, query: str) -> float:
    """What Prometheus says now; 0 where it says nothing."""
    reply = httpx2.get(f"{ground.lab.site.url('prometheus')}/api/v1/query", params={"query": query})
    found = reply.json()["data"]["result"]
    return float(found[0]["value"][1]) if found else 0.0


def value(quantity: str) -> float:
    """A quantity of memory in bytes."""
    return resources({"memory": quantity})["memory"]
