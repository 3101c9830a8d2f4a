"""Scenario 10: real kubelets and containers; the numbers are cAdvisor's, the kills are the kernel's."""

import os
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from slackwater_lab.builds import missing
from slackwater_lab.kubelets import Capacity
from slackwater_lab.lab import Lab
from slackwater_lab.nodes import Shape
from slackwater_lab.plan import Plan
from slackwater_lab.realnodes import obstacles
from slackwater_lab.site import open_site
from support.field import ENFORCE, Field
from support.ground import Ground, until

pytestmark = pytest.mark.lab
NODE = "real-1"
MIB = 2.0**20


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    """A whole lab with one real node that claims eight CPUs."""
    plan = Plan(
        nodes=1, shape=Shape(tainted=True), real_nodes=1, capacity=Capacity(8, 16384), scrape="2s", values=ENFORCE
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
    until("the account is there", lambda: real.api.get(account) is not None, 30)
    made = Ground(real.api, "real", [NODE])
    real.until_held(made)
    return made


def _burning(ground: Ground, name: str, cpu: str, memory: str, *, limit: str = "", asks: str = "1") -> dict[str, Any]:
    """A container that really burns so many millicores and MiB."""
    pod = ground.pod(name, cpu=asks, memory="400Mi", nodeSelector={"slackwater.io/lab-node": "real"})
    (container,) = pod["spec"]["containers"]
    container |= {
        "image": "localhost/lab-load:1",
        "imagePullPolicy": "Never",
        "command": ["burn", "-cpu", cpu, "-memory", memory, "-for", "600s"],
    }
    if limit:
        container["resources"] = {"requests": {"cpu": asks, "memory": limit}, "limits": {"memory": limit}}
    return pod


def test_the_ledger_shows_what_containers_really_use(real: Field, ground: Ground) -> None:
    """Two containers declare 3 CPUs and use 0.2: the node's room follows what the kubelet measures."""
    ground.create([_burning(ground, "a", "120", "60"), _burning(ground, "b", "80", "140", asks="2")])
    until("both run", lambda: len([p for p in ground.pods() if p["status"]["phase"] == "Running"]) == 2, 60, 0.3)

    def seen() -> bool:
        node, measured = real.node(NODE), _measured(real, f'node_memory_working_set_bytes{{node="{NODE}"}}')
        return not node["stale"] and measured > 0 and abs(node["used"]["memory"] / measured - 1) < 0.2

    until("the ledger shows what the kubelet measures", seen, 60, 0.5)
    container = 'container_memory_working_set_bytes{pod="b",container="main"}'
    until("each container is measured", lambda: 130 * MIB < _measured(real, container) < 200 * MIB, 60, 0.5)
    until("the room is larger than declarations leave", lambda: real.node(NODE)["room"]["cpu"] > 4.5, 60, 0.5)


def test_lowered_requests_are_what_the_kubelet_runs_with(ground: Ground) -> None:
    """The kubelet reports the native request of the task: half of what was declared."""
    status = ground.get("b")["status"]["containerStatuses"][0]
    assert status["resources"]["requests"]["cpu"] == "1"


def test_a_memory_hog_is_killed_and_its_room_comes_back(real: Field, ground: Ground) -> None:
    """The kernel ends it at its limit; the ledger charges it no longer."""
    ground.create([_burning(ground, "hog", "10", "300", limit="100Mi")])

    def killed() -> bool:
        states = ground.get("hog")["status"].get("containerStatuses", [])
        return any(each["state"].get("terminated", {}).get("exitCode") == 137 for each in states)

    until("the hog is killed", killed, 60, 0.3)
    uid = ground.get("hog")["metadata"]["uid"]
    until("it is charged no longer", lambda: uid not in _charged(real), 30, 0.3)


def _measured(real: Field, query: str) -> float:
    url = real.own_lab().site.url("prometheus")
    found = httpx2.get(f"{url}/api/v1/query", params={"query": query}).json()["data"]["result"]
    return float(found[0]["value"][1]) if found else 0.0


def _charged(real: Field) -> set[str]:
    return {str(each["uid"]) for each in real.ask(f"/v1/nodes/{NODE}")["pods"]}
