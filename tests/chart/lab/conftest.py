"""One lab without our programs; every test installs the chart with helm and removes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.lab.chart import CHART, NAMESPACE, call

if TYPE_CHECKING:
    import subprocess


@pytest.fixture(scope="session")
def lab() -> Iterator[Any]:
    """A lab of our own, stopped afterwards; skipped where its programs were never built."""
    labs = pytest.importorskip("slackwater_lab.lab", reason="the lab is not installed here")
    builds = pytest.importorskip("slackwater_lab.programs.build")
    plan = pytest.importorskip("slackwater_lab.plan").Plan(parts=frozenset({"kwok", "scheduler"}))
    if builds.missing([*plan.programs(), "helm", "kube-scheduler"]):
        pytest.skip("the lab's programs are not built; run: python -m slackwater_lab build")
    with labs.Lab.start("chart-tests", parts=plan.parts, nodes=3) as started:
        yield started


@pytest.fixture
def kube(lab: Any) -> Iterator[Any]:
    """An administrator's session."""
    from support.lab.session import Kube  # noqa: PLC0415 - needs the lab

    with Kube(lab.site) as session:
        yield session


class Release:
    """Helm at work on the lab's cluster."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig

    def run(self, verb: str, *options: str) -> subprocess.CompletedProcess[str]:
        """`helm VERB slackwater …`; the caller looks at what came of it."""
        return call(
            verb, "slackwater", *options, "--namespace", NAMESPACE, "--kubeconfig", str(self._kubeconfig), seconds=180
        )

    def must(self, verb: str, *options: str) -> str:
        """The same, where failure is no option."""
        done = self.run(verb, *options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def install(self, *options: str, chart: Path = CHART) -> str:
        """A first installation; nothing runs before or after it, so no hook needs a container."""
        return self.must("install", str(chart), "--create-namespace", *options)


@pytest.fixture
def release(lab: Any) -> Iterator[Release]:
    """No release before the test, none after it."""
    made = Release(lab.site.kubeconfig)
    yield made
    made.run("uninstall", "--no-hooks", "--ignore-not-found")
