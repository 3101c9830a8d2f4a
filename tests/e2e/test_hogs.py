"""Memory hogs on real kubelets, with a stated risk: who is killed, by whom, and that neighbours never are."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from slackwater_lab.nodes.kubelets import Capacity
from slackwater_lab.nodes.real import obstacles
from slackwater_lab.plan import Plan
from slackwater_lab.programs.images import LOAD
from support.lab import oomkills
from support.lab.running import running
from support.lab.testcluster import ENFORCE, Field, needs_own_lab
from support.lab.testnamespace import Ground, phase, states, until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]
Object = dict[str, Any]
NODES = ("real-1", "real-2")
# Of 3 GiB the kubelet keeps one for the system: pods are held to 2,048 MiB, and evicted below 100 MiB of that.
CAPACITY = Capacity(16, 3072)
RISK = 0.01
POLICY = (*ENFORCE, "policy.spec.estimation.risk=1%", "policy.spec.estimation.riskHorizonSeconds=60")
ASKS = "200Mi"  # every task; lowered to 134 MiB
STRETCH = float(os.environ.get("SLACKWATER_HOGS_STRETCH", "1"))  # longer lives, and so more of them on a node
SHAPES = {
    "ramp": f"-memory 40 -grow {10 / STRETCH:g} -most 185 -after {6 * STRETCH:g}s -for {28 * STRETCH:g}s",
    "spike": f"-memory 45 -spike 140 -hold {6 * STRETCH:g}s -after {12 * STRETCH:g}s -for {26 * STRETCH:g}s",
}
EACH = 8  # tasks of each shape in a run
RUNS = int(os.environ.get("SLACKWATER_HOGS_RUNS", "2"))  # more of them: a longer look at the risk


@dataclass(frozen=True, slots=True)
class Stage:
    """A managed namespace, and one of somebody else with pods on every node."""

    real: Field
    tasks: Ground
    others: Ground

    def alive(self) -> None:
        """No neighbour was killed, restarted or evicted: by its status, and by the kernel's count in its cgroup."""
        pods = self.others.pods()
        assert [phase(pod) for pod in pods] == ["Running"] * 3, states(pods)
        assert [pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods] == [0] * 3
        assert [oomkills.own_kills(self.real.own_lab(), pod) for pod in pods] == [0] * 3

    def kills(self) -> list[oomkills.Kill]:
        """What the kernel killed in our pods, those that are gone by now among them."""
        groups = tuple(f"/{self.real.own_lab().real.node(number).cgroup}/" for number in (1, 2))
        return [kill for kill in oomkills.kills() if kill.full.startswith(groups)]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Two real nodes with neighbours that use what they ask for, and a SlackPolicy with a risk of 1 %."""
    needs_own_lab()
    if problems := obstacles():
        pytest.skip("; ".join(problems))
    plan = Plan(nodes=0, real_nodes=2, capacity=CAPACITY, scrape="2s", values=POLICY)
    with running(plan, tmp_path_factory.mktemp("hogs")) as lab, lab.api() as api:
        real = Field(api, lab.site.url("extender"), lab)
        made = Stage(real, _ground(real, "hogs", managed=True), _ground(real, "neighbours", managed=False))
        real.until_held(made.tasks)
        made.others.create(_neighbours(made.others))
        until("the neighbours run", lambda: [phase(pod) for pod in made.others.pods()] == ["Running"] * 3, 90, 0.3)
        until("the nodes are measured", lambda: not any(real.node(name)["stale"] for name in NODES), 60, 0.5)
        yield made


def _ground(real: Field, name: str, *, managed: bool) -> Ground:
    labels = {"slackwater.io/managed": "true"} if managed else {}
    real.api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    until("the account is there", lambda: real.api.find(account) is not None, 30)
    return Ground(real.api, name, NODES)


def _neighbours(others: Ground) -> list[Object]:
    """A large Burstable pod on the first node; on the second one a small one, and a large Guaranteed one."""
    large = _burning(others, "large", "-memory 480", "500Mi", nodeName=NODES[0])
    small = _burning(others, "small", "-memory 90", "100Mi", nodeName=NODES[1])
    sure = _burning(others, "guaranteed", "-memory 470", "500Mi", nodeName=NODES[1])
    (container,) = sure["spec"]["containers"]
    container["resources"]["limits"] = dict(container["resources"]["requests"])
    return [large, small, sure]


def _burning(ground: Ground, name: str, words: str, memory: str, app: str = "", limit: str = "", **spec: Any) -> Object:
    place = spec or {"nodeSelector": {"slackwater.io/lab-node": "real"}}
    pod = ground.pod(name, app=app, cpu="50m", memory=memory, **{"nodeSelector": {}, **place})
    (container,) = pod["spec"]["containers"]
    container |= {"image": LOAD, "imagePullPolicy": "Never", "command": ["burn", "-cpu", "2", *words.split()]}
    if limit:
        container["resources"]["limits"] = {"memory": limit}
    return pod


def _end(pod: Object) -> str:
    """How a pod stands or ended: killed by the kernel, or evicted by its kubelet, however politely it went then."""
    conditions = {each["type"] for each in pod["status"].get("conditions", []) if each["status"] == "True"}
    if "DisruptionTarget" in conditions:
        return "Evicted"
    ends = [each["state"].get("terminated") for each in pod["status"].get("containerStatuses", [])]
    return next((str(end["reason"]) for end in ends if end and end["exitCode"]), phase(pod))


def _on(pods: list[Object], node: str) -> Counter[str]:
    return Counter(_end(pod) for pod in pods if pod["spec"].get("nodeName") == node)


def _running(stage: Stage) -> list[Object]:
    return [pod for pod in stage.tasks.pods() if phase(pod) == "Running"]


def _crowd(stage: Stage) -> int:
    """The most tasks that run on one node."""
    return max(Counter(pod["spec"]["nodeName"] for pod in _running(stage)).values(), default=0)


def _play(stage: Stage, run: int) -> tuple[Counter[str], int]:
    """One run of both apps: how their tasks ended, and the most that ran on one node."""
    stage.tasks.create(
        _burning(stage.tasks, f"{shape}-{run}-{number}", words, ASKS, app=shape)
        for shape, words in SHAPES.items()
        for number in range(EACH)
    )
    most = 0

    def over() -> bool:
        nonlocal most
        most = max(most, _crowd(stage))
        return all(phase(pod) in ("Succeeded", "Failed") for pod in stage.tasks.pods())

    until("all tasks have ended", over, 240 * STRETCH, 1.0)
    ends = Counter(_end(pod) for pod in stage.tasks.pods())
    stage.tasks.clear()
    return ends, most


def test_all_tasks_of_an_app_spike_together(stage: Stage, tell: Callable[[str], None]) -> None:
    """The first time nobody can know. Beside a large Burstable pod all fit; elsewhere tasks are lost, nobody else."""
    lab, before, moment = stage.real.own_lab(), len(stage.kills()), int(time.time()) + 45
    words = f"-memory 55 -spike 130 -at {moment} -hold 12s -for 100s"
    stage.tasks.create(_burning(stage.tasks, f"t-{number:02}", words, ASKS, app="together") for number in range(20))
    until("the moment is near", lambda: time.time() > moment - 3, 90, 0.5)
    here = _running(stage)
    scores = {pod["metadata"]["name"]: oomkills.adjustment(lab, pod) for pod in [*stage.others.pods(), here[0]]}
    until("the spike is over", lambda: time.time() > moment + 14, 60, 0.5)
    pods, kills = stage.tasks.pods(), stage.kills()[before:]
    stage.tasks.clear()
    tell(f"oom_score_adj {scores}")
    for number, node in enumerate(NODES, start=1):
        tell(f"{node}: {oomkills.pods_memory(lab, number)}, {dict(_on(pods, node))}")
    tell(f"the kernel killed {[f'{kill.mebibytes} MiB, oom_score_adj {kill.adj}' for kill in kills]}")
    stage.alive()
    ours = {pod["metadata"]["uid"] for pod in pods}
    assert {kill.uid for kill in kills} <= ours
    # By what they declare: 500 and 7 times 200 of 1,948 MiB.
    assert _on(pods, NODES[0]) == {"Running": 7}
    assert _on(pods, NODES[1]).total() > 6  # 600 and 6 times 200
    assert kills or _on(pods, NODES[1])["Evicted"]


def test_ramps_and_spikes_cost_no_task_of_an_app_that_is_known(stage: Stage, tell: Callable[[str], None]) -> None:
    """Tasks that use little at first and then nearly all they asked for: from their app's second run none is lost."""
    lab, ends = stage.real.own_lab(), []
    for run in range(RUNS):
        ended, most = _play(stage, run)
        ends.append(ended)
        used = [oomkills.pods_memory(lab, number).most for number in (1, 2)]
        tell(f"run {run + 1}: at most {most} tasks on a node; {dict(ended)}; pods used at most {used} MiB so far")
        stage.alive()
    promise = stage.real.ask(f"/v1/nodes/{NODES[1]}")["resources"]["memory"]["promise"]
    tell(f"{promise['compared']:.0f} promises compared, {promise['realised']:.2%} exceeded, z {promise['factor']}")
    later = sum(ends[1:], Counter[str]())
    assert later.total() - later["Succeeded"] <= RISK * later.total()


def test_a_leak_ends_alone(stage: Stage, tell: Callable[[str], None]) -> None:
    """With a limit the kernel ends it there; without one it takes what the node has, and is the one that goes."""
    before, leaks = len(stage.kills()), ("limited", "limitless")
    stage.tasks.create(
        [
            _burning(stage.tasks, "limited", "-memory 40 -grow 40", ASKS, app="limited", limit="300Mi"),
            _burning(stage.tasks, "limitless", "-memory 40 -grow 40", ASKS, app="limitless"),
            *(_burning(stage.tasks, f"steady-{number}", "-memory 100", ASKS, app="steady") for number in range(4)),
        ]
    )
    over = lambda: all(phase(stage.tasks.get(name)) in ("Succeeded", "Failed") for name in leaks)  # noqa: E731
    until("both leaks have ended", over, 120, 0.5)
    ends = {pod["metadata"]["name"]: _end(pod) for pod in stage.tasks.pods()}
    kills = [f"{kill.mebibytes} MiB in {kill.full.rpartition('/')[2][:12]}" for kill in stage.kills()[before:]]
    tell(f"{ends}; the kernel killed {kills}")
    stage.alive()
    assert {name for name, end in ends.items() if end in ("OOMKilled", "Evicted", "Failed")} == set(leaks)
    assert ends["limited"] == "OOMKilled"
    stage.tasks.clear()
