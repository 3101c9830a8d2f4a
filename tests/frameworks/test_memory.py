"""A node short of memory: a Spark executor above its lowered request is evicted, comes back, and the job ends right."""

import re
import time
from collections.abc import Iterator

import pytest

from slackwater_cluster.pods.quantities import resources
from slackwater_lab.frameworks import layers, operators
from slackwater_lab.frameworks.spark import Submission, submit
from slackwater_lab.nodes.kubelets import Capacity
from slackwater_lab.nodes.real import obstacles
from slackwater_lab.plan import Plan
from slackwater_lab.programs.images import LOAD
from support.frameworks.patience import SLOW
from support.frameworks.playground import Object, Playground, phase, until
from support.frameworks.results import Recorder, Row
from support.lab.keeping import keeping
from support.lab.running import running

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(1800)]
TEAM, OTHERS = "memory-team", "others"
# Of 4 GiB pods may use 2,972 MiB; the kubelet keeps the rest for itself and evicts below 100 MiB.
CAPACITY = Capacity(8, 4096)
SETTINGS = {
    **SLOW,
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.memoryOverhead": "1000m",
    "spark.executor.instances": "1",
    "spark.kubernetes.executor.deleteOnTermination": "false",  # what the kubelet wrote into it shall be read
}
PATIENCE = 900.0


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """Two real nodes of 4 GiB."""
    if problems := obstacles():
        pytest.skip("; ".join(problems))
    plan = Plan(nodes=0, real_nodes=2, capacity=CAPACITY, services=True, values=("policy.spec.mode=enforce",))
    with running(plan, tmp_path_factory.mktemp("small")) as lab, keeping(lab), lab.api() as api:
        yield Playground(lab, api)


def neighbour(node: str) -> Object:
    """A pod of somebody else on the executor's node: it grows up to its own request, slowly, and then ends."""
    amounts = {"cpu": "100m", "memory": "1900Mi"}
    grows = ["burn", "-cpu=10", "-memory=1500", "-grow=4", "-for=90s"]
    container = {
        "name": "main",
        "image": LOAD,
        "imagePullPolicy": "Never",
        "command": grows,
        "resources": {"requests": amounts, "limits": amounts},
    }
    spec = {"restartPolicy": "Never", "nodeName": node, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "neighbour", "namespace": OTHERS}, "spec": spec}


def test_an_executor_that_kubelet_evicts_comes_back(small: Playground, recorder: Recorder) -> None:
    """Who uses more than it requests goes first: the executor, not its neighbour, not the driver; nothing is lost."""
    small.load("spark")
    small.team(TEAM)
    small.team(OTHERS, managed=False)
    start = time.monotonic()
    wanted = Submission("short", TEAM, "hold.py", ("1", "850", "130"), SETTINGS)
    assert submit(small.lab.site, wanted).wait(300) == 0
    seen: dict[str, Object] = {}

    def executors() -> list[Object]:
        found = small.pods(TEAM, spark_app_name="short", spark_role="executor")
        seen.update({pod["metadata"]["name"]: pod for pod in found})
        return found

    until("the executor runs", lambda: [phase(pod) for pod in executors()] == ["Running"], 400)
    [first] = executors()
    time.sleep(30)  # its Python worker holds its memory by now
    operators.create(small.api, neighbour(first["spec"]["nodeName"]))

    def ended() -> bool:
        executors()
        [driver] = small.pods(TEAM, spark_app_name="short", spark_role="driver")
        return phase(driver) in ("Succeeded", "Failed")

    until("it ends", ended, PATIENCE)
    [driver] = small.pods(TEAM, spark_app_name="short", spark_role="driver")
    evicted = [pod for pod in seen.values() if pod["status"].get("reason") == "Evicted"]
    assert [pod["metadata"]["name"] for pod in evicted] == [first["metadata"]["name"]]
    assert "RESULT right" in small.log(driver), small.log(driver)[-4000:]
    assert len(seen) == 2
    [other] = small.pods(OTHERS)
    assert phase(other) == "Succeeded"
    result = f"{told(evicted[0])}; the neighbour within its request and the driver stayed; replaced, right"
    recorder.add(Row("Spark", layers.SPARK, "a node short of memory", result, round(time.monotonic() - start)))


def told(pod: Object) -> str:
    """What the kubelet wrote into the pod that it evicted, in MiB."""
    message = " ".join(pod["status"]["message"].split())
    numbers = re.search(r"Threshold quantity: (\w+), available: (\w+)\..* was using (\w+), request is (\w+)", message)
    assert numbers, message
    threshold, available, using, request = (
        round(resources({"memory": each})["memory"] / 2**20) for each in numbers.groups()
    )
    limit = round(resources(pod["spec"]["containers"][0]["resources"]["limits"])["memory"] / 2**20)
    return (
        f"kubelet: {available} MiB available, threshold {threshold}: it evicted the executor, which used {using} MiB "
        f"(request lowered to {request}, limit {limit})"
    )
