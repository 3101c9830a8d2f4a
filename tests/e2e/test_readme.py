"""What README.md promises a new user, typed as it stands there: install, label, submit, why, run, slack, uninstall.

helm, kubectl, `slackwater` and the monitor are the real ones, and so are API server, schedulers and Prometheus. What a
kubelet would do is stood in for: the chart's pods "run" on simulated nodes, and beside them our programs run as
processes with the chart's own accounts; the Job before the uninstall runs its script as the Job's account.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2
import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_lab.lab import Lab
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import Plan
from slackwater_lab.programs.build import built, installed, missing
from slackwater_lab.site import open_site
from support.builders.readme import commands
from support.lab.browser import picture
from support.lab.chart import NAMESPACE, ROOT
from support.lab.hooks import Standin
from support.lab.testcluster import needs_own_lab
from support.lab.testnamespace import Ground, Object, gated, until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(420)]

EXECUTORS = 24
WAITS = 3  # what `slackwater explain` exits with
CLUSTER = Plan(
    parts=frozenset({"kwok", "scheduler", "state-metrics", "prometheus"}), nodes=2, shape=Shape(cpu="4", memory="16Gi")
)
PROGRAMS = frozenset({"slackwater-scheduler", "extender", "operator"})


@dataclass(frozen=True, slots=True)
class User:
    """A person at a terminal in the project's folder, with kubectl at the lab."""

    lab: Lab
    api: ApiClient
    folder: Path
    environment: dict[str, str]
    batch: Ground

    def types(self, block: str) -> subprocess.CompletedProcess[str]:
        """Type a block of commands; an error in the middle stops it."""
        return subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", block],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def done(self, block: str) -> str:
        """Type a block that must succeed; what it printed."""
        result = self.types(block)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """A cluster without Slackwater: two nodes of four cores, and a Prometheus."""
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
                yield User(lab, api, tmp_path, environment(lab, tmp_path), Ground(api, "batch", []))
        finally:
            lab.down()


def environment(lab: Lab, folder: Path) -> dict[str, str]:
    """helm, kubectl and our commands on the path. What a Service would resolve is told by address."""
    path = folder / "bin"
    path.mkdir()
    for name in ("helm", "kubectl"):
        (path / name).symlink_to(built(name))
    scripts = Path(shutil.which("slackwater") or ROOT / ".venv" / "bin" / "slackwater").parent
    return {
        **os.environ,
        "PATH": f"{path}:{scripts}:{os.environ['PATH']}",
        "KUBECONFIG": str(lab.site.kubeconfig),
        "PROMETHEUS_URL": lab.site.url("prometheus"),
        "SLACKWATER_EXTENDER_URL": lab.site.url("extender"),
        "SLACKWATER_MONITOR_EXTENDER_URL": lab.site.url("extender"),
        "SLACKWATER_MONITOR_PORT": str(lab.site.ports["operator-2"]),
        "SLACKWATER_MONITOR_INTERVAL": "2",
    }


# -- what each block must have done ------------------------------------------------------------------------------------


def install(user: User, block: str) -> str:
    """All Deployments are there; then the programs, as kubelet would have started them."""
    user.done(block)
    listed = user.api.find(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments") or {"items": []}
    names = {each["metadata"]["name"] for each in listed["items"]}
    assert names == {"slackwater-extender", "slackwater-operator", "slackwater-scheduler"}
    Lab(user.lab.site, replace(CLUSTER, parts=CLUSTER.parts | PROGRAMS)).up()
    return "installed"


def label(user: User, block: str) -> str:
    """New pods there are held from now on (the policy takes up to 3 s to act)."""
    user.done(block)

    def held() -> bool:
        made = user.api.create(f"{user.batch.pods_path}?dryRun=All", canary(user))
        return made is not None and gated(made)

    until("new pods are held", held, 40, 0.3)
    return "namespace joined"


def canary(user: User) -> Object:
    """A pod that is never really created."""
    pod = user.batch.pod("canary")
    del pod["spec"]["nodeSelector"]
    return pod


def submit(user: User, block: str) -> str:
    """The driver runs, and all executors exist, with half of what they asked for as their request."""
    user.done(block)
    pods = executors(user)
    assert len(pods) == EXECUTORS
    assert {pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] for pod in pods} == {"500m"}
    return "submitted"


def executors(user: User) -> list[Object]:
    """The app's executors."""
    listed = user.api.find(user.batch.pods_path, {"labelSelector": "spark-role=executor"}) or {"items": []}
    return list(listed["items"])


def why(user: User, block: str) -> str:
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


def run(user: User, block: str) -> str:
    """Some run, some wait; the list of apps says how many."""
    until("some executors run", lambda: len(running(user)) >= 4, 60, 0.5)
    said = user.done(block)
    assert "Running" in said
    assert "SchedulingGated" in said
    assert "pi" in said
    return "seen running:\n" + "\n".join(said.splitlines()[-3:])


def running(user: User) -> list[Object]:
    """Executors on their nodes."""
    return [pod for pod in executors(user) if pod["status"]["phase"] == "Running"]


def slack(user: User, block: str) -> str:
    """The page shows requested, estimated and used; then everything ends well."""
    address = f"http://127.0.0.1:{user.environment['SLACKWATER_MONITOR_PORT']}/"
    server = subprocess.Popen(["/bin/bash", "-c", f"exec {block}"], cwd=ROOT, env=user.environment)
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


def succeeded(user: User) -> list[Object]:
    """Executors that ended well."""
    return [pod for pod in executors(user) if pod["status"]["phase"] == "Succeeded"]


def leave(user: User, block: str) -> str:
    """Nothing of the release is left, and a new pod in the namespace is a pod like any other."""
    with Standin(user.lab.site, user.folder) as hooks:
        user.done(block)
    assert "none waits" in hooks.said["slackwater-leave"]
    left = user.api.find(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments") or {"items": []}
    assert left["items"] == []
    made = user.api.create(f"{user.batch.pods_path}?dryRun=All", canary(user))
    assert made is not None
    assert not gated(made)
    return "uninstalled"


STEPS: dict[str, Callable[[User, str], str]] = {
    "helm install": install,
    "kubectl create namespace": label,
    "docs/examples/spark-like.sh": submit,
    "slackwater explain": why,
    "kubectl get pods": run,
    "slackwater-monitor": slack,
    "helm uninstall": leave,
}


def test_a_new_user_comes_and_goes_with_the_readme_alone(user: User, tell: Callable[[str], None]) -> None:
    """Every block of the section is typed in its order, and each does what its step says."""
    blocks = commands("On a cluster")
    assert [first for block in blocks for first in STEPS if block.startswith(first)] == list(STEPS)
    assert len(blocks) == len(STEPS)
    began = time.monotonic()
    for block, step in zip(blocks, STEPS.values(), strict=True):
        told = step(user, block)
        tell(f"{time.monotonic() - began:.0f} s  {told}")
