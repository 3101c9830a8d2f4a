"""One lab with our custom resources and policies for all tests in this folder."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.lab.operatorprocess import Replica

CUSTOM = "/apis/slackwater.io/v1alpha1"


@pytest.fixture(scope="session")
def lab() -> Iterator[Any]:
    """A lab of our own, stopped afterwards; skipped where its programs were never built."""
    labs = pytest.importorskip("slackwater_lab.lab", reason="the lab is not installed here")
    builds = pytest.importorskip("slackwater_lab.programs.build")
    plan = pytest.importorskip("slackwater_lab.plan").Plan(
        parts=frozenset({"kwok", "scheduler", "slackwater-scheduler", "extender"})
    )
    if builds.missing(plan.programs()):
        pytest.skip("the lab's programs are not built; run: python -m slackwater_lab build")
    with labs.Lab.start("operator-tests", parts=plan.parts, nodes=3) as started:
        yield started


@pytest.fixture(scope="session")
def kube(lab: Any) -> Iterator[Any]:
    """An administrator's session on a cluster where Slackwater's definitions and policies are installed."""
    from support.lab.installing import install  # noqa: PLC0415 - needs the lab
    from support.lab.session import Kube  # noqa: PLC0415

    with Kube(lab.site) as session:
        install(session, lab)
        yield session


@pytest.fixture(scope="module")
def replicas(lab: Any, kube: Any) -> Iterator[Callable[[str], Replica]]:
    """Starts operators; all are stopped in the end."""
    kube.namespace("slackwater-system")
    where = f"{CUSTOM}/slackpolicies"
    policy = {"apiVersion": "slackwater.io/v1alpha1", "kind": "SlackPolicy"}
    assert kube.apply({**policy, "metadata": {"name": "live"}, "spec": {"mode": "enforce"}}, where).ok
    queue = {"apiVersion": "slackwater.io/v1alpha1", "kind": "AdmissionQueue", "metadata": {"name": "live"}, "spec": {}}
    assert kube.apply(queue, f"{CUSTOM}/admissionqueues").ok
    made: list[Replica] = []

    def start(identity: str) -> Replica:
        made.append(Replica(lab, identity, 24_600 + os.getpid() % 300 + len(made)))
        return made[-1]

    yield start
    for replica in made:
        replica.end()
    kube.delete(f"{CUSTOM}/admissionqueues/live")


@pytest.fixture(scope="module")
def leader(replicas: Callable[[str], Replica]) -> Replica:
    """The first operator."""
    return replicas("first")
