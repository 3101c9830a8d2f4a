"""What README.md promises a newcomer, typed as it stands there: demo, assess, install, label, submit, why, uninstall.

The project is cloned, and only what `make demo` installs there is used. helm, kubectl, `slackwater` and the monitor are
the real ones, and so are API server, schedulers and Prometheus. What a kubelet would do is stood in for: the chart's
pods "run" on simulated nodes, and beside them our programs run as processes with the chart's own accounts; the Job
before the uninstall runs its script as the Job's account.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_lab.lab import Lab
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import Plan
from slackwater_lab.programs.build import installed, missing
from slackwater_lab.site import open_site
from support.builders.readme import commands
from support.lab.browser import picture
from support.lab.chart import NAMESPACE
from support.lab.hooks import Standin
from support.lab.newcomer import Newcomer, newcomer
from support.lab.pods import task
from support.lab.testcluster import needs_own_lab
from support.lab.testnamespace import Object, gated, until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

EXECUTORS = 24
WAITS = 3  # what `slackwater explain` exits with
CLUSTER = Plan(
    parts=frozenset({"kwok", "scheduler", "state-metrics", "prometheus"}), nodes=2, shape=Shape(cpu="4", memory="16Gi")
)
PROGRAMS = frozenset({"slackwater-scheduler", "extender", "operator"})


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Newcomer]:
    """A cluster without Slackwater: two nodes of four cores, a service that runs there, and a Prometheus."""
    needs_own_lab()
    if absent := [item.name for item in missing([*CLUSTER.programs(), "helm"])]:
        pytest.skip(f"not built: {', '.join(absent)}; run: python -m slackwater_lab build")
    try:
        installed("prometheus", "prometheus")
    except Unavailable as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLACKWATER_LAB_HOME", str(tmp_path / "labs"))
        lab = Lab(open_site(f"readme-{os.getpid()}"), CLUSTER)
        try:
            lab.up()
            with lab.api() as api:
                shop(api)
                yield newcomer(lab, api, tmp_path)
        finally:
            lab.down()


def shop(api: ApiClient) -> None:
    """A service that asks for a core and uses a tenth of it, for `assess` to find."""
    path = "/api/v1/namespaces/shop"
    api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    until("the namespace has its account", lambda: api.find(f"{path}/serviceaccounts/default") is not None, 30, 0.3)
    use = {"kwok.x-k8s.io/usage-cpu": "100m", "kwok.x-k8s.io/usage-memory": "100Mi"}
    api.create(f"{path}/pods", task("web", use, cpu="1"))


# -- what each block must have done ------------------------------------------------------------------------------------


def demo(user: Newcomer, block: str) -> str:
    """Installs what it needs and says so, then plays; its page is there."""
    said = user.done(block)
    assert said.startswith("Installing what the demo needs")
    assert "180 of 180" in said
    assert (user.clone / "report" / "index.html").exists()
    return "played"


def assess(user: Newcomer, block: str) -> str:
    """The service that uses a tenth of its core is found. The lab has no week: its last minutes are asked about."""

    def found() -> bool:
        result = user.types(f"{block} --since 5m")  # it refuses until there is a sample
        return result.returncode == 0 and "shop" in result.stdout

    until("a complete window was measured", found, 120, 5)
    return "waste found"


def install(user: Newcomer, block: str) -> str:
    """All Deployments are there; then the programs, as kubelet would have started them."""
    user.done(block)
    listed = user.api.find(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments") or {"items": []}
    names = {each["metadata"]["name"] for each in listed["items"]}
    assert names == {"slackwater-extender", "slackwater-operator", "slackwater-scheduler"}
    Lab(user.lab.site, replace(CLUSTER, parts=CLUSTER.parts | PROGRAMS)).up()
    return "installed"


def label(user: Newcomer, block: str) -> str:
    """New pods there are held from now on (the policy takes up to 3 s to act)."""
    user.done(block)

    def held() -> bool:
        made = user.api.create(f"{user.batch.pods_path}?dryRun=All", canary(user))
        return made is not None and gated(made)

    until("new pods are held", held, 40, 0.3)
    return "namespace joined"


def canary(user: Newcomer) -> Object:
    """A pod that is never really created."""
    pod = user.batch.pod("canary")
    del pod["spec"]["nodeSelector"]
    return pod


def first(user: Newcomer, block: str) -> str:
    """The driver runs, and the Job's four tasks run to their end."""
    user.done(block)
    path = "/apis/batch/v1/namespaces/batch/jobs/first-tasks"
    until("the Job has ended", lambda: ((user.api.find(path) or {})["status"]).get("succeeded") == 4, 120, 0.5)
    driver = user.api.find(f"{user.batch.pods_path}/first-driver") or {}
    assert driver["status"]["phase"] == "Running"
    return "a Job and its driver ran"


def submit(user: Newcomer, block: str) -> str:
    """The driver runs, and all executors exist, with half of what they asked for as their request."""
    user.done(block)
    pods = executors(user)
    assert len(pods) == EXECUTORS
    assert {pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] for pod in pods} == {"500m"}
    return "submitted"


def executors(user: Newcomer) -> list[Object]:
    """The app's executors."""
    listed = user.api.find(user.batch.pods_path, {"labelSelector": "spark-role=executor"}) or {"items": []}
    return list(listed["items"])


def why(user: Newcomer, block: str) -> str:
    """It waits, and a sentence says for what."""
    said: list[str] = []

    def told() -> bool:
        result = user.types(block)
        assert result.returncode == WAITS, result.stdout + result.stderr
        assert f"pi-exec-{EXECUTORS}" in result.stdout
        said.append(result.stdout)
        return "samples stale" not in result.stdout  # it says so while the first samples are on their way

    until("nodes are measured", told, 60, 1.0)
    assert "room" in said[-1]
    return "first sentence with numbers:\n" + said[-1]


def run(user: Newcomer, block: str) -> str:
    """Some run, some wait; the list of apps says how many."""
    until("some executors run", lambda: len(running(user)) >= 4, 60, 0.5)
    said = user.done(block)
    assert "Running" in said
    assert "SchedulingGated" in said
    assert "pi" in said
    return "seen running:\n" + "\n".join(said.splitlines()[-3:])


def running(user: Newcomer) -> list[Object]:
    """Executors on their nodes."""
    return [pod for pod in executors(user) if pod["status"]["phase"] == "Running"]


def slack(user: Newcomer, block: str) -> str:
    """The page shows requested, estimated and used; then everything ends well."""
    address = f"http://127.0.0.1:{user.environment['SLACKWATER_MONITOR_PORT']}/"
    server = subprocess.Popen(["/bin/bash", "-c", f"exec {block}"], cwd=user.clone, env=user.environment)
    try:
        until("the dashboard shows the app", lambda: "batch" in page(f"{address}queue"), 60, 0.5)
        assert all(word in page(address).lower() for word in ("requested", "estimated", "used"))
        until("use was measured", lambda: len(running(user)) >= 6, 60, 0.5)
        seen = picture(address, Path(os.environ.get("SLACKWATER_PICTURES", user.folder)) / "readme-dashboard.png")
        until("every executor has ended well", lambda: len(succeeded(user)) == EXECUTORS, 240, 1)
    finally:
        server.terminate()
        server.wait(20)
    return f"dashboard fetched{', photographed' if seen else ''}; all executors ended well"


def page(address: str) -> str:
    """A page of the dashboard, empty while it starts."""
    try:
        return httpx2.get(address, timeout=10.0).text
    except httpx2.TransportError:
        return ""


def succeeded(user: Newcomer) -> list[Object]:
    """Executors that ended well."""
    return [pod for pod in executors(user) if pod["status"]["phase"] == "Succeeded"]


def leave(user: Newcomer, block: str) -> str:
    """Nothing of the release is left, and a new pod in the namespace is a pod like any other."""
    with Standin(user.lab.site, user.folder) as hooks:
        user.done(block)
    assert "none waits" in hooks.said["slackwater-leave"]
    left = user.api.find(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments") or {"items": []}
    assert left["items"] == []
    made = user.api.create(f"{user.batch.pods_path}?dryRun=All", canary(user))
    assert made is not None
    assert not gated(made)
    assert remains(user) == []
    return "uninstalled, nothing left but the definitions"


def remains(user: Newcomer) -> list[str]:
    """Objects of ours outside namespaces, but for the custom resource definitions, and all in our namespace."""
    kinds = [
        "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        f"/api/v1/namespaces/{NAMESPACE}/services",
        f"/api/v1/namespaces/{NAMESPACE}/secrets",
        f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs",
    ]
    listed = [each for kind in kinds for each in (user.api.find(kind) or {"items": []})["items"]]
    return [each["metadata"]["name"] for each in listed if "slackwater" in each["metadata"]["name"]]


STEPS: dict[str, Callable[[Newcomer, str], str]] = {
    "make demo": demo,
    "slackwater assess": assess,
    "helm install": install,
    "kubectl create namespace": label,
    "kubectl apply": first,
    "docs/examples/spark-like.sh": submit,
    "slackwater explain": why,
    "kubectl get pods": run,
    "slackwater-monitor": slack,
    "helm uninstall": leave,
}


def test_a_newcomer_comes_and_goes_with_the_readme_alone(user: Newcomer, tell: Callable[[str], None]) -> None:
    """Every block of the two sections is typed in its order, and each does what its step says; how long each took."""
    blocks = [*commands("Try it"), *commands("On a cluster")]
    assert [first for block in blocks for first in STEPS if block.startswith(first)] == list(STEPS)
    assert len(blocks) == len(STEPS)
    for block, (name, step) in zip(blocks, STEPS.items(), strict=True):
        began = time.monotonic()
        told = step(user, block)
        tell(f"{name:28}{time.monotonic() - began:6.1f} s  {told}")
