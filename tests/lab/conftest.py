"""A lab of its own for the tests that need one; they skip with a reason where it cannot run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from slackwater_lab.lab import Lab
from slackwater_lab.nodes.kubelets import Capacity
from slackwater_lab.nodes.real import obstacles
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import Plan
from slackwater_lab.site import Site, open_site
from support.lab.running import running

PARTS = frozenset({"kwok", "scheduler", "slackwater-scheduler", "state-metrics", "prometheus"})
REAL_PARTS = frozenset({"kwok", "scheduler", "prometheus"})


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A place for a lab, with nothing running in it."""
    monkeypatch.setenv("SLACKWATER_LAB_HOME", str(tmp_path / "labs"))
    monkeypatch.setenv("SLACKWATER_LAB_CACHE", str(tmp_path / "cache"))
    return open_site("quiet")


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A running control plane with three simulated nodes, shared by all tests of this folder."""
    plan = Plan(parts=PARTS, nodes=3, shape=Shape(cpu="4", memory="8Gi"), scrape="1s")
    with running(plan, tmp_path_factory.mktemp("labs")) as made:
        yield made


@pytest.fixture(scope="module")
def real_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A control plane with two real nodes that claim eight CPUs and less memory than the machine uses."""
    if problems := obstacles():
        pytest.skip("; ".join(problems))
    plan = Plan(parts=REAL_PARTS, nodes=1, shape=Shape(tainted=True), real_nodes=2, capacity=Capacity(8, 3072))
    with running(plan, tmp_path_factory.mktemp("labs")) as made:
        yield made


@pytest.fixture(scope="module")
def whole_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Everything the project has, in the mode that holds and shrinks pods."""
    plan = Plan(nodes=3, shape=Shape(cpu="4", memory="8Gi"), values=("policy.spec.mode=enforce",))
    with running(plan, tmp_path_factory.mktemp("labs")) as made:
        yield made
