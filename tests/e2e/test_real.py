"""Scenario 10: real kubelets and containers; the numbers are cAdvisor's, the kills are the kernel's."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from slackwater_cluster.api.contenttypes import STRATEGIC
from slackwater_cluster.pods.quantities import parse_quantity
from slackwater_lab.lab import Lab
from slackwater_lab.nodes.kubelets import Capacity
from slackwater_lab.nodes.real import obstacles
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import Plan
from slackwater_lab.programs.build import missing
from slackwater_lab.programs.images import LOAD
from slackwater_lab.site import open_site
from support.lab.testcluster import ENFORCE, Field, needs_own_lab
from support.lab.testnamespace import Ground, bound, gated, phase, until

pytestmark = pytest.mark.lab
NODE = "real-1"
MIB = 2.0**20
TRACE = {"format": "slackwater-trace", "version": 1, "name": "three jobs", "kinds": ["cpu", "memory"]}
BURN = 600  # seconds a container burns unless told otherwise: longer than any test


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    """A whole lab with one real node that claims eight CPUs."""
    needs_own_lab()
    plan = Plan(
        nodes=1, shape=Shape(tainted=True), real_nodes=1, capacity=Capacity(8, 24576), scrape="2s", values=ENFORCE
    )
    if problems := [*obstacles(), *(f"not built: {item.name}" for item in missing(plan.programs()))]:
        pytest.skip("; ".join(problems))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLACKWATER_LAB_HOME", str(tmp_path_factory.mktemp("labs")))
        lab = Lab(open_site(f"real-{os.getpid()}"), plan)
        try:
            lab.up()
            with lab.api() as api:
                yield Field(api, lab.site.url("extender"), lab)
        finally:
            lab.down()


@pytest.fixture(scope="module")
def ground(real: Field) -> Ground:
    """A managed namespace on the real node."""
    real.api.create("/api/v1/namespaces", {"metadata": {"name": "real", "labels": {"slackwater.io/managed": "true"}}})
    account = "/api/v1/namespaces/real/serviceaccounts/default"
    until("the account is there", lambda: real.api.find(account) is not None, 30)
    made = Ground(real.api, "real", [NODE])
    real.until_held(made)
    return made


def _burning(
    ground: Ground,
    name: str,
    millicores: int,
    mebibytes: int,
    *more: str,
    app: str = "",
    asks: tuple[str, str] = ("1", "400Mi"),
    limit: str = "",
    seconds: float = BURN,
) -> dict[str, Any]:
    """A container that really burns so many millicores and MiB; `more` are further words for `burn`."""
    pod = ground.pod(name, app=app, cpu=asks[0], memory=asks[1], nodeSelector={"slackwater.io/lab-node": "real"})
    (container,) = pod["spec"]["containers"]
    amounts = ["-cpu", str(millicores), "-memory", str(mebibytes), "-for", f"{seconds}s"]
    container |= {"image": LOAD, "imagePullPolicy": "Never", "command": ["burn", *amounts, *more]}
    if limit:
        container["resources"]["limits"] = {"memory": limit}
    return pod


def _running(ground: Ground, *names: str) -> None:
    until(f"{', '.join(names)} run", lambda: all(phase(ground.get(name)) == "Running" for name in names), 60, 0.3)


def test_the_ledger_shows_what_cadvisor_measures(real: Field, ground: Ground) -> None:
    """Two containers declare 3 CPUs and use 0.2: use per pod and node, and the room, are the kubelet's."""
    ground.create([_burning(ground, "a", 120, 60), _burning(ground, "b", 80, 140, asks=("2", "400Mi"))])
    _running(ground, "a", "b")

    def per_pod() -> bool:
        usage, uids = real.ask("/v1/usage")["pods"], {name: ground.get(name)["metadata"]["uid"] for name in "ab"}
        return all(_close(usage.get(uids[name], {}).get("memory", 0), _container(real, name)) for name in "ab")

    def whole_node() -> bool:
        node, measured = real.node(NODE), _measured(real, f'node_memory_working_set_bytes{{node="{NODE}"}}')
        return not node["stale"] and _close(node["used"]["memory"], measured)

    until("each container is measured", lambda: 130 * MIB < _container(real, "b") < 200 * MIB, 60, 0.5)
    until("the extender knows both containers by cAdvisor's numbers", per_pod, 60, 0.5)
    until("the ledger shows what the kubelet measures of the node", whole_node, 60, 0.5)
    until("the room is larger than declarations leave", lambda: real.node(NODE)["room"]["cpu"] > 4.5, 60, 0.5)


def test_lowered_requests_are_what_the_kubelet_runs_with(real: Field, ground: Ground) -> None:
    """The kubelet reports half of the declared two CPUs, and the container's cgroup has the shares of one."""
    _make_sure(ground, "b", lambda: _burning(ground, "b", 80, 140, asks=("2", "400Mi")))
    assert _requested(ground.get("b")) == "1"
    assert _shares(real, ground, "b") == 1024


def test_a_resize_at_release_takes_effect(real: Field, ground: Ground, tell: Callable[[str], None]) -> None:
    """Five tasks use more than their lowered 50 m: the sixth is given what they used, and its cgroup has it.

    The operator looks at use every ten seconds: tasks of 26 s are seen twice, and their end is noticed in time.
    """
    real.policy("default", {"mode": "enforce", "reclaim": {"enabled": True}})
    asks = ("100m", "60Mi")
    teachers = [f"teacher-{i}" for i in range(5)]
    ground.create(_burning(ground, name, 80, 20, app="school", asks=asks, seconds=26) for name in teachers)
    ground.until_done(5, 90, app="school")
    resized = 0.0

    def pupil_is_resized() -> bool:
        """What the fifth taught may be taken in a moment after it ended: so another pupil may be needed."""
        nonlocal resized
        name = f"pupil-{time.monotonic_ns()}"
        ground.create([_burning(ground, name, 80, 20, app="school", asks=asks)])
        _running(ground, name)
        until("the kubelet says what it runs with", lambda: _requested(ground.get(name)), 30, 0.3)
        resized = float(_requested(ground.get(name)).rstrip("m"))
        shares = _shares(real, ground, name)
        tell(f"request at release {resized:g} m instead of 50 m, {shares} shares")
        assert shares == int(resized * 1024 / 1000)
        ground.api.delete(f"{ground.pods_path}/{name}")
        return resized > 50

    until("a pupil's request is raised", pupil_is_resized, 60, 4)
    assert 80 <= resized <= 100


def test_a_memory_hog_is_killed_and_the_filter_leaves_its_node_alone(
    real: Field, ground: Ground, tell: Callable[[str], None]
) -> None:
    """It declares 256 MiB and takes 3 GiB: a pod for which there was room is refused, until the kernel ends the hog."""
    until("the node is measured", lambda: not real.node(NODE)["stale"], 60, 0.5)
    before = real.node(NODE)
    hog = _burning(ground, "hog", 10, 2600, "-grow", "15", asks=("100m", "256Mi"), limit="3Gi")
    ground.create([hog])
    _running(ground, "hog")
    taken = before["used"]["memory"] + 2000 * MIB
    until("the ledger sees the hog", lambda: real.node(NODE)["used"]["memory"] > taken, 40, 0.3)
    asks = ("100m", f"{round(before['room']['memory'] / MIB) - 1300}Mi")
    ground.create([_burning(ground, "wide", 10, 10, asks=asks)])
    if gated(ground.get("wide")):  # the operator would not even let it go: ask the filter itself
        ground.api.patch(f"{ground.pods_path}/wide", {"spec": {"schedulingGates": None}}, STRATEGIC)
    until("the filter has refused the node", lambda: "memory" in _refusal(real, ground, "wide"), 20, 0.3)
    until("the hog is killed", lambda: _exit_code(ground, "hog") == 137, 60, 0.3)
    ended = time.monotonic()
    uid = ground.get("hog")["metadata"]["uid"]
    until("it is charged no longer", lambda: uid not in _charged(real), 30, 0.3)
    until("the refused pod has its room", lambda: bound([ground.get("wide")]), 60, 0.3)
    tell(f"refused while the hog lived, bound {time.monotonic() - ended:.1f} s after its end")


def test_real_drivers_ask_for_real_tasks(real: Field, tell: Callable[[str], None], tmp_path: Path) -> None:
    """`slackwater simulate --live` with an image: programs in containers play the drivers, and every job finishes."""
    kubeconfig = str(real.own_lab().site.kubeconfig)
    (tmp_path / "jobs.jsonl").write_text("\n".join([json.dumps(TRACE), *(json.dumps(_job(i)) for i in range(3))]))
    program = str(Path(sys.executable).with_name("slackwater"))
    place = ["--kubeconfig", kubeconfig, "--namespace", "played", "--selector", "slackwater.io/lab-node=real"]
    command = [program, "simulate", str(tmp_path / "jobs.jsonl"), "--live", "-p", "slackwater", "--limit", "90", *place]
    done = subprocess.run(
        [*command, "--image", LOAD, "-o", "json"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["summary"]
    assert found["finished"] == 3
    moments = (found["predicted_makespan"], found["observed_makespan"])
    tell("three jobs of real drivers: predicted {:.1f} s, observed {:.1f} s".format(*moments))


def test_a_pod_that_the_kubelet_turns_away_is_retried(real: Field, ground: Ground) -> None:
    """Somebody bound it to a node whose requests are full: OutOfcpu. Its Job makes another, which runs later."""
    lab = real.own_lab()
    lab.processes.kill("slackwater-scheduler")
    try:
        template = _burning(ground, "unused", 10, 10, app="tried", asks=("3", "64Mi"), seconds=1)
        job = {"metadata": {"name": "tried"}, "spec": {"backoffLimit": 6, "template": _template(template)}}
        real.api.create(f"/apis/batch/v1/namespaces/{ground.name}/jobs", job)
        first = until("the Job's pod is released", lambda: [p for p in _of_job(ground) if not gated(p)], 60, 0.3)[0]
        with _filled(real, ground):
            name = str(first["metadata"]["name"])
            target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
            real.api.create(f"{ground.pods_path}/{name}/binding", {"metadata": {"name": name}, "target": target})
            until("the kubelet turns it away", lambda: _why(ground, name).startswith("OutOf"), 40, 0.3)
    finally:
        lab.restart("slackwater-scheduler")
    until("another pod of the Job ended well", lambda: any(phase(p) == "Succeeded" for p in _of_job(ground)), 90, 0.5)


@contextmanager
def _filled(real: Field, ground: Ground) -> Iterator[None]:
    """A stranger's pod takes what requests leave of the node, but for a fifth of a CPU."""
    listed = real.api.find("/api/v1/pods", {"fieldSelector": f"spec.nodeName={NODE}"}) or {"items": []}
    containers = [each for pod in listed["items"] if phase(pod) == "Running" for each in pod["spec"]["containers"]]
    asked = sum(parse_quantity(each["resources"]["requests"]["cpu"]) for each in containers)
    left = real.node(NODE)["allocatable"]["cpu"] - asked - 0.2
    filler = _burning(ground, "filler", 10, 10, asks=(f"{round(left * 1000)}m", "64Mi"))
    filler["metadata"]["labels"] = {}
    pods = "/api/v1/namespaces/default/pods"
    real.api.create(pods, filler)
    try:
        running = lambda: phase(real.api.find(f"{pods}/filler") or {"status": {}}) == "Running"  # noqa: E731
        until("the filler runs", running, 60, 0.3)
        yield
    finally:
        real.api.delete(f"{pods}/filler", {"gracePeriodSeconds": "0"})


def _job(number: int) -> dict[str, Any]:
    """A driver, three tasks, and one that waits for them; each uses a tenth of what it asks for."""
    size, light = [0.5, 200 * MIB], {"cpu": [0.1], "memory": [0.1]}
    usage = {"cpu": [0.1] * 3, "memory": [0.1] * 3}
    return {
        "id": f"job-{number}",
        "submit": 2.0 * number,
        "driver": {"request": size, "startup": 0.5, "usage": light},
        "stages": [
            {"name": "map", "request": size, "durations": [4.0, 5.0, 6.0], "usage": usage},
            {"name": "reduce", "request": size, "parents": ["map"], "durations": [3.0], "usage": light},
        ],
    }


def _make_sure(ground: Ground, name: str, made: Callable[[], dict[str, Any]]) -> None:
    """Each test stands alone: what an earlier one would have started is started here otherwise."""
    if ground.api.find(f"{ground.pods_path}/{name}") is None:
        ground.create([made()])
    _running(ground, name)


def _template(pod: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": pod["spec"]}


def _of_job(ground: Ground) -> list[dict[str, Any]]:
    return [pod for pod in ground.pods() if "batch.kubernetes.io/job-name" in pod["metadata"]["labels"]]


def _why(ground: Ground, name: str) -> str:
    return str(ground.get(name)["status"].get("reason", ""))


def _close(seen: float, measured: float) -> bool:
    return measured > 0 and abs(seen / measured - 1) < 0.2


def _container(real: Field, name: str) -> float:
    return _measured(real, f'container_memory_working_set_bytes{{pod="{name}",container="main"}}')


def _measured(real: Field, query: str) -> float:
    url = real.own_lab().site.url("prometheus")
    found = httpx2.get(f"{url}/api/v1/query", params={"query": query}).json()["data"]["result"]
    return float(found[0]["value"][1]) if found else 0.0


def _requested(pod: dict[str, Any]) -> str:
    """The CPU request the kubelet says the container runs with."""
    statuses = pod["status"].get("containerStatuses") or [{}]
    return str(statuses[0].get("resources", {}).get("requests", {}).get("cpu", ""))


def _shares(real: Field, ground: Ground, name: str) -> int:
    """What the kernel was told: cpu.shares of the container's cgroup."""
    uid = ground.get(name)["metadata"]["uid"]
    node = real.own_lab().real.node(1)
    status = ground.get(name)["status"]["containerStatuses"][0]
    identity = status["containerID"].rpartition("/")[2]
    (path,) = Path("/sys/fs/cgroup").glob(f"cpu*/{node.cgroup}/**/pod{uid}/{identity}/cpu.shares")
    return int(path.read_text())


def _refusal(real: Field, ground: Ground, name: str) -> str:
    found = real.ask(f"/v1/decisions?namespace={ground.name}&pod={name}")["decisions"]
    return str([each for each in found if each["verb"] == "filter"])


def _exit_code(ground: Ground, name: str) -> int:
    states = ground.get(name)["status"].get("containerStatuses", [])
    return next((int(each["state"]["terminated"]["exitCode"]) for each in states if "terminated" in each["state"]), -1)


def _charged(real: Field) -> set[str]:
    return {str(each["uid"]) for each in real.ask(f"/v1/nodes/{NODE}")["pods"]}
