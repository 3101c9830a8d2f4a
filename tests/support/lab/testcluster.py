"""The cluster an end-to-end run plays on: a lab of its own, a running lab, or any kubeconfig."""

import os
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import httpx2
import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.client import ApiClient
from slackwater_cluster.api.endpoint import Endpoint, endpoint
from slackwater_lab.controlplane.access import TIMEOUT
from slackwater_lab.controlplane.services import OPERATORS
from slackwater_lab.lab import Lab
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import Plan
from slackwater_lab.processes.stealtime import Stopwatch
from slackwater_lab.site import open_site
from support.lab.restarts import Crew, KindCrew, LabCrew
from support.lab.running import running
from support.lab.testnamespace import GATE, Ground, Object, close_ground, open_ground, until

KUBECONFIG, EXTENDER, LAB = "SLACKWATER_E2E_KUBECONFIG", "SLACKWATER_E2E_EXTENDER", "SLACKWATER_E2E_LAB"
KIND = "SLACKWATER_E2E_KIND"  # the name of the kind cluster that the kubeconfig is of, if it may be broken
ENFORCE = (
    "policy.spec.mode=enforce",
    "policy.spec.estimation.heartbeatSeconds=2",
    # Two options that are off by default need these rights; the scenarios that switch them on say so.
    "operator.may.resize=true",
    "operator.may.evict=true",
)
BOX = Shape(cpu="8", memory="32Gi")
SERVICE = "/api/v1/namespaces/slackwater-system/services"
POLICIES = "/apis/slackwater.io/v1alpha1/slackpolicies"


def bearer(where: Endpoint, token: str) -> ApiClient:
    """The same server as somebody else."""
    other = replace(where, tls=_nobody(where.tls), headers=lambda: {"Authorization": f"Bearer {token}"})
    return ApiClient(other, timeout=TIMEOUT)


def _nobody(tls: ssl.SSLContext | bool) -> ssl.SSLContext | bool:
    """The same trust without a certificate of our own, which would count before any token."""
    if isinstance(tls, bool):
        return tls
    bare = ssl.create_default_context(cadata=b"".join(tls.get_ca_certs(binary_form=True)))
    bare.check_hostname, bare.verify_mode = tls.check_hostname, tls.verify_mode
    return bare


@dataclass(frozen=True, slots=True)
class Field:
    """A cluster with Slackwater in it. `lab` is None where its processes are not ours to kill."""

    api: ApiClient
    extender: str = ""
    lab: Lab | None = None
    start: float | None = None  # seconds of ours that its start took; None where it ran already
    _left: list[Ground] = field(default_factory=list)  # grounds that could not be taken away
    _number: Callable[[], int] = field(default_factory=lambda: count(int(time.time()) % 100_000).__next__)

    def own_lab(self) -> Lab:
        """The lab itself, for tests that only a lab can play; elsewhere they skip."""
        if self.lab is None:
            pytest.skip("needs the lab: its processes, their settings, their ports")
        return self.lab

    def crew(self) -> Crew:
        """Who ends programs and brings them back; on a cluster that is not ours to break tests skip."""
        if self.crew_at_hand is None:
            pytest.skip(
                f"needs a cluster that may be broken: this one's programs are not ours to end ({KIND} is not set)"
            )
        return self.crew_at_hand

    @property
    def crew_at_hand(self) -> Crew | None:
        """Whoever may end programs here."""
        if self.lab is not None:
            return LabCrew(self.lab)
        return KindCrew(self.api, name) if (name := os.environ.get(KIND)) else None

    def stop_operators(self) -> None:
        """End all operators; nobody brings them back."""
        for name in OPERATORS:
            self.crew().kill(name)

    @property
    def kubeconfig(self) -> Path:
        """The file that leads to the cluster."""
        return self.lab.site.kubeconfig if self.lab else Path(os.environ[KUBECONFIG])

    def ask(self, path: str) -> Any:
        """GET from the extender's API: at its address where one is known, else through the API server."""
        if self.extender:
            return httpx2.get(f"{self.extender}{path}", timeout=10.0).raise_for_status().json()
        if self.api.find(f"{SERVICE}/slackwater-extender") is None:
            pytest.skip(
                f"needs the extender's API: install the chart into slackwater-system, or set {EXTENDER} to its URL"
            )
        where, _, query = path.partition("?")
        return self.api.find(f"{SERVICE}/https:slackwater-extender:https/proxy{where}", dict(parse_qsl(query)))

    @property
    def where(self) -> Endpoint:
        """The cluster's address and who we are, for other clients."""
        return endpoint(self.kubeconfig)

    @contextmanager
    def ground(
        self, name: str, nodes: int = 2, shape: Shape = BOX, policy: str = "default", managed: bool = True
    ) -> Iterator[Ground]:
        """A piece of the cluster for one test, on simulated nodes of its own."""
        self._needs_kwok()
        labels = {"slackwater.io/managed": "true", "slackwater.io/policy": policy} if managed else {}
        ground = open_ground(self.api, f"{name}-{self._number()}", nodes, shape, labels)
        try:
            if managed and self._enforced(policy):
                self.until_held(ground)
            yield ground
        finally:
            self._close(ground)

    def _close(self, ground: Ground) -> None:
        self._left.append(ground)
        close_ground(ground)
        self._left.remove(ground)

    def mend(self) -> None:
        """Bring the cluster back to what a scenario may rely on, whatever the one before it did or failed to do."""
        if crew := self.crew_at_hand:
            crew.mend()
        while self._left:
            close_ground(self._left[-1])
            self._left.pop()

    def until_held(self, ground: Ground) -> None:
        """Wait until the admission policy acts in the namespace; a dry run leaves nothing behind.

        An API server that was just started refuses pods until it has found the kind of the policy's parameters again.
        """

        def held() -> bool:
            try:
                made = self.api.create(f"{ground.pods_path}?dryRun=All", ground.pod("canary")) or {"spec": {}}
            except Unavailable:
                return False
            return any(gate["name"] == GATE for gate in made["spec"].get("schedulingGates", []))

        until("the admission policy holds new pods", held, 60, 0.3)

    def until_measured(self, ground: Ground, patience: float = 60.0) -> None:
        """Wait until the extender has fresh samples of every node of the ground."""

        def measured() -> bool:
            return not any(self.node(name)["stale"] for name in ground.nodes)

        if self.crew_at_hand is None and not _within(measured, patience):
            pytest.skip("needs a Prometheus that scrapes the simulated nodes and that the extender asks")
        until("every node is measured", measured, patience, 0.5)

    def node(self, name: str) -> Mapping[str, Any]:
        """A node's ledger in short, as the extender shows it."""
        found: dict[str, Mapping[str, Any]] = {node["name"]: node for node in self.ask("/v1/nodes")["nodes"]}
        return found.get(name, {"stale": True, "room": {}})

    def policy(self, name: str, spec: Mapping[str, Any]) -> None:
        """Write a SlackPolicy."""
        body = {"apiVersion": "slackwater.io/v1alpha1", "kind": "SlackPolicy", "metadata": {"name": name}, "spec": spec}
        if self.api.create(POLICIES, body) is None:
            self.api.patch(f"{POLICIES}/{name}", {"spec": spec}, "application/merge-patch+json")

    def _enforced(self, policy: str) -> bool:
        found: Object = self.api.find(f"{POLICIES}/{policy}") or {"spec": {}}
        return bool(found["spec"].get("mode") == "enforce")

    def _needs_kwok(self) -> None:
        if self.lab is None and not _kwok(self.api):
            pytest.skip("needs simulated nodes: no kwok controller manages nodes of this cluster")


def _within(probe: Callable[[], bool], patience: float) -> bool:
    watch = Stopwatch()
    while not (found := probe()) and watch.seconds < patience:
        time.sleep(0.5)
    return found


def _kwok(api: ApiClient) -> bool:
    chosen = {"labelSelector": "slackwater.io/lab-node=kwok", "limit": "1"}
    listed: Object = api.find("/api/v1/nodes", chosen) or {"items": []}
    return bool(listed["items"])


def needs_own_lab() -> None:
    """Skip a scenario that plays on a lab of its own while another cluster is under test."""
    if os.environ.get(KUBECONFIG):
        pytest.skip(f"plays on a lab of its own, which says nothing of the cluster in {KUBECONFIG}")


def open_field(home: Path) -> Iterator[Field]:
    """The cluster that the environment names, else a lab of our own that is stopped in the end."""
    if path := os.environ.get(KUBECONFIG):
        yield Field(ApiClient(endpoint(Path(path)), timeout=TIMEOUT), os.environ.get(EXTENDER, ""))
        return
    if name := os.environ.get(LAB):
        lab = Lab(open_site(name), _plan())
        with lab.api() as api:
            yield Field(api, lab.site.url("extender"), lab)
        return
    yield from _new_lab(home)


def _new_lab(home: Path) -> Iterator[Field]:
    watch = Stopwatch()
    with running(_plan(), home) as lab, lab.api() as api:
        yield Field(api, lab.site.url("extender"), lab, watch.seconds)


def _plan() -> Plan:
    return Plan(nodes=1, shape=Shape(cpu="2", memory="4Gi"), scrape="2s", operators=2, values=ENFORCE)
